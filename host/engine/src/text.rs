//! Text that comes from outside, made fit for people and prompts.

/// Takes terminal control sequences and other control characters off; keeps LF and TAB.
/// CSI, OSC, DCS, APC, PM, SOS and two-byte escapes, 7-bit and 8-bit, also when cut at the end.
pub fn strip_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => skip_csi(&mut chars),
                Some(']' | 'P' | '_' | '^' | 'X') => skip_string(&mut chars),
                Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            '\u{9d}' | '\u{90}' | '\u{9f}' | '\u{9e}' | '\u{98}' => skip_string(&mut chars),
            '\n' | '\t' => out.push(c),
            // Unicode tags carry text nobody sees.
            '\u{e0000}'..='\u{e007f}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Is this a character that nobody sees, or that changes what others look like: control characters,
/// those of format and direction, separators of lines, tags?
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A name or a path as it can be shown: hidden characters as `\u{…}`.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_csi(chars: &mut Chars<'_>) {
    while let Some(&c) = chars.peek() {
        match c {
            '\u{20}'..='\u{7e}' => {
                chars.next();
                if c >= '\u{40}' {
                    return;
                }
            }
            _ => return,
        }
    }
}

fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                if chars.peek() == Some(&'\\') {
                    chars.next();
                }
                return;
            }
            // An unterminated sequence must not swallow what follows its line.
            '\n' => return,
            _ => {}
        }
    }
}

/// The first `max` bytes at most, never cut inside a character; a mark says how much is missing.
pub fn head(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let cut = floor(text, max);
    format!("{}… [{} more bytes]", &text[..cut], text.len() - cut)
}

/// The last `max` bytes at most, never cut inside a character; a mark says how much is missing.
pub fn tail(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut cut = text.len() - max;
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    format!("[{cut} bytes before] …{}", &text[cut..])
}

/// Lines that follow each other and are the same stand there once, with their number.
pub fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut same = 1_u64;
        while lines.next_if_eq(&line).is_some() {
            same += 1;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(line);
        if same > 1 && !line.trim().is_empty() {
            out.push_str(&format!(" ({same} times)"));
        }
    }
    out
}

/// One line without control characters, at most `max` bytes.
pub fn one_line(text: &str, max: usize) -> String {
    let clean = strip_escapes(text);
    head(&clean.split_whitespace().collect::<Vec<_>>().join(" "), max)
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_shown() {
        assert_eq!(shown("b\u{e4}r \u{4e2d}.md"), "b\u{e4}r \u{4e2d}.md");
        for c in [
            '\u{1b}',
            '\n',
            '\u{9b}',
            '\u{202e}',
            '\u{2028}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            let said = shown(&format!("a{c}b"));
            assert_eq!(said, format!("a\\u{{{:x}}}b", u32::from(c)));
        }
    }

    #[test]
    fn repeated_lines_are_told_once_with_their_number() {
        assert_eq!(collapse("a\nb\nb\nb\na\n\n\nc"), "a\nb (3 times)\na\n\nc");
        assert_eq!(collapse(""), "");
    }

    #[test]
    fn no_control_sequence_survives() {
        for (raw, want) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("a\u{1b}[2Jb\u{9b}1mc", "abc"),
            ("end\u{1b}", "end"),
            ("a\u{e0041}b\u{0}c\rd", "abcd"),
            ("\u{1b}]unterminated\nnext", "next"),
        ] {
            assert_eq!(strip_escapes(raw), want, "{raw:?}");
        }
    }

    #[test]
    fn cuts_never_fall_inside_a_character() {
        let text = "日本語🎉e\u{301}";
        for max in 0..=text.len() + 1 {
            assert!(
                head(text, max)
                    .starts_with(text.chars().take(max / 4).collect::<String>().as_str())
            );
            let _ = tail(text, max);
            let _ = one_line(text, max);
        }
    }
}
