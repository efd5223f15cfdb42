//! How fast a driver reads what its program prints: the component, in pieces as they come from a
//! pipe, against parsing the same lines with serde_json, natively and for nothing else.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use async_trait::async_trait;
use ralph_engine::types::{DiffText, FileChange, Iteration, Role};
use ralph_plugins::{
    CallContext, Command, Grants, Host, HostOptions, Kind, Level, Limits, Output, Plugin,
    ProcessError, Services, builtin,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::Bench;
use crate::stats::{Samples, Side, interleave};
use crate::table::{Compare, Promise, Row, Unit};

const ROUNDS: usize = 10;
/// Bytes of a stream.
const STREAM: usize = 8 << 20;
/// What one read of a pipe gives at most.
const PIECE: usize = 64 << 10;

/// The group.
pub fn rows(_: &Bench) -> Result<Vec<Row>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    for (driver, recorded) in [
        (
            "codex",
            include_str!("../../plugins/drivers/codex/recorded/work.jsonl"),
        ),
        (
            "claude",
            include_str!("../../plugins/drivers/claude/recorded/work.jsonl"),
        ),
        (
            "copilot",
            include_str!("../../plugins/drivers/copilot/recorded/work.jsonl"),
        ),
    ] {
        let stream = recorded.repeat(STREAM / recorded.len() + 1).into_bytes();
        rows.push(of_driver(&runtime, driver, &stream)?);
    }
    Ok(rows)
}

fn of_driver(runtime: &Runtime, name: &str, stream: &[u8]) -> Result<Row, String> {
    let bytes = builtin(Kind::AgentDriver, name)
        .ok_or_else(|| format!("there is no driver {name} built in"))?;
    let plugin = runtime
        .block_on(async {
            let host = Host::new(HostOptions::default())?;
            let component = host.load(name, "the bench", bytes.bytes()).await?;
            let (grants, limits) = (Grants::default(), Limits::default());
            let plugin = Plugin::bind(component, name, Kind::AgentDriver, grants, limits)?;
            plugin.warm().await;
            Ok::<_, ralph_plugins::PluginError>(plugin)
        })
        .map_err(|e| e.to_string())?;
    let rate = |begun: Instant| stream.len() as f64 / begun.elapsed().as_secs_f64();
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(|| {
            let begun = Instant::now();
            let events = runtime.block_on(read(&plugin, stream))?;
            let rate = rate(begun);
            if events == 0 {
                return Err(format!("{name} saw no event in its own stream"));
            }
            Ok(rate)
        }),
        Box::new(|| {
            let begun = Instant::now();
            for line in stream.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
                let value: Value = serde_json::from_slice(line).map_err(|e| e.to_string())?;
                std::hint::black_box(&value);
            }
            Ok(rate(begun))
        }),
    ];
    let [ours, theirs]: [Samples; 2] = interleave(ROUNDS, &mut sides)?
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    Ok(Row {
        name: format!("driver {name} reads its stream, serde_json"),
        ours,
        theirs: Some(theirs),
        unit: Unit::Rate,
        compare: Compare::Faster,
        promise: Promise::AtMost(3.0),
    })
}

/// A whole call; how many events came of it.
async fn read(plugin: &Plugin, stream: &[u8]) -> Result<usize, String> {
    let ctx = CallContext {
        services: Arc::new(Nobody),
        config: json!({}).to_string(),
        root: None,
        now: SystemTime::UNIX_EPOCH,
        seed: String::new(),
    };
    let it = Iteration {
        run_id: "bench".into(),
        number: 1,
        attempt: 1,
        agent: plugin.name().into(),
        role: Role::Work,
        workspace: "/project".into(),
        scratch: "/scratch".into(),
        task: None,
    };
    let mut session = plugin.session(&ctx, &it).await.map_err(|e| e.to_string())?;
    let mut events = 0;
    for piece in stream.chunks(PIECE) {
        events += session
            .feed(piece)
            .await
            .map_err(|e| e.to_string())?
            .events
            .len();
    }
    Ok(events)
}

struct Nobody;

#[async_trait]
impl Services for Nobody {
    fn log(&self, _: &str, _: Level, _: &str) {}

    async fn files(&self) -> Vec<FileChange> {
        Vec::new()
    }

    async fn diff(&self, _: u64) -> DiffText {
        DiffText::default()
    }

    async fn run(&self, _: Command) -> Result<Output, ProcessError> {
        Err(ProcessError::Denied("nothing runs here".into()))
    }
}
