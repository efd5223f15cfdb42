//! Many plugins and many calls: what a start with all built-in components costs with nothing
//! kept, a thousand calls at once, the memory of a plugin that is loaded, and how exactly a
//! deadline is kept while the processors are busy.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ralph_plugins::{
    CallContext, Grants, Host, HostOptions, Kind, Limits, Plugin, PluginError, builtin, builtins,
};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};

use crate::Bench;
use crate::child::resident;
use crate::gate::{self, Fixed, Ours, iteration};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Compare, Promise, Row, Unit};

/// Compiling takes a debug build minutes.
const START_ROUNDS: usize = if cfg!(debug_assertions) { 1 } else { 5 };
const CROWD_ROUNDS: usize = 10;
const CROWD: usize = 1000;
/// Components that are loaded to see what one takes.
const LOADED: u32 = if cfg!(debug_assertions) { 2 } else { 32 };
const DEADLINE: Duration = Duration::from_millis(100);
const DEADLINE_ROUNDS: usize = 20;
/// What was promised: no call computes longer than its deadline and this.
const LATE: f64 = 0.1;

/// The group.
pub fn rows(_: &Bench) -> Result<Vec<Row>, String> {
    let many = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let one = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    Ok(vec![
        cold(&many)?,
        crowd(&many)?,
        loaded(&many)?,
        deadline(&one, false)?,
        deadline(&one, true)?,
    ])
}

fn said(error: PluginError) -> String {
    error.to_string()
}

fn host(cache: Option<&Path>) -> Result<Host, String> {
    Host::new(HostOptions {
        cache_dir: cache.map(Into::into),
        ..HostOptions::default()
    })
    .map_err(said)
}

fn scratch() -> Result<tempfile::TempDir, String> {
    tempfile::Builder::new()
        .prefix("ralph-bench-")
        .tempdir()
        .map_err(|e| e.to_string())
}

/// All built-in components, ready to be called.
fn cold(runtime: &Runtime) -> Result<Row, String> {
    let start = |cache: &Path| {
        let begun = Instant::now();
        runtime.block_on(async {
            let host = host(Some(cache))?;
            for built_in in builtins() {
                let loaded = host.load_builtin(built_in.kind, built_in.name, "bench", "built in");
                let component = loaded
                    .await
                    .map_err(said)?
                    .ok_or_else(|| format!("{} isn't built in", built_in.name))?;
                bind(component, built_in.kind, Limits::default())?
                    .warm()
                    .await;
            }
            Ok::<_, String>(begun.elapsed().as_secs_f64())
        })
    };
    let warm = scratch()?;
    start(warm.path())?;
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(|| start(scratch()?.path())),
        Box::new(|| start(warm.path())),
    ];
    let [empty, kept] = all(interleave(START_ROUNDS, &mut sides)?)?;
    Ok(Row::ratio(
        &format!("{} built-ins, empty cache, warm cache", builtins().len()),
        &empty,
        &kept,
        Promise::Nothing,
    ))
}

fn bind(
    component: Arc<ralph_plugins::Component>,
    kind: Kind,
    limits: Limits,
) -> Result<Plugin, String> {
    let grants = Grants {
        changes: kind == Kind::Gate,
        process: if kind == Kind::Gate {
            vec!["*".into()]
        } else {
            Vec::new()
        },
        ..Grants::default()
    };
    Plugin::bind(component, "bench", kind, grants, limits).map_err(said)
}

/// A thousand calls at once against as many one after another.
fn crowd(runtime: &Runtime) -> Result<Row, String> {
    let idle = gate::idle()?;
    let gate = runtime.block_on(Ours::new("idle", &idle, true, &gate::seen("{}")))?;
    let gate = Arc::new(gate);
    let at_once = || {
        let begun = Instant::now();
        let calls: Vec<_> = (0..CROWD)
            .map(|_| {
                let gate = gate.clone();
                runtime.spawn(async move { gate.call().await })
            })
            .collect();
        for call in calls {
            runtime.block_on(call).map_err(|e| e.to_string())??;
        }
        Ok(begun.elapsed().as_secs_f64())
    };
    let in_turn = || {
        let begun = Instant::now();
        for _ in 0..CROWD {
            runtime.block_on(gate.call())?;
        }
        Ok(begun.elapsed().as_secs_f64())
    };
    let mut sides: Vec<Side<'_>> = vec![Box::new(at_once), Box::new(in_turn)];
    let [at_once, in_turn] = all(interleave(CROWD_ROUNDS, &mut sides)?)?;
    Ok(Row::ratio(
        "1,000 idle gates at once, one after another",
        &at_once,
        &in_turn,
        Promise::AtMost(1.0),
    ))
}

