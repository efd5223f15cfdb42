//! Which part of a program's output is worth showing to an agent and to people.

use ralph_plugin::text;

/// So many lines are shown.
pub const MAX_LINES: usize = 60;

/// So many bytes are shown, marks included.
pub const MAX_BYTES: usize = 4000;

/// What the marks may take of [`MAX_BYTES`].
const MARKS: usize = 160;

const NOTHING: &str = "(it printed nothing)";

/// The end of what was printed, standard output before standard error: without
/// escape sequences and control characters, U+FFFD for what isn't UTF-8, lines
/// that repeat one another once with their count, at most [`MAX_LINES`] lines and
/// [`MAX_BYTES`] bytes. Neither stream can push the other out: each has half of
/// the room, and what it doesn't need goes to the other. `truncated`: the
/// beginning is missing already.
pub fn useful(stdout: &[u8], stderr: &[u8], truncated: bool) -> String {
    let (out, err) = (lines(stdout), lines(stderr));
    let max_bytes = MAX_BYTES - MARKS;
    let err_kept = fitting(
        &err,
        MAX_LINES - out.len().min(MAX_LINES / 2),
        max_bytes - size(&out).min(max_bytes / 2),
    );
    let out_kept = fitting(
        &out,
        MAX_LINES - err_kept.len(),
        max_bytes - size(&err_kept),
    );
    let cut = truncated
        || out_kept.concat().len() < out.concat().len()
        || err_kept.concat().len() < err.concat().len();
    let mut shown = Vec::new();
    if cut {
        shown.push("… (the beginning is left out)".to_owned());
    }
    let both = !out_kept.is_empty() && !err_kept.is_empty();
    shown.extend(out_kept);
    if both {
        shown.push("(standard error:)".to_owned());
    }
    shown.extend(err_kept);
    if shown.is_empty() {
        NOTHING.to_owned()
    } else {
        shown.join("\n")
    }
}

/// Plain lines, repetitions joined, without blank lines at either end.
fn lines(bytes: &[u8]) -> Vec<String> {
    let plain = text::plain(&text::decode(bytes));
    let mut joined: Vec<(&str, usize)> = Vec::new();
    for line in plain.lines().map(str::trim_end) {
        match joined.last_mut() {
            Some((last, times)) if *last == line => *times += 1,
            None if line.is_empty() => {}
            _ => joined.push((line, 1)),
        }
    }
    joined.pop_if(|(last, _)| last.is_empty());
    let show = |(line, times): (&str, usize)| {
        if times == 1 || line.is_empty() {
            line.to_owned()
        } else {
            format!("{line} ({times} times)")
        }
    };
    joined.into_iter().map(show).collect()
}

/// Bytes with line feeds.
fn size(lines: &[String]) -> usize {
    lines.iter().map(|line| line.len() + 1).sum()
}

/// The last lines that fit; of one that fits in part, its end.
fn fitting(lines: &[String], max_lines: usize, max_bytes: usize) -> Vec<String> {
    let mut room = max_bytes;
    let mut kept = Vec::new();
    for line in lines.iter().rev().take(max_lines) {
        if line.len() + 1 > room {
            let part = &line
                [line.ceil_char_boundary((line.len() + 1).saturating_sub(room).min(line.len()))..];
            if !part.is_empty() {
                kept.push(part.to_owned());
            }
            break;
        }
        room -= line.len() + 1;
        kept.push(line.clone());
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(stdout: &str) -> String {
        useful(stdout.as_bytes(), b"", false)
    }

    #[test]
    fn escape_sequences_and_bad_bytes_do_not_come_through() {
        assert_eq!(
            useful(
                b"\x1b[31merror\x1b[0m: \xff\x00!\r\n\x1b]0;title\x07next\n",
                b"",
                false
            ),
            "error: \u{fffd}!\nnext"
        );
    }

    #[test]
    fn repeated_lines_are_shown_once_with_their_count() {
        assert_eq!(
            out("a\na\na\nb\na\n\n\n\nc\nc \n"),
            "a (3 times)\nb\na\n\nc (2 times)"
        );
    }

    #[test]
    fn blank_lines_at_the_ends_go_and_no_output_is_said() {
        assert_eq!(out("\n\n a\n\n"), " a");
        assert_eq!(out(" \n\n"), NOTHING);
        assert_eq!(useful(b"", b"", false), NOTHING);
    }

    #[test]
    fn both_streams_are_shown_output_first() {
        assert_eq!(
            useful(b"1 failed\n", b"warning\n", false),
            "1 failed\n(standard error:)\nwarning"
        );
        assert_eq!(useful(b"", b"warning\n", false), "warning");
    }

    #[test]
    fn a_chatty_stream_does_not_push_the_other_out() {
        let many: String = (0..5000).map(|i| format!("warning {i}\n")).collect();
        for shown in [
            useful(b"1 failed\n", many.as_bytes(), false),
            useful(many.as_bytes(), b"1 failed\n", false),
        ] {
            assert!(
                shown.contains("1 failed") && shown.contains("warning 4999"),
                "{shown}"
            );
            assert!(shown.lines().count() <= MAX_LINES + 2 && shown.len() <= MAX_BYTES);
        }
        let both = useful(many.as_bytes(), many.as_bytes(), false);
        assert_eq!(both.matches("warning 4971").count(), 2);
        assert!(both.len() <= MAX_BYTES);
    }

    #[test]
    fn the_end_is_kept_and_the_cut_is_marked() {
        let many: String = (0..100).map(|i| format!("{i}\n")).collect();
        let shown = out(&many);
        assert!(
            shown.starts_with("… (the beginning is left out)\n40\n") && shown.ends_with("\n99"),
            "{shown}"
        );
        assert!(useful(b"x", b"", true).starts_with("… (the beginning is left out)\nx"));
        assert!(!out("x").contains('…'));
    }

    #[test]
    fn the_cut_never_falls_inside_a_character() {
        for pad in 0..8 {
            let shown = out(&format!("{}{}", "x".repeat(pad), "語😀é".repeat(2000)));
            assert!(
                shown.len() <= MAX_BYTES && shown.len() > MAX_BYTES - MARKS - 8,
                "{}",
                shown.len()
            );
            assert!(shown.starts_with('…') && shown.ends_with('é'));
            assert!(!shown.contains('\u{fffd}'));
        }
    }
}
