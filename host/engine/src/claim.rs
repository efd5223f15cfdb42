//! The one rule for completion claims.
//!
//! Only the final assistant text of the iteration counts. Of it, the last line
//! that isn't blank is taken, outside code fences and quotes (`> …`), with
//! terminal escapes, Markdown marks (`*`, `_`, `` ` ``, `#`, `-`), a list number and one
//! closing full stop taken off. If that line is `EXIT_SIGNAL: true` or
//! `<promise>COMPLETE</promise>` the task is claimed; `EXIT_SIGNAL: false`
//! denies it. An `EXIT_SIGNAL: false` on a line of its own anywhere in the text
//! beats a claim. Letter case and blanks around the colon don't matter.

use crate::fact::Claim;
use crate::text::strip_escapes;

/// Reads the claim out of an agent's final text.
pub fn read(final_text: &str) -> Claim {
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
        last = of_line(line);
        if last == Claim::NotDone {
            return Claim::NotDone;
        }
    }
    // A text that ends inside a fence is an echo or was cut: no claim.
    if fence.is_some() { Claim::None } else { last }
}

fn fence_mark(line: &str) -> Option<char> {
    ['`', '~']
        .into_iter()
        .find(|c| line.chars().take_while(|x| x == c).count() >= 3)
}

fn of_line(line: &str) -> Claim {
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = if numbered.len() < line.len() {
        numbered.strip_prefix(['.', ')', '|', '\t']).unwrap_or(line)
    } else {
        line
    };
    let marks: &[char] = &['*', '_', '`', '#', '-', ' ', '\t'];
    let line = line.trim_matches(marks);
    let line = line.strip_suffix('.').unwrap_or(line).trim_matches(marks);
    if line.eq_ignore_ascii_case("<promise>COMPLETE</promise>") {
        return Claim::Done;
    }
    let Some((name, value)) = line.split_once(':') else {
        return Claim::None;
    };
    if !name.trim_matches(marks).eq_ignore_ascii_case("EXIT_SIGNAL") {
        return Claim::None;
    }
    match value.trim_matches(marks) {
        v if v.eq_ignore_ascii_case("true") => Claim::Done,
        v if v.eq_ignore_ascii_case("false") => Claim::NotDone,
        _ => Claim::None,
    }
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
            assert_eq!(read(text), want, "{text:?}");
        }
    }
}