/// Memory that a gate takes between its calls, its code from the cache.
fn loaded(runtime: &Runtime) -> Result<Row, String> {
    let gate = builtin(Kind::Gate, "no-secrets").ok_or("there is no gate no-secrets")?;
    let cache = scratch()?;
    let load = async |host: &Host| {
        let mut plugins = Vec::new();
        for number in 0..LOADED {
            // A custom section makes another component of it.
            let mut bytes = gate.bytes().to_vec();
            bytes.extend([0, 6, 1, b'n']);
            bytes.extend(number.to_le_bytes());
            let component = host.load("bench", "built in", &bytes).await.map_err(said)?;
            let plugin = bind(component, Kind::Gate, Limits::default())?;
            plugin.check(&context(), &iteration()).await.map_err(said)?;
            plugins.push(plugin);
        }
        Ok::<_, String>(plugins)
    };
    runtime.block_on(async {
        drop(load(&host(Some(cache.path()))?).await?);
        let host = host(Some(cache.path()))?;
        // What a first call needs once is there already.
        let first = host.load("bench", "built in", gate.bytes()).await;
        let first = bind(first.map_err(said)?, Kind::Gate, Limits::default())?;
        first.check(&context(), &iteration()).await.map_err(said)?;
        let before = resident()?;
        let plugins = load(&host).await?;
        let mut ours = Samples::default();
        ours.push((resident()? - before).max(0.0) / f64::from(LOADED));
        drop(plugins);
        Ok(Row {
            name: format!(
                "memory of a loaded plugin (`no-secrets`, {} KiB)",
                gate.size >> 10
            ),
            ours,
            theirs: None,
            unit: Unit::Bytes,
            compare: Compare::Alone,
            promise: Promise::Nothing,
        })
    })
}

/// How long a call computes that never ends, against its deadline.
fn deadline(runtime: &Runtime, busy: bool) -> Result<Row, String> {
    let text = include_str!("../../host/plugins/tests/wat/gate.wat")
        .replace("{PAGES}", "1")
        .replace("{BODY}", "(loop (br 0)) (i32.const 16)");
    let text = ["{IMPORTS}", "{WITH}", "{FIELDS}"]
        .iter()
        .fold(text, |text, hole| text.replace(hole, ""));
    let bytes = wat::parse_str(&text).map_err(|e| e.to_string())?;
    let over = AtomicBool::new(false);
    let threads = if busy {
        2 * thread::available_parallelism().map_or(1, usize::from)
    } else {
        0
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let measured = runtime.block_on(async {
            let component = host(None)?
                .load("bench", "text", &bytes)
                .await
                .map_err(said)?;
            let limits = Limits {
                time: DEADLINE,
                ..Limits::default()
            };
            let plugin = bind(component, Kind::Gate, limits)?;
            plugin.warm().await;
            let (mut ours, mut theirs) = (Samples::default(), Samples::default());
            for _ in 0..DEADLINE_ROUNDS {
                let before = computed();
                match plugin.check(&context(), &iteration()).await {
                    Err(PluginError::TimeOut { .. }) => {}
                    other => return Err(format!("no deadline: {other:?}")),
                }
                ours.push((computed() - before).as_secs_f64());
                theirs.push(DEADLINE.as_secs_f64());
            }
            Ok((ours, theirs))
        });
        over.store(true, Ordering::Relaxed);
        let (ours, theirs) = measured?;
        let while_busy = if busy { ", processors busy" } else { "" };
        Ok(Row {
            name: format!("computing of an endless call, its deadline{while_busy}"),
            ours,
            theirs: Some(theirs),
            unit: Unit::Seconds,
            compare: Compare::Difference,
            promise: Promise::AtMost(LATE),
        })
    })
}

/// Of this thread, on which the guest runs.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

fn context() -> CallContext {
    CallContext {
        services: Arc::new(Fixed(gate::seen("{}"))),
        config: "{}".into(),
        root: None,
        now: SystemTime::UNIX_EPOCH,
        seed: "bench".into(),
    }
}

fn all<const N: usize>(measured: Vec<Samples>) -> Result<[Samples; N], String> {
    measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())
}
