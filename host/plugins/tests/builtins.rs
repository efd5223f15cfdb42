//! The components that ship with ralph, through this host: real guests, as a tool
//! chain makes them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use ralph_engine::types::{
    AgentEvent, AgentOutcome, DiffText, FileChange, Iteration, Role, Status, Task,
};
use ralph_plugins::{
    BuiltIn, CallContext, Command, Exit, Grants, Host, HostOptions, Kind, Level, Limits, Output,
    Plugin, PluginError, ProcessError, Services, builtin, builtins,
};
use serde_json::json;

/// Keeps what it compiles from one run of the tests to the next.
fn host(max_concurrent: u32) -> Host {
    let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"));
    Host::new(HostOptions {
        cache_dir,
        max_concurrent,
        ..HostOptions::default()
    })
    .unwrap()
}

#[derive(Default)]
struct Seen(Mutex<Vec<AgentEvent>>);

#[async_trait]
impl Services for Seen {
    fn log(&self, _: &str, _: Level, _: &str) {}
    fn event(&self, event: AgentEvent) {
        self.0.lock().unwrap().push(event);
    }
    async fn files(&self) -> Vec<FileChange> {
        Vec::new()
    }
    async fn diff(&self, _: u64) -> DiffText {
        DiffText::default()
    }
    async fn run(&self, _: Command) -> Result<Output, ProcessError> {
        Ok(Output {
            code: Some(0),
            ..Output::default()
        })
    }
}

fn context(services: Arc<Seen>, config: serde_json::Value) -> CallContext {
    CallContext {
        services,
        config: config.to_string(),
        root: None,
        now: UNIX_EPOCH + Duration::from_secs(1),
        seed: "s".into(),
    }
}

fn iteration() -> Iteration {
    Iteration {
        run_id: "r".into(),
        number: 1,
        attempt: 1,
        agent: "a".into(),
        role: Role::Work,
        workspace: "/nowhere".into(),
        scratch: "/nowhere/scratch".into(),
        task: Some(Task {
            id: "T1".into(),
            title: "t".into(),
            ..Task::default()
        }),
    }
}

async fn plugin(kind: Kind, name: &str, grants: Grants) -> Plugin {
    let host = host(8);
    let bytes = builtin(kind, name).unwrap().bytes();
    let component = host.load(name, "built in", bytes).await.unwrap();
    Plugin::bind(component, name, kind, grants, Limits::default()).unwrap()
}

#[tokio::test]
async fn each_is_of_the_kind_its_name_says_and_asks_for_no_more_than_its_kind_may() {
    let host = host(8);
    assert!(builtin(Kind::Gate, "there is none").is_none());
    for BuiltIn { kind, name, .. } in builtins() {
        let bytes = builtin(*kind, name).unwrap().bytes();
        let component = host.load(name, "built in", bytes).await.unwrap();
        assert_eq!(component.kinds(), [*kind], "{kind} {name}");
        let grants = match kind {
            Kind::Gate => Grants {
                changes: true,
                process: vec!["x".into()],
                ..Grants::default()
            },
            _ => Grants::default(),
        };
        Plugin::bind(component, name, *kind, grants, Limits::default()).unwrap();
    }
}

#[tokio::test]
async fn a_driver_prepares_follows_and_finishes_an_agent_call() {
    let driver = plugin(Kind::AgentDriver, "command", Grants::default()).await;
    let ctx = context(Arc::default(), json!({ "argv": ["my-agent", "{task_id}"] }));
    let launch = driver.prepare(&ctx, &iteration(), "do it").await.unwrap();
    assert_eq!(
        (launch.program.as_str(), &launch.args[..]),
        ("my-agent", &["T1".to_string()][..])
    );
    assert_eq!(launch.stdin.as_deref(), Some(&b"do it"[..]));

    let mut session = driver.session(&ctx, &iteration()).await.unwrap();
    let mut events = Vec::new();
    // Cut inside a line and inside a character.
    for chunk in [&b"hel"[..], b"lo \xc3", b"\xa9\n"] {
        events.extend(session.feed(chunk).await.unwrap().events);
    }
    let exit = Exit {
        code: Some(0),
        ..Exit::default()
    };
    let (outcome, last) = session.finish(exit).await.unwrap();
    events.extend(last);
    assert!(
        events.contains(&AgentEvent::Text("hello é".into())),
        "{events:?}"
    );
    assert_eq!(
        outcome,
        AgentOutcome::Finished {
            text: "hello é".into()
        }
    );
}

