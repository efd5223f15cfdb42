//! What the loop asks where its tasks come from, and what it tells there: which task is next, and
//! what became of one.

use std::time::Duration;

use ralph_engine::Fact;
use ralph_engine::decide::{self, Standing};
use ralph_engine::tasks::{Selection, TaskList};
use ralph_engine::types::TaskState;

use crate::clock;
use crate::error::Error;
use crate::run::Loop;
use crate::sources::Outcome;

/// Who is to end at once and has nearly done its work gets this long, as from a host's death.
const FINISH: Duration = Duration::from_millis(1500);

impl Loop {
    /// Ids that are new, what time it is, and what was chosen; the last is the choice.
    pub(crate) async fn select(&self, target: Option<&str>) -> Result<Vec<Fact>, Error> {
        let reading = self.s.source.load(&self.state.ids);
        let tasks = self.unless_forced(reading).await?;
        let mut facts = Vec::new();
        if tasks.ids != *self.state.ids {
            facts.push(Fact::IdsAssigned { ids: tasks.ids });
        }
        facts.push(clock::fact());
        facts.push(self.choice(&tasks.list, target)?);
        Ok(facts)
    }

    fn choice(&self, file: &TaskList, target: Option<&str>) -> Result<Fact, Error> {
        let (done, total) = counts(file);
        let nothing = |open| Fact::NothingSelectable { done, total, open };
        let run = self.state.run.as_ref();
        let taken =
            |id: &str| run.is_some_and(|r| r.claimed.contains_key(id) || r.skipped.contains(id));
        let chosen = match target {
            None => file.next(&taken),
            Some(id) => match file.get(id).map(|e| e.state) {
                None => {
                    let what = format!("{} has no task `{id}` any more", file.name());
                    return Err(Error::Usage(what));
                }
                Some(TaskState::Done) => return Ok(nothing(Vec::new())),
                Some(_) => file.next(&|other| other != id || taken(other)),
            },
        };
        Ok(match chosen {
            Selection::Task(entry) => Fact::Selected {
                task: entry.task.clone(),
                done,
                total,
            },
            Selection::AllDone => nothing(Vec::new()),
            Selection::Nothing { open } => nothing(
                open.into_iter()
                    .filter(|(id, _)| target.is_none_or(|t| t == id))
                    .collect(),
            ),
        })
    }

    pub(crate) async fn mark(&self, to: TaskState) -> Result<(), Error> {
        let id = &self.current()?.task.id;
        let outcome = self.outcome(to)?;
        let writing = self.s.source.apply(&self.state.ids, id, &outcome);
        if !self.unless_forced(writing).await? {
            let source = self.s.source.describe();
            self.bus
                .notice(format!("task {id} isn't in {source} any more"));
        }
        Ok(())
    }

    fn outcome(&self, to: TaskState) -> Result<Outcome, Error> {
        let c = self.current()?;
        let attempt = Some(self.seed());
        Ok(match to {
            TaskState::Done => Outcome::Done {
                commit: c.committed.clone().flatten(),
                attempt,
            },
            TaskState::Blocked => {
                let run = self.state.run.as_ref();
                let reason = run.and_then(|r| match decide::standing(c, &r.rules) {
                    Standing::Settled(ruling) => Some(ruling.reason),
                    Standing::Open(_) => None,
                });
                Outcome::Blocked { reason, attempt }
            }
            TaskState::Open | TaskState::InProgress => Outcome::Open,
        })
    }

    /// Until somebody wants the run to end at once. What needs no waiting is done all the same.
    pub(crate) async fn unless_forced<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.stopping.force() => Err(Error::Stopped),
        }
    }

    /// The same, for what is nearly done as a rule and then had better come to its end.
    pub(crate) async fn unless_forced_long_ago<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let long_ago = async {
            self.stopping.force().await;
            tokio::time::sleep(FINISH).await;
        };
        tokio::select! {
            biased;
            done = work => done,
            () = long_ago => Err(Error::Stopped),
        }
    }
}

/// Tasks done and in all.
pub(crate) fn counts(file: &TaskList) -> (u32, u32) {
    let (done, total) = file.counts();
    (
        u32::try_from(done).unwrap_or(u32::MAX),
        u32::try_from(total).unwrap_or(u32::MAX),
    )
}
