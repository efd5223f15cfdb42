//! How judge and reviewer differ: what they are told, and their token lines.

use ralph_plugin::Error;

/// One kind of judging.
#[derive(Debug)]
pub struct Rules {
    /// As it stands in summaries: `judge`.
    pub who: &'static str,
    /// Opens the question unless the configuration has a text of its own.
    pub opening: &'static str,
    /// The token lines.
    pub tokens: Tokens,
}

/// The token lines of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tokens {
    /// `JUDGE_SIGNAL: true|false`
    Signal,
    /// The given token for yes, `BLOCK` or `BLOCK: reason` for no.
    Ship(String),
}

/// What one token line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Yes or no.
    pub accepts: bool,
    /// What stands behind `BLOCK:`; empty if nothing does.
    pub reason: String,
}

const SIGNAL: &str = "JUDGE_SIGNAL";
const BLOCK: &str = "BLOCK";

impl Tokens {
    /// `required`: the token that accepts; `SHIP` if there is none.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`]: the token is empty, too long, or would be taken for `BLOCK`.
    pub fn ship(required: Option<&str>) -> Result<Self, Error> {
        let token = required.unwrap_or("SHIP").trim();
        let bad = |why: &str| {
            Err(Error::invalid_config(format!(
                "`required_token`: {token:?} {why}"
            )))
        };
        if bare(token).is_empty() {
            return bad("would match nothing; give a word such as \"SHIP\"");
        }
        if token.len() > 100 || token.contains(char::is_control) {
            return bad("must be one line of at most 100 bytes");
        }
        if block(&bare(token)).is_some() {
            return bad("means that the work is not accepted");
        }
        Ok(Tokens::Ship(token.to_owned()))
    }

    /// What `line` says, if it is a token line.
    pub fn read(&self, line: &str) -> Option<Token> {
        let line = bare(line);
        let plain = |accepts| {
            Some(Token {
                accepts,
                reason: String::new(),
            })
        };
        match self {
            Tokens::Signal => {
                let (key, value) = line.split_once(':')?;
                match value.trim() {
                    _ if !key.trim().eq_ignore_ascii_case(SIGNAL) => None,
                    v if v.eq_ignore_ascii_case("true") => plain(true),
                    v if v.eq_ignore_ascii_case("false") => plain(false),
                    _ => None,
                }
            }
            Tokens::Ship(token) if line.eq_ignore_ascii_case(&bare(token)) => plain(true),
            Tokens::Ship(_) => block(&line).map(|reason| Token {
                accepts: false,
                reason,
            }),
        }
    }

    /// Both token lines, as the question shows them.
    pub fn shown(&self) -> [String; 2] {
        match self {
            Tokens::Signal => [format!("{SIGNAL}: true"), format!("{SIGNAL}: false")],
            Tokens::Ship(token) => [token.clone(), format!("{BLOCK}: the reason in one line")],
        }
    }
}

/// The reason behind `BLOCK`, if `line` is that.
fn block(line: &str) -> Option<String> {
    let (word, reason) = line.split_once(':').unwrap_or((line, ""));
    word.trim()
        .eq_ignore_ascii_case(BLOCK)
        .then(|| reason.trim().to_owned())
}

/// `line` without white space, Markdown marks and a full stop around it.
fn bare(line: &str) -> String {
    let line: String = line
        .chars()
        .filter(|c| !matches!(c, '*' | '`' | '\\'))
        .collect();
    let mark = |c: char| c.is_whitespace() || matches!(c, '_' | '~' | '#');
    let line = line.trim_matches(mark);
    let line = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("+ "))
        .unwrap_or(line)
        .trim_start_matches(mark);
    line.strip_suffix('.')
        .unwrap_or(line)
        .trim_end_matches(mark)
        .to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_empty_or_misleading_token_is_a_configuration_error() {
        let long = "x".repeat(101);
        for token in [
            "",
            "   ",
            "**",
            ".",
            "block",
            "**BLOCK**",
            "BLOCK: no",
            "a\nb",
            long.as_str(),
        ] {
            let error = Tokens::ship(Some(token)).unwrap_err();
            assert!(
                matches!(&error, Error::InvalidConfig(text) if text.contains("required_token")),
                "{token:?}: {error:?}"
            );
        }
        assert_eq!(Tokens::ship(None), Ok(Tokens::Ship("SHIP".into())));
        assert_eq!(
            Tokens::ship(Some(" LGTM ")),
            Ok(Tokens::Ship("LGTM".into()))
        );
    }

    #[test]
    fn marks_around_a_token_make_no_difference_and_words_do() {
        let ship = Tokens::ship(None).unwrap();
        for line in [
            "SHIP",
            "  SHIP\t",
            "**SHIP**",
            "**SHIP**.",
            "**SHIP.**",
            "`SHIP`",
            "_SHIP._",
            "## SHIP",
            "- SHIP",
            "- **SHIP**",
            "ship",
            "Ship.",
        ] {
            assert_eq!(
                ship.read(line),
                Some(Token {
                    accepts: true,
                    reason: String::new()
                }),
                "{line}"
            );
        }
        for line in [
            "SHIP it",
            "I say SHIP",
            "SHIP!",
            "SHIP..",
            "SHIP: yes",
            "SHIP|BLOCK",
            "SHIP / BLOCK",
            "SHIPS",
            "BLOCKED",
            "BLOCK or SHIP",
            "NOT SHIP",
            "",
            "1. SHIP",
        ] {
            assert_eq!(ship.read(line), None, "{line}");
        }
        for (line, reason) in [
            ("BLOCK", ""),
            ("**BLOCK:** no tests.", "no tests"),
            ("block : `a` is missing", "a is missing"),
            ("BLOCK: a: b", "a: b"),
            ("BLOCK:", ""),
        ] {
            assert_eq!(
                ship.read(line),
                Some(Token {
                    accepts: false,
                    reason: reason.into()
                }),
                "{line}"
            );
        }
        let own = Tokens::ship(Some("_all good_")).unwrap();
        assert!(own.read("**All good**.").unwrap().accepts);
        assert_eq!(own.read("SHIP"), None);
    }

    #[test]
    fn the_signal_must_be_true_or_false_and_nothing_else() {
        for (line, accepts) in [
            ("JUDGE_SIGNAL: true", true),
            ("JUDGE_SIGNAL: false", false),
            ("**JUDGE_SIGNAL:** true", true),
            ("**JUDGE_SIGNAL**: `false`.", false),
            ("`JUDGE_SIGNAL: true`", true),
            ("judge_signal:TRUE", true),
            ("JUDGE\\_SIGNAL: true", true),
            ("JUDGE_SIGNAL : False", false),
        ] {
            assert_eq!(
                Tokens::Signal.read(line).map(|t| t.accepts),
                Some(accepts),
                "{line}"
            );
        }
        for line in [
            "JUDGE_SIGNAL: true|false",
            "JUDGE_SIGNAL: true or false",
            "JUDGE_SIGNAL:",
            "JUDGE_SIGNAL true",
            "JUDGE_SIGNAL: yes",
            "EXIT_SIGNAL: true",
            "so JUDGE_SIGNAL: true",
            "JUDGE_SIGNAL: true, I think",
            "true",
            "SHIP",
        ] {
            assert_eq!(Tokens::Signal.read(line), None, "{line}");
        }
    }
}
