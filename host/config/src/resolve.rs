//! Which settings hold for a name, whether or not it has a table.

use crate::builtins;
use crate::reference::Reference;
use crate::types::{Agent, Allow, Config, Limits, Plugin, Table};

impl Config {
    /// The settings of an agent by name: its table, or the defaults for a built-in one.
    pub fn agent(&self, name: &str) -> Option<Agent> {
        match self.agents.get(name) {
            Some(agent) => Some(agent.clone()),
            None => builtins::AGENTS.contains(&name).then(Agent::default),
        }
    }

    /// The plugin that drives an agent: the one it names, else the one of its own name, else `command`.
    pub fn agent_plugin(&self, name: &str) -> Option<String> {
        let agent = self.agent(name)?;
        let own = self.plugins.contains_key(name) || builtins::agent_plugins().contains(&name);
        Some(
            agent
                .plugin
                .unwrap_or_else(|| if own { name } else { "command" }.to_owned()),
        )
    }

    /// The settings of a plugin by name: its table, or `builtin:NAME` with nothing granted.
    /// What the built-in components need for their work the host gives them itself.
    pub fn plugin(&self, name: &str) -> Option<Plugin> {
        match self.plugins.get(name) {
            Some(plugin) => Some(plugin.clone()),
            None => builtins::all().contains(&name).then(|| Plugin {
                source: format!("builtin:{name}"),
                sha256: None,
                require_signature: false,
                allow: Allow::default(),
                limits: Limits::default(),
                on_failure: Default::default(),
                config: Table::new(),
            }),
        }
    }
}

impl Plugin {
    /// The name behind `builtin:`.
    pub fn builtin(&self) -> Option<&str> {
        self.source.strip_prefix("builtin:")
    }

    /// Is its source a file of the project?
    pub fn is_file(&self) -> bool {
        matches!(Reference::parse(&self.source), Ok(Reference::Path(_)))
    }
}
