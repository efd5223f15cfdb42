//! Who waits for a tool.

use std::sync::Arc;

use ralph_runner::View;
use tokio::sync::watch;

use crate::message::{NOT_NOW, RpcError};

/// Does somebody wait for an answer?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waits {
    /// As long as it takes.
    Long,
    /// For what is done soon; what takes long is ended.
    Briefly,
    /// No more.
    No,
}

/// One call's caller.
#[derive(Clone, Default)]
pub(crate) struct Caller {
    waits: Option<watch::Receiver<Waits>>,
    view: Option<Arc<dyn View>>,
}

impl Caller {
    /// One that may go away before there is an answer, and may want to see what goes on until then.
    pub(crate) fn new(waits: watch::Receiver<Waits>, view: Option<Arc<dyn View>>) -> Caller {
        Caller {
            waits: Some(waits),
            view,
        }
    }

    /// Waits until nobody wants an answer that takes long; for ever if that can't be.
    pub(crate) async fn leaves(&self) {
        self.until(Waits::Briefly).await;
    }

    /// Waits until nobody wants any answer.
    pub(crate) async fn gone(&self) {
        self.until(Waits::No).await;
    }

    async fn until(&self, when: Waits) {
        if let Some(mut waits) = self.waits.clone()
            && waits.wait_for(|now| *now >= when).await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }

    /// Who is shown what goes on.
    pub(crate) fn views(&self) -> Vec<Arc<dyn View>> {
        self.view.clone().into_iter().collect()
    }

    /// What is answered then, if anybody reads it.
    pub(crate) fn cancelled() -> RpcError {
        RpcError::new(NOT_NOW, "cancelled")
    }
}
