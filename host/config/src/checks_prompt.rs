//! What `[claims]` and `[modes]` must look like.

use ralph_engine::claim;

use crate::checks::Checks;
use crate::prompting::Mode;
use crate::show;

impl Checks<'_> {
    pub(crate) fn claims(&mut self) {
        let claims = &self.config.claims;
        for (key, tokens) in [("done", &claims.done), ("not_done", &claims.not_done)] {
            for (i, token) in tokens.iter().enumerate() {
                if let Some(what) = claim::problem(token) {
                    let message = format!(
                        "`{key}` in [claims]: the token {} {what}",
                        show::name(token)
                    );
                    let hint = "write a whole line that an agent can end with, as in \"EXIT_SIGNAL: true\"";
                    self.error(&["claims", key, &i.to_string()], message, Some(hint.into()));
                }
            }
        }
        let tokens = claims.tokens();
        for (i, token) in claims.done.iter().enumerate() {
            if claim::problem(token).is_none()
                && claim::read(token, &tokens) != ralph_engine::fact::Claim::Done
            {
                let message = format!(
                    "`done` in [claims]: the token {} is in `not_done` as well",
                    show::name(token)
                );
                self.error(&["claims", "done", &i.to_string()], message, None);
            }
        }
    }

    pub(crate) fn mode(&mut self, name: &str, mode: &Mode) {
        if let Some(agent) = &mode.agent {
            self.agent_name(&["modes", name, "agent"], agent);
        }
        if let Some(path) = &mode.prompt {
            self.path(&["modes", name, "prompt"], path);
        }
        if let Some(timeout) = mode.timeout {
            self.positive(&["modes", name, "timeout"], timeout);
        }
    }
}
