//! Waiting for a provider's limit, or for the hour to have room again.

use std::time::{Duration, SystemTime};

use ralph_engine::Fact;
use ralph_engine::pace::Waiting;
use ralph_engine::types::AgentOutcome;

use crate::clock;
use crate::error::Error;
use crate::resets;
use crate::run::Loop;

/// A limit whose end lies in the past is over in a moment; providers' clocks differ.
const JUST_PASSED: u64 = 30;
/// A wait of unknown length doubles up to this, in seconds.
const UNKNOWN_MAX: u64 = 2 * 3600;
/// The machine may have slept, and its clock may have been set: look at it this often.
const LOOK: Duration = Duration::from_secs(60);

impl Loop {
    /// The fact of a limit, if this is one.
    pub(crate) fn limit_met(
        &self,
        agent: &str,
        outcome: &AgentOutcome,
        asking: bool,
    ) -> Option<Fact> {
        let AgentOutcome::Limited { message, resets_at } = outcome else {
            return None;
        };
        let now = clock::unix();
        let told = resets_at.as_deref().and_then(clock::unix_of);
        let until = match told.or_else(|| resets::read(message, now)) {
            Some(at) => at.max(now + JUST_PASSED),
            None => {
                let first = self.s.project.config.limits.unknown_wait.get().as_secs();
                let doubled = first.saturating_mul(1 << self.state.pace.limited.min(10));
                now + doubled.min(UNKNOWN_MAX.max(first))
            }
        };
        Some(Fact::LimitMet {
            agent: agent.to_owned(),
            until,
            message: message.clone(),
            resets_at: resets_at.clone(),
            asking,
        })
    }

    /// Waits until then, or until somebody wants something of the run.
    pub(crate) async fn wait(&mut self, until: u64, why: Waiting) -> Result<(), Error> {
        let known = self.state.pace.waiting.as_ref();
        if known.is_none_or(|(u, w)| *u != until || *w != why) {
            self.record_all(vec![clock::fact(), Fact::Waiting { until, why }])?;
            self.sync()?;
        }
        let left = Duration::from_secs(until).saturating_sub(since_1970());
        tokio::select! {
            () = tokio::time::sleep(left.min(LOOK)) => {}
            () = self.stopping.any() => {}
        }
        if clock::unix() >= until {
            self.record(clock::fact())?;
        }
        Ok(())
    }
}

fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}
