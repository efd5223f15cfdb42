//! Those who ruled, asked again: gates, judge and reviewer.

use std::sync::Arc;

use ralph_engine::types::{Role, Status, Verdict};
use ralph_plugins::PluginError;
use ralph_workspace::sha256_hex;

use super::services::{Again, Nothing};
use super::tape::{ChangesTape, GateTape, JudgeTape};
use super::{Early, Item, Outcome, Player, context, differs, digest, not, same};

impl Player<'_> {
    pub(super) async fn gate(&self, name: &str, then: &Verdict, plugin: &str) -> Item {
        let outcome = self
            .check(name, then, plugin)
            .await
            .unwrap_or_else(|early| early);
        Item {
            what: format!("gate {name}"),
            outcome,
        }
    }

    async fn check(&self, name: &str, then: &Verdict, plugin: &str) -> Result<Outcome, Early> {
        if plugin.is_empty() && then.status == Status::Skip {
            return Ok(same("skipped: the changes weren't among those it is about"));
        }
        if plugin.is_empty() {
            return Err(not("it wasn't configured"));
        }
        let tape: GateTape = self.tape(&self.places.tape(&format!("gate-{name}")))?;
        if !tape.answered {
            return Err(not("it had no answer in time, or asked more than is kept"));
        }
        if !tape.sees.is_empty() {
            return Err(not(format!(
                "it may see what isn't kept: {}",
                tape.sees.join(", ")
            )));
        }
        let Some(gate) = self.project.config.gates.iter().find(|g| g.name == name) else {
            return Err(not("it isn't configured any more"));
        };
        let bound = self
            .registry
            .gate(gate)
            .await
            .map_err(|e| not(e.to_string()))?
            .bound;
        digest(&bound, &tape.given)?;
        let changes: ChangesTape = self.tape(&self.places.tape("changes"))?;
        let programs: Vec<String> = tape.asked.runs.iter().map(|r| r.program.clone()).collect();
        let again = Arc::new(Again::new(tape.asked.clone(), changes.files));
        let ctx = context(&tape.given, again.clone());
        let now = match bound.plugin.check(&ctx, &tape.given.it).await {
            Ok(verdict) => verdict,
            Err(e) => Verdict::could_not(e.to_string()),
        };
        if let Some(why) = again.strayed() {
            return Err(differs(why));
        }
        if now != *then {
            return Err(differs(format!("it rules now: {}", now.summary)));
        }
        Ok(same(if programs.is_empty() {
            "its verdict, from the recorded changes".to_owned()
        } else {
            format!(
                "its verdict, from the recorded output of {}, which was not run again",
                programs.join(", ")
            )
        }))
    }

    /// Both turns, if there were two: the question, the agent's driver, the verdict.
    pub(super) async fn judge(&self, role: Role, then: &Verdict, items: &mut Vec<Item>) {
        let word = if role == Role::Review {
            "review"
        } else {
            "judge"
        };
        for turn in 1..=2 {
            let name = format!("{word}-{turn}");
            let asked = format!("context/{name}.md");
            if !self.recorded.contains_key(&asked) {
                break;
            }
            let path = format!("{}/replay/{name}.json", self.places.context);
            let tape = self.tape::<JudgeTape>(&path);
            let (agent, last) = match &tape {
                Ok(tape) => (tape.given.it.agent.clone(), tape.verdict.is_some()),
                Err(_) => (String::new(), false),
            };
            let ruled = match tape {
                Ok(tape) => self
                    .rule(role, &tape, then, last)
                    .await
                    .unwrap_or_else(|early| early),
                Err(early) => early,
            };
            items.push(Item {
                what: format!("{word}, question {turn}"),
                outcome: ruled,
            });
            if !agent.is_empty() {
                let path = format!("{}/replay/{name}-agent.json", self.places.context);
                let outcome = match self.driver(&agent, &path, &format!("{name}.md")).await {
                    Ok(_) => same("launch, events and answer, from its recorded output"),
                    Err(early) => early,
                };
                items.push(Item {
                    what: format!("{word}'s agent {agent}, question {turn}"),
                    outcome,
                });
            }
        }
    }

    async fn rule(
        &self,
        role: Role,
        tape: &JudgeTape,
        then: &Verdict,
        last: bool,
    ) -> Result<Outcome, Early> {
        let config = &self.project.config;
        let table = if role == Role::Review {
            &config.review
        } else {
            &config.judge
        };
        // The recorded configuration is used, so no preamble has to be read.
        let bound = self
            .registry
            .judge(role, table, None)
            .await
            .map_err(|e| not(e.to_string()))?;
        digest(&bound, &tape.given)?;
        let ctx = context(&tape.given, Arc::<Nothing>::default());
        let broke = |e: PluginError| differs(format!("it fails now: {e}"));
        let question = bound
            .plugin
            .judge_prompt(&ctx, &tape.given.it, &tape.evidence)
            .await
            .map_err(broke)?;
        if sha256_hex(question.as_bytes()) != tape.question {
            return Err(differs("it asks something else now"));
        }
        let Some(answer) = &tape.answer else {
            return Ok(same("its question; there was no answer"));
        };
        match bound.plugin.judge_decide(&ctx, answer).await {
            Ok(verdict) if last && Some(&verdict) == tape.verdict.as_ref() => {
                Ok(if verdict == *then {
                    same("its question, and its verdict on the recorded answer")
                } else {
                    differs("the journal holds another verdict")
                })
            }
            Ok(verdict) => Err(differs(format!("it rules now: {}", verdict.summary))),
            Err(e) if Some(e.to_string()) == tape.refused => {
                Ok(same("its question; the answer can't be read, as then"))
            }
            Err(e) => Err(broke(e)),
        }
    }
}
