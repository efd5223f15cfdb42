//! What all tests of this crate share: a gate in text, a host, a fake loop.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use ralph_engine::types::{DiffText, FileChange, Iteration, Role, Verdict};
use ralph_plugins::{
    CallContext, Command, Grants, Host, HostOptions, Kind, Level, Limits, Output, Plugin,
    PluginError, ProcessError, Services,
};

/// The healthy result of `tests/wat/gate.wat`.
pub const FINE: &str = "(i32.const 16)";

/// What makes a gate of `tests/wat/gate.wat`.
pub struct Gate<'a> {
    pub imports: &'a str,
    pub with: &'a str,
    pub fields: &'a str,
    pub pages: u32,
    pub body: &'a str,
}

impl Default for Gate<'_> {
    fn default() -> Self {
        Gate {
            imports: "",
            with: "",
            fields: "",
            pages: 1,
            body: FINE,
        }
    }
}

impl Gate<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let text = include_str!("../wat/gate.wat")
            .replace("{IMPORTS}", self.imports)
            .replace("{WITH}", self.with)
            .replace("{FIELDS}", self.fields)
            .replace("{PAGES}", &self.pages.to_string())
            .replace("{BODY}", self.body);
        wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// A gate whose `check` does this.
pub fn gate(body: &str) -> Vec<u8> {
    Gate {
        body,
        ..Gate::default()
    }
    .bytes()
}

/// A gate that imports this and, in its core module, has these fields.
pub fn gate_with(imports: &str, with: &str, fields: &str, body: &str) -> Vec<u8> {
    Gate {
        imports,
        with,
        fields,
        body,
        ..Gate::default()
    }
    .bytes()
}

pub fn host() -> Host {
    Host::new(HostOptions::default()).unwrap()
}

pub fn host_with_cache(dir: &Path) -> Host {
    Host::new(HostOptions {
        cache_dir: Some(dir.into()),
        ..HostOptions::default()
    })
    .unwrap()
}

pub async fn bind(
    host: &Host,
    bytes: &[u8],
    grants: Grants,
    limits: Limits,
) -> Result<Plugin, PluginError> {
    let component = host.load("g", "./g.wasm", bytes).await?;
    Plugin::bind(component, "g", Kind::Gate, grants, limits)
}

/// Loads, binds without grants, and calls.
pub async fn check(host: &Host, bytes: &[u8], limits: Limits) -> Result<Verdict, PluginError> {
    let plugin = bind(host, bytes, Grants::default(), limits).await?;
    plugin.check(&context(), &iteration()).await
}

pub fn iteration() -> Iteration {
    Iteration {
        run_id: "r1".into(),
        number: 1,
        attempt: 1,
        agent: "a".into(),
        role: Role::Work,
        workspace: "/host/project".into(),
        scratch: "/host/scratch".into(),
        task: None,
    }
}

pub fn context() -> CallContext {
    context_of(Arc::new(Loop::default()))
}

pub fn context_of(services: Arc<Loop>) -> CallContext {
    CallContext {
        services,
        config: "{\"key\":1}".into(),
        root: None,
        now: UNIX_EPOCH + Duration::from_secs(1_000_000),
        seed: "seed".into(),
    }
}

/// A loop that notes what it is asked.
#[derive(Default)]
pub struct Loop {
    pub lines: Mutex<Vec<(Level, String)>>,
    pub ran: Mutex<Vec<String>>,
    /// The most memory an instance had.
    pub used: Mutex<u64>,
    /// How long `run` waits for, without computing.
    pub wait: Duration,
    /// How long `run` computes for.
    pub compute: Duration,
}

#[async_trait]
impl Services for Loop {
    fn log(&self, plugin: &str, level: Level, message: &str) {
        assert_eq!(plugin, "g");
        self.lines.lock().unwrap().push((level, message.into()));
    }

    fn used(&self, memory: u64) {
        let mut most = self.used.lock().unwrap();
        *most = memory.max(*most);
    }

    async fn files(&self) -> Vec<FileChange> {
        Vec::new()
    }

    async fn diff(&self, max_bytes: u64) -> DiffText {
        DiffText {
            text: format!("at most {max_bytes}"),
            omitted_bytes: 7,
        }
    }

    async fn run(&self, command: Command) -> Result<Output, ProcessError> {
        self.ran.lock().unwrap().push(command.program);
        tokio::time::sleep(self.wait).await;
        let begin = std::time::Instant::now();
        while begin.elapsed() < self.compute {
            std::hint::spin_loop();
        }
        Ok(Output {
            code: Some(0),
            ..Output::default()
        })
    }
}

/// Imports `process` and calls it for a program named `make`; passes if it ran, and
/// fails with the host's words if it didn't.
pub fn runs_make() -> Vec<u8> {
    Gate {
        imports: r#"
          (import "ralph:plugin/process@0.1.0" (instance $process
            (type $command' (record
              (field "program" string)
              (field "args" (list string))
              (field "env" (list (tuple string string)))
              (field "stdin" (option (list u8)))
              (field "timeout-ms" (option u64))))
            (export "command" (type $command (eq $command')))
            (type $output' (record
              (field "code" (option s32))
              (field "timed-out" bool)
              (field "stdout" (list u8))
              (field "stderr" (list u8))
              (field "truncated" bool)))
            (export "output" (type $output (eq $output')))
            (type $process-error' (variant
              (case "denied" string) (case "not-found" string) (case "failed" string)))
            (export "process-error" (type $process-error (eq $process-error')))
            (export "run" (func (param "command" $command)
              (result (result $output (error $process-error)))))))
          (alias export $process "run" (func $run))
          (core func $run (canon lower (func $run)
            (memory $memory) (realloc (core func $realloc))))"#,
        with: r#"(with "process" (instance (export "run" (func $run))))"#,
        fields: r#"
          (import "process" "run" (func $run (param
            i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32)))
          (data (i32.const 80) "make")"#,
        body: r#"
          (call $run
            (i32.const 80) (i32.const 4)
            (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
            (i32.const 0) (i32.const 0) (i32.const 0)
            (i32.const 0) (i64.const 0)
            (i32.const 128))
          (if (i32.load8_u (i32.const 128)) (then
            (i32.store8 (i32.const 20) (i32.const 1))
            (i32.store (i32.const 24) (i32.load (i32.const 136)))
            (i32.store (i32.const 28) (i32.load (i32.const 140)))))
          (i32.const 16)"#,
        ..Gate::default()
    }
    .bytes()
}

/// Imports `changes` and gives the diff as its summary.
pub fn shows_diff() -> Vec<u8> {
    gate_with(
        r#"
          (import "ralph:plugin/changes@0.1.0" (instance $changes
            (type $diff-text' (record (field "text" string) (field "omitted-bytes" u64)))
            (export "diff-text" (type $diff-text (eq $diff-text')))
            (export "diff" (func (param "max-bytes" u64) (result $diff-text)))))
          (alias export $changes "diff" (func $diff))
          (core func $diff (canon lower (func $diff)
            (memory $memory) (realloc (core func $realloc))))"#,
        r#"(with "changes" (instance (export "diff" (func $diff))))"#,
        r#"(import "changes" "diff" (func $diff (param i64 i32)))"#,
        r#"
          (call $diff (i64.const -1) (i32.const 128))
          (i32.store (i32.const 24) (i32.load (i32.const 128)))
          (i32.store (i32.const 28) (i32.load (i32.const 132)))
          (i32.const 16)"#,
    )
}
