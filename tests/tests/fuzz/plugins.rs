//! What plugins bring from elsewhere: their manifests, `ralph.lock`, components, answers.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ralph_config::Lock;
use ralph_engine::types::{GateResult, Iteration, Role, Severity, Verdict};
use ralph_plugins::{
    CallContext, Grants, Host, HostOptions, Kind, Limits, Manifest, Plugin, PluginError, builtin,
};
use ralph_runner::report::{Format, report};
use ralph_runner::watch::Checked;
use tokio::runtime::Runtime;

use crate::fuzz;
use crate::mutate::Nothing;

const MANIFEST: &[u8] = br#"{"name":"n","version":"1.0.0","kinds":["gate","judge"],"capabilities":{"changes":true,"process":["git","*"],"read":[".","src/a"],"write":["out"],"env":["HOME"],"clock":true,"random":false},"contract":">=0.1, <0.3","license":"MIT OR Apache-2.0"}"#;
const LOCK: &[u8] = b"# Written by `ralph plugin lock`; keep it under version control.\nversion = 1\n\n[[plugin]]\nname = \"a\"\nsource = \"tools/a.wasm\"\nresolved = \"tools/a.wasm\"\nsha256 = \"abababababababababababababababababababababababababababababababab\"\nversion = \"1.2.3\"\n\n[[plugin]]\nname = \"b\"\nsource = \"oci://h/a:1\"\nresolved = \"oci://h/a@sha256:0000000000000000000000000000000000000000000000000000000000000000\"\nsha256 = \"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd\"\n";

/// A component that is nothing but this manifest.
fn bare(manifest: &[u8]) -> Vec<u8> {
    let mut content = vec![12];
    content.extend(b"ralph-plugin");
    content.extend(manifest);
    let mut out = b"\0asm\x0d\0\x01\0\0".to_vec();
    let mut size = content.len();
    while size >= 0x80 {
        out.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    out.push(size as u8);
    out.extend(content);
    out
}

/// What is said of something spoilt goes to a terminal.
fn told(said: &str) {
    let odd = |c: char| c.is_control() && c != '\n';
    assert!(!said.is_empty() && !said.contains(odd), "{said:?}");
}

#[test]
fn manifests() {
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"name\"",
        "\"kinds\"",
        "\"gate\"",
        "\"contract\"",
        "\"capabilities\"",
        "\"read\"",
        "\"..\"",
        "\"/\"",
        "\"*\"",
        "true",
        "null",
        "1e999",
        "\\u0000",
        "\\ud800",
        "\u{202e}",
    ];
    fuzz("manifests", &[MANIFEST], &words, |bytes| {
        match Manifest::find(&bare(bytes)) {
            Ok(found) => {
                let found = found.unwrap();
                let written = serde_json::to_vec(&found).unwrap();
                assert_eq!(Manifest::find(&bare(&written)), Ok(Some(found.clone())));
                // What is granted is never more than what is asked for.
                let asked = &found.capabilities;
                let all = Grants {
                    changes: true,
                    clock: true,
                    ..Grants::default()
                };
                let met = all.met(asked);
                assert!(met.changes <= asked.changes && met.clock <= asked.clock);
                assert!(!met.random && met.read.is_empty() && met.process.is_empty());
            }
            Err(why) => assert!(!why.is_empty()),
        }
    });
}

/// The section is looked for in whatever is there.
#[test]
fn sections() {
    let gate = builtin(Kind::Gate, "command").unwrap().bytes();
    let small = bare(MANIFEST);
    fuzz(
        "sections",
        &[gate, &small],
        &["ralph-plugin", "\0asm"],
        |bytes| {
            if let Err(why) = Manifest::find(bytes) {
                assert!(!why.is_empty());
            }
        },
    );
}

#[test]
fn locks() {
    let words = [
        "version = 1\n",
        "[[plugin]]\n",
        "name = \"a\"\n",
        "source = ",
        "\"oci://h/a:1\"",
        "\"https://h/a\"",
        "\"../a\"",
        "\"builtin:x\"",
        "@sha256:",
        "sha256 = ",
        "\"\"\"",
        "'",
        "=",
        "[",
        "]",
        "\u{feff}",
        "\\u001b",
        "99999999999999999999",
    ];
    fuzz("ralph.lock", &[LOCK], &words, |bytes| {
        match Lock::parse(bytes) {
            Ok(lock) => {
                let text = lock.to_text();
                let again = Lock::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}: {text}"));
                assert_eq!(again, lock);
                assert_eq!(again.to_text(), text);
            }
            Err(e) => told(&e.to_string()),
        }
    });
}

