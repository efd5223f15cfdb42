//! An agent's driver, asked again: what it launches, what it makes of the output and of the end.

use std::sync::Arc;

use ralph_engine::types::AgentOutcome;
use ralph_plugins::{Kind, PluginError};

use super::output::Pieces;
use super::services::Nothing;
use super::tape::{self, AgentTape};
use super::{Early, Item, PROMPT_MAX, Player, context, differs, digest, not, same};
use crate::agent;

impl Player<'_> {
    pub(super) async fn agent(&self) -> Item {
        let name = &self.record.current.agent;
        let seen = self.record.agent_call().is_some();
        let outcome = match self
            .driver(name, &self.places.tape("work"), "prompt.md")
            .await
        {
            Ok(_) if !seen => not("ralph itself had died before it saw the end"),
            Ok((tape, _)) => {
                let journaled = self.record.current.ended.as_ref().map(|e| &e.outcome);
                match (&tape.outcome, journaled) {
                    (Some(kept), Some(told)) if kept != told => {
                        differs("the journal says that something else came of it")
                    }
                    _ => same("launch, events and outcome, from its recorded output"),
                }
            }
            Err(early) => early,
        };
        Item {
            what: format!("agent {name}"),
            outcome,
        }
    }

    /// A driver: what it launches, what it makes of the output, and of the end.
    pub(super) async fn driver(
        &self,
        name: &str,
        path: &str,
        prompt: &str,
    ) -> Result<(AgentTape, String), Early> {
        let tape: AgentTape = self.tape(path)?;
        let bound = self
            .registry
            .agent(
                tape.given.it.role,
                name,
                self.project.config.agents.get(name),
            )
            .await
            .map_err(|e| not(e.to_string()))?
            .bound;
        if bound.plugin.kind() == Kind::Agent {
            return Err(not(
                "it works in the workspace itself; asked again it would change that again",
            ));
        }
        digest(&bound, &tape.given)?;
        let path = format!("{}/{prompt}", self.places.context);
        self.intact(&path)?;
        let text = self
            .ws()
            .read(&path, PROMPT_MAX)
            .map_err(|e| differs(e.to_string()))?
            .unwrap_or_default();
        let prompt = String::from_utf8_lossy(&text).into_owned();
        let services = Nothing {
            prompt: prompt.clone(),
        };
        let ctx = context(&tape.given, Arc::new(services));
        let it = &tape.given.it;
        let launch = bound
            .plugin
            .prepare(&ctx, it, &prompt)
            .await
            .map_err(|e| differs(format!("it refuses now: {e}")))?;
        if tape::launch_hash(&launch) != tape.launch {
            return Err(differs("it would launch something else"));
        }
        let Some(exit) = tape.exit.as_ref().and_then(tape::ExitTape::exit) else {
            return Err(not("the host had ended its program, so it never ruled"));
        };
        if !tape.whole {
            return Err(not("its output was longer than what is kept of it"));
        }
        self.intact(&tape.log)?;
        let mut again = AgentTape::new(tape.given.clone(), &launch, &tape.log, tape.from);
        let broke = |e: PluginError| differs(format!("it fails now: {e}"));
        let mut session = bound.plugin.session(&ctx, it).await.map_err(broke)?;
        for piece in Pieces::of(self.ws(), &tape).map_err(differs)? {
            let piece = piece.map_err(|e| differs(format!("{}: {e}", tape.log)))?;
            let reaction = session.feed(&piece).await.map_err(broke)?;
            for event in &reaction.events {
                again.event(event);
            }
            again.wrote(&reaction.stdin, reaction.close_stdin);
        }
        // What the call itself said may be an error of the plugin, which is the same outcome then.
        let mut outcome = match session.finish(exit).await {
            Ok((outcome, events)) => {
                for event in &events {
                    again.event(event);
                }
                outcome
            }
            Err(e) => AgentOutcome::Failed {
                message: e.to_string(),
            },
        };
        agent::shorten(&mut outcome);
        again.end(None, None);
        if again.events != tape.events {
            return Err(differs("it makes something else of the same output"));
        }
        if tape.outcome.as_ref() != Some(&outcome) {
            return Err(differs(format!("what came of it is now {outcome:?}")));
        }
        let answer = match outcome {
            AgentOutcome::Finished { text } => text,
            _ => String::new(),
        };
        Ok((tape, answer))
    }
}
