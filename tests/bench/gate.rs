//! One call of a gate: store, instance, call, drop, all warm. Against the same
//! component in bare wasmtime, and against starting a program. Of three gates: one
//! that takes the diff and has nothing against it, so that the call is all there is
//! to measure; `no-secrets`, which reads the diff; `diff-scope`, which reads the
//! list of files.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use async_trait::async_trait;
use ralph_engine::types::{ChangeKind, DiffText, FileChange, Iteration, Role};
use ralph_plugins::{
    CONTRACT_VERSION, CallContext, Command as GateCommand, Grants, Host, HostOptions, Kind, Level,
    Limits, Output, Plugin, ProcessError, Services, builtin,
};
use tokio::runtime::Runtime;

use crate::Bench;
use crate::bare::{self, Bare, Seen};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Compare, Promise, Row, Unit};

/// Measured this many times each, over so many calls at a time: what is called once
/// between other things finds neither its code nor its data in the processor's caches.
const ROUNDS: usize = 60;
const CALLS: u32 = 16;
const SET_UP_ROUNDS: usize = 10;

/// Bytes of the diff.
const DIFF: usize = 64 << 10;

/// The group.
pub fn rows(_: &Bench) -> Result<Vec<Row>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    let idle = idle()?;
    rows.extend(of_gate(
        &runtime,
        "idle gate",
        &idle,
        "{}",
        Promise::AtLeast(20.0),
    )?);
    for (name, config) in [
        ("no-secrets", "{}"),
        ("diff-scope", r#"{"allow":["src/**"]}"#),
    ] {
        let component =
            builtin(Kind::Gate, name).ok_or_else(|| format!("there is no gate {name} built in"))?;
        rows.extend(of_gate(
            &runtime,
            name,
            component.bytes(),
            config,
            Promise::Nothing,
        )?);
    }
    rows.push(set_up()?);
    Ok(rows)
}

/// What a pool costs at the start.
fn set_up() -> Result<Row, String> {
    let host = |pooling| {
        timed(|| {
            let options = HostOptions {
                pooling,
                ..HostOptions::default()
            };
            Host::new(options).map(drop).map_err(|e| e.to_string())
        })
    };
    let mut sides: Vec<Side<'_>> = vec![Box::new(|| host(true)), Box::new(|| host(false))];
    let measured = interleave(SET_UP_ROUNDS, &mut sides)?;
    let [pooled, on_demand]: [Samples; 2] = measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    Ok(Row::ratio(
        "host set-up and end, pooled, on demand",
        &pooled,
        &on_demand,
        Promise::Nothing,
    ))
}

