//! `ralph stats`: sums over all iterations.

use std::collections::BTreeMap;

use ralph_engine::fact::IterationResult;
use ralph_engine::types::Usage;
use serde::Serialize;

use super::history;
use crate::error::Error;
use crate::project::Project;

/// Sums over some iterations.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Tally {
    /// All that ended.
    pub iterations: u32,
    /// Claimed, and every check agreed.
    pub accepted: u32,
    /// Something spoke against them.
    pub rejected: u32,
    /// Provider or login stood in the way.
    pub environment: u32,
    /// Cut off.
    pub interrupted: u32,
    /// Accepted of those that were ruled on, 0 to 1; `None` if none was.
    pub success_rate: Option<f64>,
    /// Tokens and money, judge and review included.
    pub usage: Usage,
    /// From start to end.
    pub seconds: f64,
    /// Of these, the agent's own work.
    pub agent_seconds: f64,
}

/// All of them.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Stats {
    /// Every iteration.
    pub total: Tally,
    /// By task id.
    pub by_task: BTreeMap<String, Tally>,
    /// By the agent that worked.
    pub by_agent: BTreeMap<String, Tally>,
}

impl Tally {
    fn add(&mut self, record: &history::Record, result: IterationResult) {
        self.iterations += 1;
        match result {
            IterationResult::Accepted => self.accepted += 1,
            IterationResult::Rejected => self.rejected += 1,
            IterationResult::Environment => self.environment += 1,
            IterationResult::Interrupted => self.interrupted += 1,
        }
        let ruled = self.accepted + self.rejected;
        self.success_rate = (ruled > 0).then(|| f64::from(self.accepted) / f64::from(ruled));
        self.usage = self.usage.plus(record.current.usage);
        self.seconds += record.seconds();
        self.agent_seconds += record.agent_call().map_or(0.0, |(_, ms)| ms as f64 / 1e3);
    }
}

/// Sums up.
///
/// # Errors
/// The journal can't be read.
pub fn stats(project: &Project) -> Result<Stats, Error> {
    let mut stats = Stats::default();
    history::scan(&project.ws, |record| {
        let Some(end) = &record.end else { return };
        let c = &record.current;
        stats.total.add(&record, end.result);
        for (map, key) in [
            (&mut stats.by_task, &c.task.id),
            (&mut stats.by_agent, &c.agent),
        ] {
            map.entry(key.clone()).or_default().add(&record, end.result);
        }
    })?;
    Ok(stats)
}
