//! `ralph plugin bench`: what a component costs, on this machine, one call after another.

use std::path::Path;
use std::time::{Duration, Instant};

use ralph_plugins::{Host, HostOptions, Kind};
use serde::Serialize;

use crate::ask::{Asker, Outcome};
use crate::build;
use crate::error::Error;
use crate::input::Given;

/// Calls before it is measured.
const WARM: u32 = 20;

/// Calls at most.
const CALLS_MAX: usize = 1_000_000;

/// What it costs. Times in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Costs {
    /// SHA-256 of the component.
    pub sha256: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Compiling it, with nothing kept.
    pub compile: f64,
    /// Host, load and first call, with its code kept from before: what a start of ralph pays.
    pub cold: f64,
    /// Calls that were measured, one after another.
    pub calls: usize,
    /// Calls in a second.
    pub per_second: f64,
    /// Half of the calls took at most this.
    pub p50: f64,
    /// All but one in a hundred did.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// Memory of one instance after a call, in bytes.
    pub memory: u64,
    /// How far this process grew from before it was compiled to the end; compiler and code
    /// included. In bytes; `None` where the system doesn't tell.
    pub grown: Option<u64>,
    /// Why the calls answered nothing, if they didn't.
    pub error: Option<String>,
}

/// Measures for about `time`. Each call is a fresh instance, as in a run.
///
/// # Errors
/// The component or the input can't be used.
pub async fn bench(
    path: &Path,
    kind: Option<Kind>,
    given: &Given,
    time: Duration,
) -> Result<Costs, Error> {
    let bytes = build::read(path)?;
    let origin = path.display().to_string();
    let dir = tempfile::tempdir().map_err(|e| Error::io("a temporary directory", e))?;
    let options = || HostOptions {
        cache_dir: Some(dir.path().join("components")),
        ..HostOptions::default()
    };
    let before = resident();
    let began = Instant::now();
    let first = build::load(&Host::new(options())?, "bench", &origin, &bytes).await?;
    let compile = millis(began.elapsed());
    let (sha256, size) = (first.digest().to_owned(), first.size());
    drop(first);

    let began = Instant::now();
    let component = build::load(&Host::new(options())?, "bench", &origin, &bytes).await?;
    let asker = Asker::new(component, kind)?;
    let answer = asker.ask(given).await?;
    let cold = millis(began.elapsed());
    let memory = answer.memory;
    let error = match answer.outcome {
        Outcome::Error(why) => Some(why),
        Outcome::Answer(_) => None,
    };

    for _ in 0..WARM {
        asker.ask(given).await?;
    }
    let mut times = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time && times.len() < CALLS_MAX {
        let call = Instant::now();
        asker.ask(given).await?;
        times.push(millis(call.elapsed()));
    }
    let took = began.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let grown = before.zip(resident());
    Ok(Costs {
        sha256,
        bytes: size,
        compile,
        cold,
        calls: times.len(),
        per_second: times.len() as f64 / took.max(f64::MIN_POSITIVE),
        p50: quantile(&times, 0.50),
        p99: quantile(&times, 0.99),
        max: times.last().copied().unwrap_or_default(),
        memory,
        grown: grown.map(|(before, after)| after.saturating_sub(before)),
        error,
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Of sorted values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (q * last as f64).ceil() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// Memory of this process that is in use, in bytes.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_a_sorted_list() {
        let times: Vec<f64> = (1..=101).map(f64::from).collect();
        assert_eq!(quantile(&times, 0.5), 51.0);
        assert_eq!(quantile(&times, 0.99), 100.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
    }
}
