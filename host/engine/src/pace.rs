//! What a run may spend, and what it has to wait for.
//!
//! The engine knows no clock: [`crate::Fact::Clock`] says what time it is, and
//! every rule here reckons with the last one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::Effect;
use crate::fact::{EndReason, Fact, Spent};
use crate::state::{Note, Run, State};

/// Limits met one after another, without a finished attempt between them, before a run ends.
const LIMITS_IN_A_ROW: u32 = 20;
const HOUR: u64 = 3600;

/// What a run may spend; `None` is without limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Budget {
    /// Seconds at work, over restarts; the time between a death and the restart is left out.
    pub seconds: Option<u64>,
    /// Tokens in and out, without those from a cache.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
    /// Iterations begun within any 3600 seconds.
    pub per_hour: Option<u32>,
    /// Attempts in a row that failed in the same way; 0 is without limit.
    pub repeats: u32,
}

/// What is done at a provider's limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Limits {
    /// Who works: the first of these whose limit isn't met.
    pub agents: Vec<String>,
    /// Wait when none is left? Else the run ends.
    pub wait: bool,
    /// Seconds; a longer wait ends the run.
    pub max_wait: u64,
}

/// Why a run waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Waiting {
    /// The iterations of this hour are used up.
    Rate,
    /// A provider's limit.
    Limit {
        /// Whose.
        agent: String,
        /// In the provider's words.
        message: String,
    },
}

/// A provider's limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// Seconds since 1970.
    pub until: u64,
    /// In the provider's words.
    pub message: String,
    /// When it ends, if the provider says so, RFC 3339.
    pub resets_at: Option<String>,
}

/// What is remembered for the rules above.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Pace {
    /// Seconds since 1970, as last told.
    pub now: u64,
    /// `now` was told by the process that works.
    pub ticking: bool,
    /// When iterations began, within the last hour.
    pub starts: Vec<u64>,
    /// Limits that were met, by agent.
    pub limits: BTreeMap<String, Met>,
    /// Limits in a row.
    pub limited: u32,
    /// Judge or reviewer can't be asked before this one's limit is over.
    pub hold: Option<String>,
    /// A mark of the last failure, and how often it came in a row.
    pub failure: Option<(u64, u32)>,
    /// What is waited for, and until when.
    pub waiting: Option<(u64, Waiting)>,
}

impl Run {
    /// Who may work, the one that is wanted first.
    pub fn agents(&self) -> Vec<&str> {
        match self.rules.limits.agents.as_slice() {
            [] => vec![&self.agent],
            agents => agents.iter().map(String::as_str).collect(),
        }
    }
}

impl State {
    /// The first agent whose limit isn't met.
    pub fn free_agent(&self) -> Option<&str> {
        let run = self.run.as_ref()?;
        run.agents().into_iter().find(|agent| self.is_free(agent))
    }

    fn is_free(&self, agent: &str) -> bool {
        let met = self.pace.limits.get(agent);
        met.is_none_or(|met| met.until <= self.pace.now)
    }

    /// What keeps the next iteration from beginning, if anything does.
    pub(crate) fn held(&self, run: &Run) -> Option<Effect> {
        let budget = &run.rules.budget;
        let spent = [
            (Spent::Time, budget.seconds, run.elapsed),
            (
                Spent::Tokens,
                budget.tokens,
                run.usage
                    .input_tokens
                    .saturating_add(run.usage.output_tokens),
            ),
            (Spent::Cost, budget.cost_micros, micros(run.usage.cost_usd)),
        ];
        for (what, limit, used) in spent {
            if limit.is_some_and(|limit| used >= limit) {
                return Some(Effect::End(EndReason::Budget { what }));
            }
        }
        if let Some((_, count)) = self.pace.failure
            && budget.repeats > 0
            && count >= budget.repeats
        {
            return Some(Effect::End(EndReason::RepeatedFailure { count }));
        }
        if let Some(until) = self.rate_until(budget) {
            let why = Waiting::Rate;
            return Some(Effect::Wait { until, why });
        }
        if self.free_agent().is_some() {
            return None;
        }
        let first = run
            .agents()
            .into_iter()
            .filter_map(|agent| Some((agent, self.pace.limits.get(agent)?)))
            .min_by_key(|(_, met)| met.until);
        first.map(|(agent, met)| self.at_limit(run, agent, met))
    }

