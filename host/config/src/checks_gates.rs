//! Gates together: names, groups, patterns.

use std::collections::HashMap;

use ralph_engine::gates::{Groups, Known, When};

use crate::checks::Checks;
use crate::show;
use crate::types::{Config, Severity};

impl Config {
    /// What groups may name.
    fn known_gates(&self) -> Vec<Known<'_>> {
        let known = self.gates.iter().map(|gate| Known {
            name: &gate.name,
            warns: gate.severity == Severity::Warn,
        });
        known.collect()
    }

    /// `[[gate_groups]]`, read. Of a loaded configuration there is nothing wrong with them.
    pub fn groups(&self) -> Groups {
        self.read_groups().unwrap_or_default()
    }

    fn read_groups(&self) -> Result<Groups, Vec<ralph_engine::gates::GroupError>> {
        let groups = self.gate_groups.iter();
        let texts: Vec<_> = groups.map(|g| (g.name.as_str(), g.expr.as_str())).collect();
        Groups::new(&self.known_gates(), &texts)
    }
}

impl Checks<'_> {
    pub(crate) fn gates(&mut self) {
        let config = self.config;
        let mut names = HashMap::new();
        for (i, gate) in config.gates.iter().enumerate() {
            let index = i.to_string();
            self.gate(&index, gate);
            if names.insert(gate.name.as_str(), i).is_some() {
                let message = format!("two gates are called {}", show::name(&gate.name));
                self.error(&["gates", &index, "name"], message, None);
            }
            for (n, pattern) in gate.when.changed.iter().enumerate() {
                if let Err(message) = When::new(std::slice::from_ref(pattern)) {
                    let at = ["gates", &index, "when", "changed", &n.to_string()];
                    self.error(&at, show::visible(&message), None);
                }
            }
        }
        for (i, group) in config.gate_groups.iter().enumerate() {
            self.gate_name(
                &["gate_groups", &i.to_string(), "name"],
                "group",
                &group.name,
            );
        }
        for error in config.read_groups().err().into_iter().flatten() {
            let at = ["gate_groups", &error.index.to_string(), error.key];
            self.error(&at, show::visible(&error.message), None);
        }
    }
}
