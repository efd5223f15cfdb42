//! The one rule for completion claims.
//!
//! Only the final assistant text of the iteration counts. Of it, the last line
//! that isn't blank is taken, outside code fences and quotes (`> …`), with
//! terminal escapes, Markdown marks (`*`, `_`, `` ` ``, `#`, `-`), a list number and one
//! closing full stop taken off. If that line is one of the configured tokens
//! (`EXIT_SIGNAL: true`, `<promise>COMPLETE</promise>`) the task is claimed. A line
//! that is one of the denying tokens (`EXIT_SIGNAL: false`), anywhere in the text, beats
//! a claim. Letter case and the number of blanks don't matter; a part of a line is never
//! enough.

use crate::fact::Claim;
use crate::text::strip_escapes;

/// The lines by which an agent says whether the task is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    /// It is.
    pub done: Vec<String>,
    /// It isn't.
    pub not_done: Vec<String>,
}

impl Default for Tokens {
    fn default() -> Self {
        Tokens {
            done: vec![
                "EXIT_SIGNAL: true".into(),
                "<promise>COMPLETE</promise>".into(),
            ],
            not_done: vec!["EXIT_SIGNAL: false".into()],
        }
    }
}

/// What Markdown puts around and into a line.
const MARKS: &[char] = &['*', '_', '`', '#', '-', ' ', '\t'];

/// What is wrong with a token, if anything: it must be a line that [`read`] can find.
pub fn problem(token: &str) -> Option<&'static str> {
    let line = token.trim();
    if line.contains(['\n', '\r']) {
        Some("is more than one line")
    } else if plain(line).is_empty() {
        Some("is empty, and would match every text")
    } else if line.starts_with('>') || fence_mark(line).is_some() {
        Some("begins like a quote or a code fence, which never count")
    } else {
        None
    }
}

/// Reads the claim out of an agent's final text.
pub fn read(final_text: &str, tokens: &Tokens) -> Claim {
    let list = |tokens: &[String]| -> Vec<String> {
        let plain = tokens.iter().map(|t| plain(t.trim()));
        plain.filter(|t| !t.is_empty()).collect()
    };
    let (done, not_done) = (list(&tokens.done), list(&tokens.not_done));
    let clean = strip_escapes(final_text);
    let mut last = Claim::None;
    let mut fence: Option<char> = None;
    for line in clean.lines() {
        let line = line.trim();
        if let Some(mark) = fence_mark(line) {
            match fence {
                None => fence = Some(mark),
                Some(open) if open == mark => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if line.is_empty() || fence.is_some() {
            continue;
        }
        if line.starts_with('>') {
            last = Claim::None;
            continue;
        }
        let line = plain(line);
        if not_done.contains(&line) {
            return Claim::NotDone;
        }
        last = if done.contains(&line) {
            Claim::Done
        } else {
            Claim::None
        };
    }
    // A text that ends inside a fence is an echo or was cut: no claim.
    if fence.is_some() { Claim::None } else { last }
}

fn fence_mark(line: &str) -> Option<char> {
    ['`', '~']
        .into_iter()
        .find(|c| line.chars().take_while(|x| x == c).count() >= 3)
}

/// A line without marks around it and around its colon, in lower case, blanks made one.
fn plain(line: &str) -> String {
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = if numbered.len() < line.len() {
        numbered.strip_prefix(['.', ')', '|', '\t']).unwrap_or(line)
    } else {
        line
    };
    let line = line.trim_matches(MARKS);
    let line = line.strip_suffix('.').unwrap_or(line).trim_matches(MARKS);
    let parts: Vec<String> = line
        .split(':')
        .map(|part| {
            let words: Vec<&str> = part.trim_matches(MARKS).split_whitespace().collect();
            words.join(" ").to_lowercase()
        })
        .collect();
    parts.join(":")
}

/// Did the agent end with a question instead of work? Its last line that isn't blank,
/// outside code fences and quotes, ends with a question mark; gives that line.
pub fn question(final_text: &str) -> Option<String> {
    let clean = strip_escapes(final_text);
    let mut last = None;
    let mut fenced = false;
    for line in clean.lines().map(str::trim) {
        if fence_mark(line).is_some() {
            fenced = !fenced;
            last = None;
        } else if !fenced && !line.is_empty() {
            last = Some(line);
        }
    }
    let line = last.filter(|_| !fenced)?.trim_matches(MARKS);
    (!line.starts_with('>') && line.ends_with(['?', '？'])).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_the_last_line_and_nothing_else() {
        use Claim::{Done, None, NotDone};
        for (text, want) in [
            ("EXIT_SIGNAL: true", Done),
            ("did it\n\n**EXIT_SIGNAL: true**", Done),
            ("did it\r\nEXIT_SIGNAL: true.\r\n", Done),
            ("`exit_signal : TRUE`", Done),
            ("**EXIT_SIGNAL:** true", Done),
            ("12. EXIT_SIGNAL: true", Done),
            ("<promise>COMPLETE</promise>", Done),
            ("\u{1b}[32mEXIT_\u{1b}[1mSIGNAL: true\u{1b}[0m", Done),
            ("EXIT_SIGNAL: false", NotDone),
            (
                "EXIT_SIGNAL: false\nall is done\nEXIT_SIGNAL: true",
                NotDone,
            ),
            ("EXIT_SIGNAL: true\nthen I looked further", None),
            ("I will end with EXIT_SIGNAL: true", None),
            ("EXIT_SIGNAL: true OR false", None),
            ("EXIT_SIGNAL: true|false", None),
            ("NO_EXIT_SIGNAL: true", None),
            ("> EXIT_SIGNAL: true", None),
            ("```\nEXIT_SIGNAL: true\n```", None),
            ("```\nEXIT_SIGNAL: true", None),
            ("all done, complete, finished, ready", None),
            ("", None),
        ] {
            assert_eq!(read(text, &Tokens::default()), want, "{text:?}");
        }
    }

    #[test]
    fn a_project_may_have_tokens_of_its_own() {
        let tokens = Tokens {
            done: vec!["ALL *DONE*".into(), "   ".into()],
            not_done: vec!["MORE: to come".into()],
        };
        assert_eq!(read("x\n**All   *done***", &tokens), Claim::Done);
        assert_eq!(read("more : TO COME\nall *done*", &tokens), Claim::NotDone);
        assert_eq!(read("EXIT_SIGNAL: true", &tokens), Claim::None);
        assert_eq!(read("anything at all", &tokens), Claim::None);
        assert_eq!(read("", &tokens), Claim::None);
    }

    #[test]
    fn a_token_that_could_not_be_found_or_matches_everything_is_told() {
        for bad in ["", "   ", "**", "> done", "```", "a\nb", "- -"] {
            assert!(problem(bad).is_some(), "{bad:?}");
        }
        let tokens = Tokens::default();
        for good in tokens.done.iter().chain(&tokens.not_done) {
            assert_eq!(problem(good), None);
        }
    }

    #[test]
    fn a_question_is_the_last_line_and_nothing_quoted() {
        assert_eq!(
            question("Which one?\n\n1. A?\n2. **Or B?**\n").as_deref(),
            Some("2. **Or B?")
        );
        for none in [
            "Why? Because.",
            "```\nwhat?\n```",
            "> what?",
            "",
            "what?\n```\nx",
        ] {
            assert_eq!(question(none), None, "{none:?}");
        }
    }
}
