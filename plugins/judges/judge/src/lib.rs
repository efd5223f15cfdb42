//! Judge `judge`: another agent rules whether the task was met.
//!
//! ```toml
//! [judge]
//! enabled = true
//! agent = "claude"
//! prompt = "JUDGE.md" # opens the question; the host hands it over as `preamble`
//! ```
//! How the question is put together and how the answer is read: [`judging`].

use judging::{Rules, Tokens};
use ralph_plugin::{Error, Evidence, Iteration, Judge, Verdict, config};

/// `config`
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Opens the question in place of the built-in text.
    pub preamble: Option<String>,
}

/// The judge.
pub struct TaskJudge;

const RULES: Rules = Rules {
    who: "judge",
    opening: OPENING,
    tokens: Tokens::Signal,
};

const OPENING: &str = "\
You are the judge. Another agent was given the task below and says that it is done. Rule whether it is.

- The task is met if the change does what the task asks and every acceptance criterion holds. \
Only then the verdict is \"pass\".
- Go by the diff, the gates and the files, not by what the agent says of its work.
- Tests that were weakened or removed, checks that were switched off, placeholders and work that \
is only announced mean \"fail\".
- What the task doesn't ask for is no reason to fail it. Style isn't, either.
- If you can't tell, the verdict is \"fail\", and you say what you would need to see.";

impl Judge for TaskJudge {
    fn prompt(it: &Iteration, evidence: &Evidence) -> Result<String, Error> {
        let config: Config = config()?;
        Ok(judging::prompt(
            &RULES,
            config.preamble.as_deref(),
            it,
            evidence,
        ))
    }

    fn decide(answer: &str) -> Result<Verdict, Error> {
        config::<Config>()?;
        judging::decide(&RULES, answer)
    }
}

ralph_plugin::judge!(TaskJudge);
ralph_plugin::manifest!(kinds: ["judge"]);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use ralph_plugin::testing::{Host, iteration};

    fn evidence() -> Evidence {
        Evidence {
            diff: String::new(),
            omitted_bytes: 0,
            files: vec![],
            gates: vec![],
            final_text: String::new(),
            complaint: None,
        }
    }

    fn with<R>(config: &str, f: impl FnOnce() -> R) -> R {
        Host::new().config(config).run(f).0
    }

    #[test]
    fn the_judge_asks_for_its_own_tokens_and_reads_only_those() {
        let asked = with("{}", || TaskJudge::prompt(&iteration(), &evidence())).unwrap();
        assert!(asked.starts_with("You are the judge.") && asked.contains("JUDGE_SIGNAL: true"));
        assert!(
            with("{}", || TaskJudge::decide("JUDGE_SIGNAL: true"))
                .unwrap()
                .passed()
        );
        assert!(with("{}", || TaskJudge::decide("SHIP")).is_err());
    }

    #[test]
    fn the_preamble_comes_from_the_configuration_and_other_keys_are_refused() {
        let asked = with(r#"{"preamble": "Be strict."}"#, || {
            TaskJudge::prompt(&iteration(), &evidence())
        })
        .unwrap();
        assert!(asked.starts_with("Be strict.\n"));
        for call in [
            || TaskJudge::prompt(&iteration(), &evidence()).map(drop),
            || TaskJudge::decide("").map(drop),
        ] {
            assert!(matches!(
                with(r#"{"required_token": "x"}"#, call),
                Err(Error::InvalidConfig(_))
            ));
        }
    }
}
