//! Notifiers, as the host calls them.

use crate::bindings::exports::ralph::plugin::notifier as wit;
use crate::error::PluginError;
use crate::kind::Kind;
use crate::plugin::{Answer, Plugin};
use crate::services::CallContext;
use crate::world::f;

/// How a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The reason's word.
    pub event: String,
    /// The project's directory name.
    pub project: String,
    /// One line.
    pub text: String,
    /// JSON text of an object.
    pub details: String,
}

impl Plugin {
    /// Tells a notifier.
    pub async fn notify(&self, ctx: &CallContext, notice: &Notice) -> Result<(), PluginError> {
        let mut live = self.start(ctx, Kind::Notifier).await?;
        let notice = wit::Notice {
            event: notice.event.clone(),
            project: notice.project.clone(),
            text: notice.text.clone(),
            details: notice.details.clone(),
        };
        let answer: Answer<()> = live.call(f::NOTIFY, (&notice,)).await?;
        self.accept(answer)
    }
}