fn text(holes: [(&str, &str); 5]) -> Vec<u8> {
    let text = include_str!("../../../host/plugins/tests/wat/gate.wat");
    let text = holes.iter().fold(text.to_owned(), |text, (hole, with)| {
        text.replace(hole, with)
    });
    wat::parse_str(text).unwrap()
}

fn fine() -> Vec<u8> {
    text([
        ("{IMPORTS}", ""),
        ("{WITH}", ""),
        ("{FIELDS}", ""),
        ("{PAGES}", "1"),
        ("{BODY}", "(i32.const 16)"),
    ])
}

/// Reads bytes, two letters each, out of its configuration, and gives them back from address 16 on
/// as its answer.
fn echo() -> Vec<u8> {
    text([
        (
            "{IMPORTS}",
            r#"(import "ralph:plugin/config@0.1.0" (instance $config
                 (export "get" (func (result string)))))
               (alias export $config "get" (func $get))
               (core func $get (canon lower (func $get) (memory $memory)
                 (realloc (core func $realloc))))"#,
        ),
        (
            "{WITH}",
            r#"(with "config" (instance (export "get" (func $get))))"#,
        ),
        (
            "{FIELDS}",
            r#"(import "config" "get" (func $get (param i32)))"#,
        ),
        ("{PAGES}", "4"),
        (
            "{BODY}",
            r"(local $from i32) (local $end i32) (local $to i32)
              (call $get (i32.const 8))
              (local.set $from (i32.load (i32.const 8)))
              (local.set $end (i32.add (local.get $from) (i32.load (i32.const 12))))
              (local.set $to (i32.const 16))
              (block $done (loop $next
                (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
                (i32.store8 (local.get $to) (i32.or
                  (i32.shl (i32.sub (i32.load8_u (local.get $from)) (i32.const 97)) (i32.const 4))
                  (i32.sub (i32.load8_u offset=1 (local.get $from)) (i32.const 97))))
                (local.set $to (i32.add (local.get $to) (i32.const 1)))
                (local.set $from (i32.add (local.get $from) (i32.const 2)))
                (br $next)))
              (i32.const 16)",
        ),
    ])
}

fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread();
    { runtime }.enable_all().build().unwrap()
}

fn limits() -> Limits {
    Limits {
        time: Duration::from_millis(200),
        start: Duration::from_millis(200),
        wait: Duration::from_millis(200),
        memory: 16 << 20,
        ..Limits::default()
    }
}

async fn bind(host: &Host, bytes: &[u8], grants: Grants) -> Result<Plugin, PluginError> {
    let component = host.load("g", "./g.wasm", bytes).await?;
    Plugin::bind(component, "g", Kind::Gate, grants, limits())
}

async fn ask(plugin: &Plugin, config: String) -> Result<Verdict, PluginError> {
    let ctx = CallContext {
        services: Arc::new(Nothing),
        config,
        root: None,
        now: SystemTime::UNIX_EPOCH,
        seed: "fuzz".into(),
    };
    let it = Iteration {
        run_id: "r".into(),
        number: 1,
        attempt: 1,
        agent: "a".into(),
        role: Role::Work,
        workspace: "/w".into(),
        scratch: "/s".into(),
        task: None,
    };
    plugin.check(&ctx, &it).await
}