    /// Judge or reviewer meet a limit: the iteration waits with them.
    pub(crate) fn held_asking(&self, run: &Run) -> Option<Effect> {
        let agent = self.pace.hold.as_deref()?;
        let met = self.pace.limits.get(agent)?;
        (met.until > self.pace.now).then(|| self.at_limit(run, agent, met))
    }

    fn at_limit(&self, run: &Run, agent: &str, met: &Met) -> Effect {
        let rules = &run.rules.limits;
        let wait = met.until.saturating_sub(self.pace.now);
        let message = met.message.clone();
        if rules.wait && wait <= rules.max_wait && self.pace.limited < LIMITS_IN_A_ROW {
            let why = Waiting::Limit {
                agent: agent.to_owned(),
                message,
            };
            return Effect::Wait {
                until: met.until,
                why,
            };
        }
        Effect::End(EndReason::Limited {
            message,
            resets_at: met.resets_at.clone(),
        })
    }

    fn rate_until(&self, budget: &Budget) -> Option<u64> {
        let limit = budget.per_hour.filter(|n| *n > 0)? as usize;
        let within: Vec<u64> = self
            .pace
            .starts
            .iter()
            .copied()
            .filter(|at| at.saturating_add(HOUR) > self.pace.now)
            .collect();
        let oldest = within.len().checked_sub(limit)?;
        within.get(oldest).map(|at| at.saturating_add(HOUR))
    }

    pub(crate) fn begins(&mut self) {
        let now = self.pace.now;
        if now > 0 {
            self.pace.starts.retain(|at| at.saturating_add(HOUR) > now);
            self.pace.starts.push(now);
        }
        self.pace.waiting = None;
    }

    /// Folds a fact of time, limit or waiting.
    pub(crate) fn of_pace(&mut self, fact: &Fact) {
        match fact {
            Fact::Clock { now } => {
                if self.pace.ticking
                    && let Some(run) = &mut self.run
                {
                    run.elapsed += now.saturating_sub(self.pace.now);
                }
                (self.pace.now, self.pace.ticking) = (*now, true);
                if self
                    .pace
                    .waiting
                    .as_ref()
                    .is_some_and(|(until, _)| until <= now)
                {
                    self.pace.waiting = None;
                }
                let over = |agent: &String| self.is_free(agent);
                if self.pace.hold.as_ref().is_some_and(over) {
                    self.pace.hold = None;
                }
            }
            Fact::LimitMet {
                agent,
                until,
                message,
                resets_at,
                asking,
            } => {
                let met = Met {
                    until: *until,
                    message: message.clone(),
                    resets_at: resets_at.clone(),
                };
                self.pace.limits.insert(agent.clone(), met);
                self.pace.limited += 1;
                if *asking {
                    self.pace.hold = Some(agent.clone());
                }
            }
            Fact::Waiting { until, why } => {
                // What passes until the clock is told again is no time at work.
                self.pace.ticking = false;
                self.pace.waiting = Some((*until, why.clone()));
            }
            _ => {}
        }
    }

    /// An attempt came to an end of its own: no limit stood in its way.
    pub(crate) fn attempted(&mut self, failed: Option<(&str, &[Note])>) {
        self.pace.limited = 0;
        self.pace.failure = failed.map(|(reason, notes)| {
            let mark = mark(reason, notes);
            match self.pace.failure {
                Some((last, count)) if last == mark => (mark, count + 1),
                _ => (mark, 1),
            }
        });
    }
}

fn micros(cost: Option<f64>) -> u64 {
    let micros = cost.unwrap_or(0.0) * 1e6;
    if micros.is_finite() && micros > 0.0 {
        micros.round() as u64
    } else {
        0
    }
}

/// FNV-1a over what was said, without words that hold a digit: times, counts, hashes
/// and the names of temporary files differ, the failure doesn't.
fn mark(reason: &str, notes: &[Note]) -> u64 {
    let texts = std::iter::once(reason).chain(notes.iter().map(|n| n.text.as_str()));
    let words = texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in words.filter(|w| !w.contains(|c: char| c.is_ascii_digit())) {
        for byte in word.bytes().chain([b' ']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_is_known_by_its_words() {
        let note = |text: &str| {
            vec![Note {
                from: "gate".into(),
                text: text.into(),
            }]
        };
        let of = |text: &str| mark("gate failed: tests", &note(text));
        let first = of("assertion failed at /tmp/x7Fa2/a.rs:12, 3.4s, deadbeef01");
        assert_eq!(
            first,
            of("assertion failed at /tmp/q9Zb/a.rs:17, 5.1s, 00c0ffee")
        );
        assert_ne!(first, of("another assertion failed"));
    }
}
