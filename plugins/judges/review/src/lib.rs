//! Reviewer `review`: another agent looks at the change as a colleague would.
//!
//! ```toml
//! [review]
//! enabled = true
//! agent = "codex"
//! config = { required_token = "LGTM" } # in place of SHIP
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
    /// The last line that accepts the work; `SHIP` if it isn't given.
    pub required_token: Option<String>,
}

impl Config {
    fn rules(&self) -> Result<Rules, Error> {
        let tokens = Tokens::ship(self.required_token.as_deref())?;
        Ok(Rules {
            who: "reviewer",
            opening: OPENING,
            tokens,
        })
    }
}

/// The reviewer.
pub struct Reviewer;

const OPENING: &str = "\
You are the reviewer. Another agent made the change below. Say whether it may go in.

- Look for what would hurt: wrong behaviour, lost data, security holes, missing error handling, \
races, broken compatibility, tests that test nothing. Such a thing means \"fail\".
- Say of each finding where it is, what goes wrong and with what input. Leave out matters of taste.
- Whether the task is complete is for the judge; you look at what is there.
- Go by the diff and the files, not by what the agent says of its work.
- If you can't tell, the verdict is \"fail\", and you say what you would need to see.";

impl Judge for Reviewer {
    fn prompt(it: &Iteration, evidence: &Evidence) -> Result<String, Error> {
        let config: Config = config()?;
        Ok(judging::prompt(
            &config.rules()?,
            config.preamble.as_deref(),
            it,
            evidence,
        ))
    }

    fn decide(answer: &str) -> Result<Verdict, Error> {
        judging::decide(&config::<Config>()?.rules()?, answer)
    }
}

ralph_plugin::judge!(Reviewer);
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
    fn the_reviewer_asks_for_its_own_tokens_and_reads_only_those() {
        let asked = with("{}", || Reviewer::prompt(&iteration(), &evidence())).unwrap();
        assert!(asked.starts_with("You are the reviewer.") && asked.contains("\nSHIP\n"));
        assert!(with("{}", || Reviewer::decide("SHIP")).unwrap().passed());
        assert!(
            !with("{}", || Reviewer::decide("BLOCK: no"))
                .unwrap()
                .passed()
        );
        assert!(with("{}", || Reviewer::decide("JUDGE_SIGNAL: true")).is_err());
    }

    #[test]
    fn the_required_token_takes_the_place_of_ship() {
        let config = r#"{"required_token": "LGTM", "preamble": "Be strict."}"#;
        let asked = with(config, || Reviewer::prompt(&iteration(), &evidence())).unwrap();
        assert!(
            asked.starts_with("Be strict.\n")
                && asked.contains("\nLGTM\n")
                && !asked.contains("\nSHIP\n")
        );
        assert!(with(config, || Reviewer::decide("LGTM")).unwrap().passed());
        assert!(with(config, || Reviewer::decide("SHIP")).is_err());
    }

    #[test]
    fn a_token_that_would_match_anything_is_a_configuration_error() {
        for config in [
            r#"{"required_token": ""}"#,
            r#"{"required_token": "   "}"#,
            r#"{"required_token": "BLOCK"}"#,
            r#"{"token": "x"}"#,
        ] {
            let asked = with(config, || Reviewer::prompt(&iteration(), &evidence()));
            assert!(
                matches!(asked, Err(Error::InvalidConfig(_))),
                "{config}: {asked:?}"
            );
            let said = with(config, || Reviewer::decide(""));
            assert!(
                matches!(said, Err(Error::InvalidConfig(_))),
                "{config}: {said:?}"
            );
        }
    }
}
