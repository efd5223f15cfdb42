//! What goes on in a call that takes long, for a client that wants to be told.

use std::sync::Arc;

use ralph_engine::Fact;
use ralph_engine::event::Event;
use ralph_engine::text::one_line;
use ralph_engine::types::{Role, Status, Verdict};
use ralph_runner::View;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::server::LAST;

/// Of a step this many bytes are told.
const SHOWN: usize = 160;
/// So many may wait; what comes when there are more isn't told.
const WAITING: usize = 64;

/// The view of a run that tells steps.
struct Steps(mpsc::Sender<String>);

impl View for Steps {
    fn event(&self, event: &Event) {
        if let Some(text) = words(event) {
            let _ = self.0.try_send(one_line(&text, SHOWN));
        }
    }
}

/// Tells the client until its end.
pub(super) struct Telling {
    over: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Telling {
    /// Waits until what was seen is told, so that the answer comes behind it.
    pub(super) async fn end(self) {
        drop(self.over);
        // Unless the client reads no more.
        let _ = timeout(LAST, self.task).await;
    }
}

/// What the view sees is told under the token.
pub(super) fn tell(peer: Peer<RoleServer>, token: ProgressToken) -> (Arc<dyn View>, Telling) {
    let (send, mut steps) = mpsc::channel(WAITING);
    let (over, mut ended) = oneshot::channel();
    let task = tokio::spawn(async move {
        let mut count = 0_u32;
        loop {
            let step = tokio::select! {
                biased;
                step = steps.recv() => step,
                _ = &mut ended => None,
            };
            let Some(step) = step else { return };
            count += 1;
            let told = ProgressNotificationParam::new(token.clone(), count.into());
            if peer.notify_progress(told.with_message(step)).await.is_err() {
                return;
            }
        }
    });
    (Arc::new(Steps(send)), Telling { over, task })
}

fn words(event: &Event) -> Option<String> {
    Some(match event {
        Event::Worker { task, what } => format!("{task}: {}", words(what)?),
        Event::GateStarted { name } => format!("gate {name} is asked"),
        Event::Fact(Fact::Selected { task, .. }) => format!("{} {}", task.id, task.title),
        Event::Fact(Fact::Prepared { .. }) => "the agent works".to_owned(),
        Event::Fact(Fact::AgentEnded { .. }) => "the agent has ended".to_owned(),
        Event::Fact(Fact::GateAnswered { result, .. }) => {
            format!("gate {}: {}", result.name, ruling(&result.verdict))
        }
        Event::Fact(Fact::Answered { role, verdict, .. }) => {
            let who = match role {
                Role::Work => "agent",
                Role::Judge => "judge",
                Role::Review => "reviewer",
            };
            format!("{who}: {}", ruling(verdict))
        }
        Event::Fact(Fact::Committed { .. }) => "committed".to_owned(),
        Event::Notice { text } => text.clone(),
        _ => return None,
    })
}

fn ruling(verdict: &Verdict) -> String {
    let word = match verdict.status {
        Status::Pass => "pass",
        Status::Fail => "fail",
        Status::Skip => "skip",
    };
    format!("{word}, {}", verdict.summary)
}
