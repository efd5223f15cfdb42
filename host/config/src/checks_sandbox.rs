//! What `[sandbox]` and what is laid over it must look like.

use crate::checks::Checks;
use crate::paths;
use crate::types::{Confine, Profile};
use ralph_engine::hosts::HostPattern;

impl Checks<'_> {
    pub(crate) fn sandbox(&mut self) {
        let s = &self.config.sandbox;
        self.reach(&["sandbox"], &s.read, &s.write, Some(&s.network));
        for (i, path) in s.protect.iter().enumerate() {
            self.path(&["sandbox", "protect", &i.to_string()], path);
        }
        self.confine(&["sandbox", "gates"], &s.gates);
        if s.require && s.profile == Profile::Off && s.gates.profile.is_none() {
            let hint = Some("choose another `profile`, or leave `require` out".to_owned());
            let message = "`require` asks for a sandbox, and `profile` is off";
            self.error(&["sandbox", "require"], message, hint);
        }
    }

    pub(crate) fn confine(&mut self, at: &[&str], confine: &Confine) {
        self.reach(at, &confine.read, &confine.write, confine.network.as_ref());
    }

    fn reach(
        &mut self,
        at: &[&str],
        read: &[String],
        write: &[String],
        network: Option<&Vec<String>>,
    ) {
        for (key, paths) in [("read", read), ("write", write)] {
            for (i, path) in paths.iter().enumerate() {
                if let Some(message) = paths::outside_problem(path) {
                    self.error(&[at, &[key, &i.to_string()]].concat(), message, None);
                }
            }
        }
        for (i, host) in network.into_iter().flatten().enumerate() {
            if host != "*"
                && let Err(message) = HostPattern::parse(host)
            {
                let message = crate::show::visible(&message).replace("\\\"", "\"");
                self.error(&[at, &["network", &i.to_string()]].concat(), message, None);
            }
        }
    }
}
