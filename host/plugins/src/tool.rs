//! Tools, as the host calls them.

use crate::bindings::exports::ralph::plugin::tool as wit;
use crate::error::PluginError;
use crate::kind::Kind;
use crate::plugin::{Answer, Plugin};
use crate::services::CallContext;
use crate::weight::{self, Weight};
use crate::world::f;

/// A tool, as its component tells of it. Nothing in it was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Without the plugin's.
    pub name: String,
    /// For people and models.
    pub description: String,
    /// JSON text.
    pub input_schema: String,
}

impl Plugin {
    /// Has a component say which tools it offers.
    pub async fn tools(&self, ctx: &CallContext) -> Result<Vec<Definition>, PluginError> {
        let mut live = self.start(ctx, Kind::Tool).await?;
        let answer: Answer<Vec<wit::Definition>> = live.call(f::TOOLS, ()).await?;
        let made = |d: wit::Definition| Definition {
            name: d.name,
            description: d.description,
            input_schema: d.input_schema,
        };
        Ok(self.accept(answer)?.into_iter().map(made).collect())
    }

    /// Calls one. `arguments` is the JSON text of an object; so is what it gives, if it
    /// keeps to the contract.
    pub async fn call_tool(
        &self,
        ctx: &CallContext,
        name: &str,
        arguments: &str,
    ) -> Result<String, PluginError> {
        let mut live = self.start(ctx, Kind::Tool).await?;
        let answer: Answer<String> = live.call(f::TOOL, (name, arguments)).await?;
        self.accept(answer)
    }
}

impl Weight for wit::Definition {
    fn weight(&self) -> u64 {
        self.name.weight() + self.description.weight() + self.input_schema.weight()
    }
}

impl Weight for Vec<wit::Definition> {
    fn weight(&self) -> u64 {
        weight::list(self)
    }
}
