//! Edits in the audit.

use std::sync::{Arc, Mutex, PoisonError};

use ralph_prompts::{Audit, Change, Mended, PromptError};

use super::{problem, text};
use crate::app::Shared;
use crate::audit::{Event, Intent, kinds};
use crate::caller::Caller;
use crate::problem::Problem;

/// What an edit is about to do goes into the audit before it is done, and what came of it after.
pub(super) struct Told {
    app: Shared,
    event: Event,
    deleted: bool,
    said: Arc<Mutex<Option<Result<Intent, Problem>>>>,
}

impl Told {
    pub(super) fn new(app: &Shared, caller: &Caller, slug: &str, kind: &'static str) -> Told {
        Told {
            app: app.clone(),
            event: Event::new(kind, slug).by(&caller.actor),
            deleted: kind == kinds::DELETED,
            said: Arc::default(),
        }
    }

    /// Called on a thread that may wait, with the prompt's lock held.
    pub(super) fn audit(&self) -> Audit {
        let (app, event, said) = (self.app.clone(), self.event.clone(), self.said.clone());
        let deleted = self.deleted;
        let runtime = tokio::runtime::Handle::current();
        Box::new(move |change: &Change| {
            let event = event
                .clone()
                .with("prompt_path", change.prompt_path.clone());
            let old = text(change.old_fp.as_ref());
            let event = match deleted {
                true => event.with("last_fp", old),
                false => {
                    let summary = serde_json::to_value(change.diff_summary);
                    event
                        .with("old_fp", old)
                        .with("new_fp", text(change.new_fp.as_ref()))
                        .with("diff_summary", summary.map_err(|e| e.to_string())?)
                }
            };
            let intent = runtime.block_on(app.audit.intend(event));
            let failed = intent.as_ref().err().map(|p| p.detail.clone());
            *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(intent);
            failed.map_or(Ok(()), Err)
        })
    }

    pub(super) async fn ended(self, done: Result<Change, PromptError>) -> Result<Change, Problem> {
        let said = self
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match said {
            Some(Err(unwritten)) => Err(unwritten),
            Some(Ok(intent)) => {
                let done = done.map_err(problem);
                self.app.audit.outcome(intent, done.as_ref().err()).await;
                done
            }
            // A gate before it refused.
            None => done.map_err(problem),
        }
    }
}

/// An edit that a death cut off has its outcome once it is finished or given up.
pub(super) fn mended(app: &Shared, slug: &str) -> ralph_prompts::Told {
    let (app, slug) = (app.clone(), slug.to_owned());
    let runtime = tokio::runtime::Handle::current();
    Arc::new(move |mended: &Mended| {
        runtime.block_on(app.audit.mended(&slug, &mended.path, mended.finished));
    })
}
