//! The one run that a bridge has at a time.

use std::sync::{Arc, Mutex, PoisonError};

use ralph_engine::fact::EndReason;
use ralph_engine::state::Stop;
use ralph_runner::registry::agent_names;
use ralph_runner::{Control, Desk, Error, Project, RunOptions, Setup, Summary, Trust, View};
use serde_json::json;
use tokio::sync::watch;

use super::calls::Step;
use super::teller;
use super::{Bridge, busy, failed};
use crate::hosted::Hosted;
use crate::message::{INVALID_PARAMS, RpcError};
use crate::server::Client;

/// Is there a run?
#[derive(Default)]
pub(super) enum Slot {
    #[default]
    Free,
    Starting,
    On(Active),
}

/// Until it is told that a run is on, its end frees the slot.
struct Starting<'a>(Option<&'a Mutex<Slot>>);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Slot::Free;
        }
    }
}

/// What is to run.
pub(super) struct Wanted {
    pub(super) agent: Option<String>,
    pub(super) max_iterations: Option<u32>,
    /// One iteration, whose result is the answer.
    pub(super) step: bool,
    /// Who sees it beside the bridge's client.
    pub(super) views: Vec<Arc<dyn View>>,
}

/// A run that is on. Cheap to clone.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) id: String,
    pub(super) agent: String,
    pub(super) step: bool,
    pub(super) desk: Desk,
    pub(super) control: Control,
    done: watch::Receiver<Option<Arc<Ended>>>,
}

/// How a run ended.
pub(super) struct Ended {
    /// Or why not even its end could be recorded.
    pub(super) end: Result<EndReason, String>,
    /// Its last iteration, as `step` answers it.
    pub(super) last_iteration: Option<Step>,
}

impl Active {
    /// Waits for its end.
    pub(super) async fn ended(&self) -> Arc<Ended> {
        let mut done = self.done.clone();
        match done.wait_for(Option::is_some).await {
            Ok(ended) => ended.clone(),
            Err(_) => None,
        }
        .unwrap_or_else(|| {
            Arc::new(Ended {
                end: Err("the run has panicked; standard error says where".to_owned()),
                last_iteration: None,
            })
        })
    }
}

impl Bridge {
    /// Starts a run; all that can be wrong with it is found before.
    pub(super) async fn begin(
        &self,
        client: &Arc<Client>,
        wanted: Wanted,
    ) -> Result<Active, RpcError> {
        {
            let mut slot = self.slot();
            match &*slot {
                Slot::Free => *slot = Slot::Starting,
                // One that has panicked is none.
                Slot::On(active) if active.done.has_changed().is_err() => *slot = Slot::Starting,
                Slot::On(active) => return Err(busy(&active.id)),
                Slot::Starting => return Err(busy("one is starting")),
            }
        }
        // Whoever asked may go away in the middle of it.
        let mut starting = Starting(Some(&self.slot));
        // A run's future is deep; so is what it stands in.
        let started = Box::pin(self.start(client, wanted)).await;
        if started.is_ok() {
            starting.0 = None;
        }
        started
    }

    async fn start(&self, client: &Arc<Client>, wanted: Wanted) -> Result<Active, RpcError> {
        let mut project = Project::open(&self.dir).map_err(failed)?;
        if let Some(agent) = &wanted.agent {
            let names = agent_names(&project.config);
            if !names.contains(agent) {
                let shown = ralph_engine::text::one_line(agent, 60);
                let there = names.join(", ");
                let text =
                    format!("Invalid params: there is no agent `{shown}`; there are {there}");
                return Err(RpcError::new(INVALID_PARAMS, text));
            }
        }
        Trust::of(&project)
            .and_then(|trust| trust.demand())
            .map_err(failed)?;
        project.accepted = true;
        let step = wanted.step;
        let options = RunOptions {
            agent: wanted.agent,
            max_iterations: wanted.max_iterations,
            at_once: true,
            ..RunOptions::default()
        };
        let ws = project.ws.clone();
        let setup = Setup::new(project, self.host.clone(), options)
            .await
            .map_err(failed)?;
        let git = setup.git.clone();
        let (control, stopping) = Control::new();
        let (teller, telling) = teller::new(client.clone(), ws, git, self.last.clone());
        let mut views: Vec<Arc<dyn View>> = vec![teller.clone()];
        views.extend(wanted.views);
        let hosted = Hosted::begin(setup, views, &control, stopping)
            .await
            .map_err(failed)?;
        let desk = hosted.desk();
        let now = desk.now();
        let (say, done) = watch::channel(None);
        let active = Active {
            id: now.run.clone(),
            agent: now.agent.clone(),
            step,
            desk: desk.clone(),
            control,
            done,
        };
        if !step {
            let begun = json!({
                "runId": now.run, "agent": now.agent,
                "maxIterations": now.max_iterations, "startIteration": now.iteration + 1,
            });
            teller::tell(client, "run_started", begun);
        }
        *self.slot() = Slot::On(active.clone());
        let telling = tokio::spawn(telling.go(desk.clone()));
        teller.attach(desk);
        let (slot, client) = (self.slot.clone(), client.clone());
        tokio::spawn(async move {
            let ran = Box::pin(hosted.to_its_end()).await;
            // Everything else has been told when the teller's queue is empty.
            teller.close();
            let last_iteration = telling.await.unwrap_or(None);
            // Who hears of the end may start the next one.
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Slot::Free;
            over(&client, &now.run, step, &ran);
            say.send_replace(Some(Arc::new(Ended {
                end: ran.map(|s| s.end).map_err(|e| e.with_advice()),
                last_iteration,
            })));
        });
        Ok(active)
    }

    /// Asks the run that is on to end at once, its agent included.
    pub(crate) fn ask_to_end(&self) {
        if let Some(active) = self.active() {
            active.control.stop(Stop::Force);
        }
    }

    /// The same, and waits for that.
    pub(crate) async fn end(&self) {
        let active = self.active();
        self.ask_to_end();
        if let Some(active) = active {
            active.ended().await;
        }
    }
}

/// Tells of a run's end.
fn over(client: &Client, run: &str, step: bool, ran: &Result<Summary, Error>) {
    let (reason, trouble) = match ran {
        Err(e) => ("error", Some(e.with_advice())),
        Ok(summary) => match &summary.end {
            EndReason::Error { message } | EndReason::Unauthenticated { message } => {
                ("error", Some(message.clone()))
            }
            EndReason::Limited { message, .. } => ("limited", Some(message.clone())),
            end => (end.word(), None),
        },
    };
    if let Some(message) = trouble {
        teller::tell(client, "error", json!({ "runId": run, "message": message }));
    }
    if !step {
        teller::tell(
            client,
            "run_stopped",
            json!({ "runId": run, "reason": reason }),
        );
    }
}
