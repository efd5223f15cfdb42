//! Text as terminals and agents produce it, made fit to show and to keep.

use std::borrow::Cow;

/// Decodes UTF-8. What isn't UTF-8 becomes `U+FFFD`, except single bytes of the
/// 8-bit control range: they become that control character, so that [`plain`]
/// recognises an 8-bit escape sequence.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        match chunk.invalid() {
            [] => {}
            [byte @ 0x80..=0x9f] => text.push(char::from(*byte)),
            _ => text.push(char::REPLACEMENT_CHARACTER),
        }
    }
    text.into()
}

/// Removes escape sequences and every control character but line feed and tab.
/// Of a line that was drawn over with carriage returns the last state stays.
pub fn plain(text: &str) -> String {
    if seems_plain(text) {
        return text.to_owned();
    }
    strip(text)
}

/// Makes a text fit to show in place: [`plain`], and [`clip`]ped to `max` bytes.
pub(crate) fn fit(text: &mut String, max: usize) {
    if !seems_plain(text) {
        *text = strip(text);
    }
    if text.len() > max {
        *text = clip(text, max);
    }
}

/// Most text is; 0xc2 begins the 8-bit controls (and some other characters).
fn seems_plain(text: &str) -> bool {
    const TELLING: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = matches!(byte, 0..=8 | 11..=31 | 0x7f | 0xc2);
            byte += 1;
        }
        table
    };
    !text.bytes().any(|b| TELLING[usize::from(b)])
}

fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut line_start = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => skip_csi(&mut chars),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                // ESC, intermediate characters, one final character.
                Some(' '..='/') => while matches!(chars.next(), Some(' '..='/')) {},
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\r' => {
                while chars.next_if_eq(&'\r').is_some() {}
                match chars.peek() {
                    Some('\n') | None => {}
                    Some(_) => out.truncate(line_start),
                }
            }
            '\n' => {
                out.push(c);
                line_start = out.len();
            }
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_csi(chars: &mut Chars) {
    // A sequence that was broken off must not swallow the next line.
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        if ('@'..='~').contains(&c) {
            return;
        }
    }
}

fn skip_string(chars: &mut Chars) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// At most `max` bytes of `text`: the beginning, and a mark that says how much is missing.
pub fn clip(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(max);
    format!("{}… [{} bytes left out]", &text[..kept], text.len() - kept)
}

/// The last `count` lines that aren't blank, plain, each at most 400 bytes.
pub fn last_lines(bytes: &[u8], count: usize) -> String {
    let text = plain(&decode(bytes));
    let mut lines: Vec<String> = text
        .lines()
        .rev()
        .filter(|l| !l.trim().is_empty())
        .take(count)
        .map(|l| clip(l.trim_end(), 400))
        .collect();
    lines.reverse();
    lines.join("\n")
}

/// Keeps the last so many bytes of a text that keeps coming.
#[derive(Debug)]
pub struct Tail {
    text: String,
    max: usize,
    cut: bool,
}

impl Tail {
    /// Keeps at most `max` bytes (for a moment twice as much).
    pub fn new(max: usize) -> Self {
        Tail {
            text: String::new(),
            max,
            cut: false,
        }
    }

    /// Adds to the end.
    pub fn push(&mut self, more: &str) {
        self.text.push_str(more);
        if self.text.len() > self.max.saturating_mul(2) {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        if self.text.len() > self.max {
            let from = self.text.ceil_char_boundary(self.text.len() - self.max);
            self.text.drain(..from);
            self.cut = true;
        }
    }

    /// True if nothing was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What is left; starts at the beginning of a line if that is possible.
    pub fn into_text(mut self) -> String {
        self.shorten();
        if self.cut
            && let Some(lf) = self.text.find('\n')
        {
            self.text.drain(..=lf);
        }
        self.text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_go_and_the_text_stays() {
        for (input, expected) in [
            (&b"T\x1b[31mO\x1b[0mK\x1b[1;4mEN"[..], "TOKEN"),
            (b"\x1b]0;a title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b[2J\x1b[Hhome", "home"),
            (b"end\x1b", "end"),
            (b"8-bit \x9b31mCSI", "8-bit CSI"),
            (b"\x1b(Bcharset", "charset"),
            (b"broken \x1b[31\nnext", "broken \nnext"),
            (b"broken \x1b]0;title\nnext", "broken \nnext"),
            (b"bell\x07 nul\0 tab\t", "bell nul tab\t"),
            (b"10%\r50%\r100%\r\nnext", "100%\nnext"),
            (b"a\r\r\nb\r", "a\nb"),
            ("CJK 漢字 e\u{301}".as_bytes(), "CJK 漢字 e\u{301}"),
            (b"bad \xff\xfe", "bad \u{fffd}\u{fffd}"),
        ] {
            assert_eq!(plain(&decode(input)), expected, "{input:?}");
        }
    }

    #[test]
    fn a_cut_inside_a_character_never_panics() {
        let text = "a漢🦀e\u{301}ß".repeat(50);
        for max in 0..text.len() + 2 {
            clip(&text, max);
            let mut tail = Tail::new(max);
            for piece in text.split_inclusive('ß') {
                tail.push(piece);
            }
            assert!(tail.into_text().len() <= max);
        }
    }

    #[test]
    fn the_tail_keeps_the_end_and_starts_with_a_whole_line() {
        let mut tail = Tail::new(20);
        for n in 0..1000 {
            tail.push(&format!("line {n}\n"));
            assert!(tail.text.len() <= 40 + 9);
        }
        assert_eq!(tail.into_text(), "line 998\nline 999\n");
    }

    #[test]
    fn last_lines_skips_blank_ones() {
        assert_eq!(last_lines(b"a\n\nb\n \nc\n\n", 2), "b\nc");
        assert_eq!(last_lines(b"", 2), "");
    }
}