#[tokio::test]
async fn a_session_holds_its_slot_and_frees_it() {
    let options = HostOptions {
        max_concurrent: 1,
        ..HostOptions::default()
    };
    let host = Host::new(options).unwrap();
    let bytes = builtin(Kind::AgentDriver, "command").unwrap().bytes();
    let component = host.load("command", "built in", bytes).await.unwrap();
    let kind = Kind::AgentDriver;
    let driver = Plugin::bind(
        component,
        "command",
        kind,
        Grants::default(),
        Limits::default(),
    )
    .unwrap();
    let ctx = context(Arc::default(), json!({ "argv": ["x"] }));
    let mut session = driver.session(&ctx, &iteration()).await.unwrap();
    let it = iteration();
    let other = driver.session(&ctx, &it);
    assert!(
        tokio::time::timeout(Duration::from_millis(50), other)
            .await
            .is_err()
    );
    session.feed(b"x\n").await.unwrap();
    drop(session);
    driver.session(&ctx, &iteration()).await.unwrap();
}

#[tokio::test]
async fn a_session_is_over_after_a_feed_that_failed() {
    let host = host(8);
    let bytes = builtin(Kind::AgentDriver, "command").unwrap().bytes();
    let component = host.load("command", "built in", bytes).await.unwrap();
    let limits = Limits {
        memory: 4 << 20,
        ..Limits::default()
    };
    let kind = Kind::AgentDriver;
    let driver = Plugin::bind(component, "command", kind, Grants::default(), limits).unwrap();
    let ctx = context(Arc::default(), json!({ "argv": ["x"] }));
    let mut session = driver.session(&ctx, &iteration()).await.unwrap();
    let error = session.feed(&vec![b'x'; 8 << 20]).await.unwrap_err();
    assert!(
        matches!(error, PluginError::MemoryLimit { call: "feed", .. }),
        "{error}"
    );
    let error = session.feed(b"x").await.unwrap_err();
    assert!(matches!(error, PluginError::SessionOver { .. }), "{error}");
}

#[tokio::test]
async fn an_agent_works_in_the_project_and_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"
        [[step]]
        say = "I write."
        [[step.edit]]
        path = "src/new.txt"
        write = "made\n"
    "#;
    fs::write(dir.path().join("script.toml"), script).unwrap();
    let agent = plugin(Kind::Agent, "scripted", Grants::default()).await;
    let seen = Arc::new(Seen::default());
    let mut ctx = context(seen.clone(), json!({}));
    let error = agent.run_agent(&ctx, &iteration(), "p").await.unwrap_err();
    assert!(matches!(error, PluginError::Io { .. }), "{error}");
    ctx.root = Some(dir.path().into());
    let outcome = agent.run_agent(&ctx, &iteration(), "p").await.unwrap();
    assert!(
        matches!(outcome, AgentOutcome::Finished { .. }),
        "{outcome:?}"
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("src/new.txt")).unwrap(),
        "made\n"
    );
    assert!(
        seen.0
            .lock()
            .unwrap()
            .contains(&AgentEvent::Text("I write.".into()))
    );
}

#[tokio::test]
async fn canonicalisers_gates_and_judges_answer() {
    let text = plugin(Kind::Canonicaliser, "text", Grants::default()).await;
    let ctx = context(Arc::default(), json!({}));
    assert_eq!(text.algorithm(&ctx).await.unwrap(), "ralph-text-1");
    assert_eq!(
        text.canonicalise(&ctx, "p", b"a\r\nb").await.unwrap(),
        b"a\nb"
    );
    let error = text.canonicalise(&ctx, "p", b"\xff").await.unwrap_err();
    assert!(matches!(error, PluginError::Refused { .. }), "{error}");

    let grants = Grants {
        changes: true,
        ..Grants::default()
    };
    let gate = plugin(Kind::Gate, "no-secrets", grants).await;
    assert_ne!(
        gate.check(&ctx, &iteration()).await.unwrap().status,
        Status::Fail
    );

    let judge = plugin(Kind::Judge, "judge", Grants::default()).await;
    let prompt = judge
        .judge_prompt(&ctx, &iteration(), &Default::default())
        .await
        .unwrap();
    assert!(prompt.contains("T1"), "{prompt}");
    let error = judge
        .judge_decide(&ctx, "no verdict in here")
        .await
        .unwrap_err();
    assert!(matches!(error, PluginError::Refused { .. }), "{error}");
}
