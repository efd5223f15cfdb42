//! Starting a program and waiting for its end, in the sandbox and without it: what
//! a gate or an agent pays for being held. The policy's ruleset is made anew each
//! time, as a run does it.

use std::path::Path;
use std::time::Instant;

use ralph_process::Spawn;
use ralph_sandbox::{Layer, Limits, Network, Place, Plan, Policy, Profile};
use tokio::runtime::Runtime;

use crate::Bench;
use crate::stats::{Samples, Side, interleave};
use crate::table::{Promise, Row};

const ROUNDS: usize = 60;

/// The group.
pub fn rows(_: &Bench) -> Result<Vec<Row>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let root = scratch.path();
    let mut rows = Vec::new();
    for (name, layer, network) in [
        (
            "spawn, landlock, network open",
            Layer::Landlock,
            Network::Open,
        ),
        (
            "spawn, landlock, network closed",
            Layer::Landlock,
            Network::Closed,
        ),
        (
            "spawn, bubblewrap, network closed",
            Layer::Bubblewrap,
            Network::Closed,
        ),
    ] {
        let policy = Policy {
            profile: Profile::WorkspaceWrite,
            layer,
            read: Vec::new(),
            write: Vec::new(),
            network,
            limits: Limits::default(),
        };
        let plan = runtime.block_on(Plan::new(policy));
        if !plan.enforced().is_whole() {
            eprintln!("{name}: left out: {}", plan.enforced().line());
            continue;
        }
        let mut sides: Vec<Side<'_>> = vec![
            Box::new(|| once(&runtime, root, Some(&plan))),
            Box::new(|| once(&runtime, root, None)),
        ];
        let measured = interleave(ROUNDS, &mut sides)?;
        let [held, free]: [Samples; 2] = measured
            .try_into()
            .map_err(|_| "a side was not measured".to_owned())?;
        rows.push(Row::ratio(
            &format!("{name}, without"),
            &held,
            &free,
            Promise::Nothing,
        ));
    }
    Ok(rows)
}

fn once(runtime: &Runtime, root: &Path, plan: Option<&Plan>) -> Result<f64, String> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let begun = Instant::now();
    let mut spawn = Spawn::new("/bin/true", root);
    runtime.block_on(async {
        let mut confined = None;
        if let Some(plan) = plan {
            let place = Place {
                root: root.to_owned(),
                home: home.into(),
                ..Place::default()
            };
            confined = Some(
                plan.confine(&place, None, &mut spawn)
                    .map_err(|e| e.to_string())?,
            );
        }
        let out = ralph_process::run(spawn, 4096)
            .await
            .map_err(|e| e.to_string())?;
        drop(confined);
        match out.finished.code {
            Some(0) => Ok(()),
            code => Err(format!(
                "/bin/true ended with {code:?}: {}",
                String::from_utf8_lossy(&out.stderr)
            )),
        }
    })?;
    Ok(begun.elapsed().as_secs_f64())
}