/// Components of all sorts, spoilt: what still loads is called, and the host is well after each.
#[test]
fn loading_components() {
    let (fine, echo) = (fine(), echo());
    let scope = builtin(Kind::Gate, "diff-scope").unwrap().bytes();
    let words = [
        "\0asm\u{d}\0\u{1}\0",
        "\0asm\u{1}\0\0\0",
        "ralph:plugin/gate@0.1.0",
        "ralph:plugin/types@0.1.0",
        "check",
        "cabi_realloc",
        "memory",
        "\u{7f}",
        "\u{0}",
    ];
    let runtime = runtime();
    let host = Host::new(HostOptions::default()).unwrap();
    let healthy = runtime
        .block_on(bind(&host, &fine, Grants::default()))
        .unwrap();
    let grants = Grants {
        changes: true,
        ..Grants::default()
    };
    let (mut loaded, mut refused) = (0_u64, 0_u64);
    let mut load = |bytes: &[u8]| {
        let answer = runtime.block_on(async {
            let plugin = bind(&host, bytes, grants.clone()).await?;
            ask(&plugin, "{}".into()).await
        });
        match answer {
            Ok(_) => loaded += 1,
            Err(error) => {
                refused += 1;
                let said = error.to_string();
                assert!(said.contains("\"g\""), "{said}");
                assert!(!matches!(error, PluginError::Engine { .. }), "{said}");
            }
        }
    };
    let mut bit = 0;
    fuzz("components", &[&fine, &echo, scope], &words, |bytes| {
        load(bytes);
        // Few of those are components still. One in which a single bit is wrong often is.
        let mut near = fine.clone();
        near[bit / 8 % fine.len()] ^= 1 << (bit % 8);
        bit += 61;
        load(&near);
        let fine = runtime.block_on(ask(&healthy, "{}".into())).unwrap();
        assert_eq!(fine.summary, "fine");
    });
    eprintln!("components: {loaded} answered, {refused} were refused");
    assert!(loaded > 0 && refused > 0);
}

/// The bytes of an answer, spoilt, as they lie in the guest's memory.
#[test]
fn lifting_answers() {
    let runtime = runtime();
    let host = Host::new(HostOptions::default()).unwrap();
    let plugin = runtime
        .block_on(bind(&host, &echo(), Grants::default()))
        .unwrap();
    let word = |n: u32| n.to_le_bytes();
    // A verdict with a finding at 48, whose texts lie at 96.
    let mut verdict = Vec::new();
    for n in [0, 1, 96, 4, 48, 1, 0, 0] {
        verdict.extend(word(n));
    }
    for n in [96, 4, 1, 97, 2, 1, 7, 1, 98, 1, 0, 0] {
        verdict.extend(word(n));
    }
    verdict.extend(b"text");
    let mut refusal = Vec::new();
    for n in [1, 2, 96, 4] {
        refusal.extend(word(n));
    }
    let letters = |bytes: &[u8]| -> String {
        let of = |n: u8| char::from(b'a' + n);
        let pair = |b: &u8| [of(b >> 4), of(b & 15)];
        bytes.iter().flat_map(pair).collect()
    };
    let whole = runtime.block_on(ask(&plugin, letters(&verdict))).unwrap();
    assert_eq!((whole.summary.as_str(), whole.findings.len()), ("text", 1));
    assert_eq!(whole.findings[0].line, Some(7));
    let words = [
        "\0\0\0\0",
        "\u{1}\0\0\0",
        "\u{10}\0\0\0",
        "\0\0\u{1}\0",
        "\u{7f}\u{7f}\u{7f}\u{7f}",
    ];
    let mut lifted = 0_u64;
    fuzz("answers", &[&verdict, &refusal], &words, |bytes| {
        let bytes = &bytes[..bytes.len().min(4000)];
        match runtime.block_on(ask(&plugin, letters(bytes))) {
            Ok(verdict) => {
                lifted += 1;
                reports(verdict);
            }
            Err(error) => {
                let said = error.to_string();
                assert!(said.starts_with("gate \"g\": "), "{said}");
                assert!(
                    matches!(
                        error,
                        PluginError::Malformed { .. }
                            | PluginError::OutputLimit { .. }
                            | PluginError::Refused { .. }
                    ),
                    "{said}"
                );
            }
        }
    });
    eprintln!("answers: {lifted} were verdicts");
    assert!(lifted > 0);
}

/// Whatever a verdict says, what others read of it is as its form wants it.
fn reports(verdict: Verdict) {
    let result = GateResult {
        name: "g".into(),
        severity: Severity::Block,
        verdict,
    };
    let checked = Checked {
        files: 1,
        passed: false,
        groups: vec!["all".into()],
        results: vec![result],
    };
    let log = serde_json::from_str(&report(Format::Sarif, &checked)).unwrap();
    ralph_tests::sarif(&log);
    let xml = report(Format::Junit, &checked);
    assert!(
        !xml.contains(|c: char| c < ' ' && !matches!(c, '\n' | '\t')),
        "{xml:?}"
    );
    for line in report(Format::Github, &checked).lines() {
        assert!(line.starts_with("::"), "{line:?}");
    }
}
