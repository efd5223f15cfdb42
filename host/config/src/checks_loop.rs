//! Who works: names that must exist, and are said once.

use crate::checks::Checks;

impl Checks<'_> {
    pub(crate) fn agents(&mut self) {
        let run = &self.config.run;
        self.agent_name(&["loop", "agent"], &run.agent);
        for (key, names) in [("agents", &run.agents), ("fallback", &run.fallback)] {
            for (i, name) in names.iter().enumerate() {
                self.agent_name(&["loop", key, &i.to_string()], name);
            }
        }
        self.agents_once();
    }

    /// `agents` says what `agent` and `fallback` say; not both in one file.
    fn agents_once(&mut self) {
        let origins = self.origins;
        let file = |key| origins.file_of(&["loop", key]);
        let Some(own) = file("agents").filter(|_| !self.config.run.agents.is_empty()) else {
            return;
        };
        for other in ["agent", "fallback"] {
            if file(other) == Some(own) {
                self.error(
                    &["loop", "agents"],
                    format!("stands beside `{other}`, which says the same"),
                    Some(
                        "name all agents in `agents`, in their order, and leave the other out"
                            .into(),
                    ),
                );
            }
        }
    }
}