/// Takes the diff and says `pass`. The text is that of the tests of `host/plugins`.
pub fn idle() -> Result<Vec<u8>, String> {
    let imports = r#"
      (import "ralph:plugin/changes@0.1.0" (instance $changes
        (type $diff-text' (record (field "text" string) (field "omitted-bytes" u64)))
        (export "diff-text" (type $diff-text (eq $diff-text')))
        (export "diff" (func (param "max-bytes" u64) (result $diff-text)))))
      (alias export $changes "diff" (func $diff))
      (core func $diff (canon lower (func $diff)
        (memory $memory) (realloc (core func $realloc))))"#;
    let text = include_str!("../../host/plugins/tests/wat/gate.wat")
        .replace("{IMPORTS}", imports)
        .replace(
            "{WITH}",
            r#"(with "changes" (instance (export "diff" (func $diff))))"#,
        )
        .replace(
            "{FIELDS}",
            r#"(import "changes" "diff" (func $diff (param i64 i32)))"#,
        )
        // The diff fits in, as it does into the first memory of any compiler's guest.
        .replace("{PAGES}", "2")
        .replace(
            "{BODY}",
            "(call $diff (i64.const -1) (i32.const 128)) (i32.const 16)",
        )
        // Bare wasmtime has the newest contract only.
        .replace("@0.1.0", &format!("@{CONTRACT_VERSION}"));
    wat::parse_str(&text).map_err(|e| format!("the idle gate: {e}"))
}

fn of_gate(
    runtime: &Runtime,
    name: &str,
    component: &[u8],
    config: &str,
    than_a_program: Promise,
) -> Result<Vec<Row>, String> {
    let seen = seen(config);
    let ours = |pooling| runtime.block_on(Ours::new(name, component, pooling, &seen));
    let bare =
        |pooling| Bare::new(component, pooling, seen.clone()).map_err(|e| format!("bare: {e:#}"));
    let (pooled, on_demand) = (ours(true)?, ours(false)?);
    let (bare_pooled, bare_on_demand) = (bare(true)?, bare(false)?);
    let bare_side = |bare: &Bare| {
        let it = bare::iteration();
        timed(|| match runtime.block_on(bare.call(&it)) {
            Ok(true) => Ok(()),
            Ok(false) => Err("the gate is against it".into()),
            Err(e) => Err(format!("{e:#}")),
        })
    };
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(|| timed(|| runtime.block_on(pooled.call()))),
        Box::new(|| bare_side(&bare_pooled)),
        Box::new(|| timed(|| runtime.block_on(on_demand.call()))),
        Box::new(|| bare_side(&bare_on_demand)),
        Box::new(|| timed(program)),
    ];
    let measured = interleave(ROUNDS, &mut sides)?;
    let [pooled, bare_pooled, on_demand, bare_on_demand, program]: [Samples; 5] = measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    let faster = |how: &str, ours: &Samples| Row {
        name: format!("{name} {how}, /bin/true"),
        ours: ours.clone(),
        theirs: Some(program.clone()),
        unit: Unit::Seconds,
        compare: Compare::Faster,
        promise: than_a_program,
    };
    let limit = Promise::AtMost(1.5);
    let bare = |how: &str, ours: &Samples, theirs: &Samples| {
        Row::ratio(&format!("{name} {how}, bare wasmtime"), ours, theirs, limit)
    };
    Ok(vec![
        bare("pooled", &pooled, &bare_pooled),
        bare("on demand", &on_demand, &bare_on_demand),
        faster("pooled", &pooled),
        faster("on demand", &on_demand),
    ])
}

/// Seconds per call.
fn timed(run: impl Fn() -> Result<(), String>) -> Result<f64, String> {
    let begun = Instant::now();
    for _ in 0..CALLS {
        run()?;
    }
    Ok(begun.elapsed().as_secs_f64() / f64::from(CALLS))
}

fn program() -> Result<(), String> {
    let status = Command::new("/bin/true")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|e| format!("/bin/true: {e}"))?;
    status
        .success()
        .then_some(())
        .ok_or_else(|| "/bin/true: false".to_owned())
}

/// A gate as ralph calls it.
pub struct Ours {
    plugin: Plugin,
    ctx: CallContext,
    it: Iteration,
}

impl Ours {
    /// Loads and binds it, with a host of its own.
    pub async fn new(
        name: &str,
        component: &[u8],
        pooling: bool,
        seen: &Seen,
    ) -> Result<Ours, String> {
        let text = |e: ralph_plugins::PluginError| e.to_string();
        let host = Host::new(HostOptions {
            pooling,
            ..HostOptions::default()
        })
        .map_err(text)?;
        if host.pooled() != pooling {
            return Err("there is no room for a pool".into());
        }
        let component = host.load(name, "built in", component).await.map_err(text)?;
        let grants = Grants {
            changes: true,
            ..Grants::default()
        };
        let plugin =
            Plugin::bind(component, name, Kind::Gate, grants, Limits::default()).map_err(text)?;
        Ok(Ours {
            plugin,
            ctx: CallContext {
                services: Arc::new(Fixed(seen.clone())),
                config: seen.config.clone(),
                root: None,
                now: SystemTime::UNIX_EPOCH,
                seed: "bench".into(),
            },
            it: iteration(),
        })
    }

    /// Calls it once; it has to pass.
    pub async fn call(&self) -> Result<(), String> {
        match self.plugin.check(&self.ctx, &self.it).await {
            Ok(verdict) if verdict.passed() => Ok(()),
            Ok(verdict) => Err(verdict.summary),
            Err(e) => Err(e.to_string()),
        }
    }
}

/// The same for everybody.
pub fn iteration() -> Iteration {
    Iteration {
        run_id: "run".into(),
        number: 1,
        attempt: 1,
        agent: "none".into(),
        role: Role::Work,
        workspace: String::new(),
        scratch: String::new(),
        task: None,
    }
}

/// The same changes in every call.
pub struct Fixed(pub Seen);

#[async_trait]
impl Services for Fixed {
    fn log(&self, _: &str, _: Level, _: &str) {}

    async fn files(&self) -> Vec<FileChange> {
        self.0.files.clone()
    }

    async fn diff(&self, _: u64) -> DiffText {
        self.0.diff.clone()
    }

    async fn run(&self, _: GateCommand) -> Result<Output, ProcessError> {
        Err(ProcessError::Failed("not here".into()))
    }
}

/// What a gate with this configuration sees.
pub fn seen(config: &str) -> Seen {
    Seen {
        config: config.to_owned(),
        diff: diff(),
        files: files(),
    }
}

/// Twenty changed files, as `diff-scope` sees them.
fn files() -> Vec<FileChange> {
    let file = |number| FileChange {
        path: format!("src/part{number:02}/lib.rs"),
        kind: ChangeKind::Modified,
        added_lines: 40,
        deleted_lines: 0,
    };
    (0..20).map(file).collect()
}

/// A diff of [`DIFF`] bytes that adds lines of code.
fn diff() -> DiffText {
    let mut text = String::from(
        "diff --git a/src/lib.rs b/src/lib.rs\nindex 1111111..2222222 100644\n--- a/src/lib.rs\n+++ b/src/lib.rs\n",
    );
    let mut body = String::new();
    let mut lines = 0;
    while text.len() + body.len() < DIFF - 120 {
        let _ = writeln!(
            body,
            "+    let value_{lines} = table.get(&key_{lines}).copied().unwrap_or_default() + {lines};"
        );
        lines += 1;
    }
    let _ = writeln!(text, "@@ -1,0 +1,{lines} @@");
    text.push_str(&body);
    DiffText {
        text,
        omitted_bytes: 0,
    }
}
