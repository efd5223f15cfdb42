//! What a program that works on a terminal says, as lines of text: a terminal
//! emulator draws its bytes, and what stands there is read off.
//!
//! A line is told once the cursor has gone below it, and again if it is another
//! one by the time it leaves the screen: a bar that is drawn over and over is
//! told twice, not a thousand times. What was drawn on the alternate screen is
//! told when that is left. The same pieces give the same lines, so a replay can
//! read them again.

use std::num::NonZeroU16;

use ralph_process::WindowSize;
use vt100::Parser;

/// Of the drawn bytes this many are looked at together.
const SLICE: usize = 1024;

/// A screen of a fixed size.
pub struct Screen {
    parser: Parser,
    /// What was told of each line of the screen, from its top.
    told: Vec<Option<String>>,
    /// The next line to tell.
    next: usize,
    /// What stood on the alternate screen.
    drawn: Option<String>,
}

impl Screen {
    /// An empty one.
    pub fn new(size: WindowSize) -> Screen {
        let at_least_one = |n| NonZeroU16::new(n).unwrap_or(NonZeroU16::MIN);
        let (rows, columns) = (at_least_one(size.rows), at_least_one(size.columns));
        Screen {
            // No slice can scroll by more than it has bytes, wrapped lines included.
            parser: Parser::new(rows, columns, SLICE),
            told: vec![None; usize::from(rows.get())],
            next: 0,
            drawn: None,
        }
    }

    /// Draws a piece; the lines that are new, each with its end.
    pub fn draw(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = String::new();
        for slice in piece.chunks(SLICE).flat_map(before_modes) {
            self.parser.process(slice);
            if self.parser.screen().alternate_screen() {
                self.drawn = Some(self.parser.screen().contents());
                continue;
            }
            if let Some(drawn) = self.drawn.take() {
                tell(&mut out, &drawn);
            }
            self.scrolled(&mut out);
            let (row, _) = self.parser.screen().cursor_position();
            while self.next < usize::from(row) {
                self.line(self.next, &mut out);
                self.next += 1;
            }
        }
        out.into_bytes()
    }

    /// What is left on the screen.
    pub fn end(&mut self) -> Vec<u8> {
        let mut out = String::new();
        if let Some(drawn) = self.drawn.take() {
            tell(&mut out, &drawn);
        } else {
            let lines = self.told.len();
            let empty = |row: &usize| self.row(*row).0.is_empty();
            let last = (0..lines).rev().find(|row| !empty(row));
            for row in 0..last.map_or(0, |last| last + 1) {
                self.line(row, &mut out);
            }
        }
        out.into_bytes()
    }

    /// Tells what went off at the top.
    fn scrolled(&mut self, out: &mut String) {
        let count = self.parser.screen().scrollback_len();
        for nth in 0..count {
            self.parser.screen_mut().set_scrollback(count - nth);
            let (text, wrapped) = self.row(0);
            let told = self.told.remove(0);
            self.told.push(None);
            if told.as_deref() != Some(text.as_str()) {
                put(out, &text, wrapped);
            }
        }
        self.parser.screen_mut().set_scrollback(0);
        self.parser.screen_mut().clear_scrollback();
        self.next = self.next.saturating_sub(count);
    }

    fn line(&mut self, row: usize, out: &mut String) {
        let (text, wrapped) = self.row(row);
        if self.told[row].as_ref() != Some(&text) {
            put(out, &text, wrapped);
            self.told[row] = Some(text);
        }
    }

    /// A line's text, and does it go on in the next one?
    fn row(&self, row: usize) -> (String, bool) {
        let screen = self.parser.screen();
        let (_, columns) = screen.size();
        let nth = u16::try_from(row).unwrap_or(u16::MAX);
        let text = screen.rows(0, columns.get()).nth(row).unwrap_or_default();
        (text, screen.row_wrapped(nth))
    }
}

/// Cut before each change of a mode: what stood on the screen is told before
/// another screen takes its place.
fn before_modes(slice: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = slice;
    std::iter::from_fn(move || {
        let later = rest.get(1..).filter(|later| !later.is_empty());
        let mode = later.and_then(|later| later.windows(3).position(|w| w == b"\x1b[?"));
        let (first, behind) = rest.split_at(mode.map_or(rest.len(), |at| at + 1));
        rest = behind;
        Some(first).filter(|first| !first.is_empty())
    })
}

fn put(out: &mut String, text: &str, wrapped: bool) {
    out.push_str(text);
    if !wrapped {
        out.push('\n');
    }
}

fn tell(out: &mut String, drawn: &str) {
    for line in drawn.lines().filter(|line| !line.trim().is_empty()) {
        put(out, line.trim_end(), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(size: (u16, u16), pieces: &[&[u8]]) -> String {
        let mut screen = Screen::new(WindowSize {
            rows: size.0,
            columns: size.1,
        });
        let mut all = Vec::new();
        for piece in pieces {
            all.extend(screen.draw(piece));
        }
        all.extend(screen.end());
        String::from_utf8_lossy(&all).into_owned()
    }

    #[test]
    fn plain_lines_come_once_and_whole_however_long_and_many() {
        let long = "x".repeat(45);
        let text: String = (0..5000).map(|n| format!("{n} {long}\r\n")).collect();
        let want = text.replace('\r', "");
        assert_eq!(told((5, 20), &[text.as_bytes()]), want);
        let pieces: Vec<_> = text.as_bytes().chunks(7).collect();
        assert_eq!(told((5, 20), &pieces), want);
    }

    #[test]
    fn a_bar_that_is_drawn_over_and_over_is_told_by_its_last_state() {
        let bar: String = (0..100).map(|n| format!("\r{n}%")).collect();
        assert_eq!(told((5, 20), &[bar.as_bytes(), b"\r\ndone"]), "99%\ndone\n");
    }

    #[test]
    fn what_is_drawn_with_the_cursor_is_read_off_and_colours_and_titles_are_gone() {
        let drawn = b"\x1b]0;title\x07\x1b[2J\x1b[3;5Hthird\x1b[1;1H\x1b[31mfirst\x1b[0m\x1b[5;1H";
        assert_eq!(told((5, 20), &[drawn]), "first\n\n    third\n\n");
    }

    #[test]
    fn what_stood_on_the_alternate_screen_is_told_when_it_is_left() {
        let pieces: [&[u8]; 3] = [
            b"before\r\n\x1b[?1049h\x1b[H",
            b"a claim\r\n",
            b"\x1b[?1049lafter\r\n",
        ];
        assert_eq!(told((5, 20), &pieces), "before\na claim\nafter\n");
        assert_eq!(told((5, 20), &pieces[..2]), "before\na claim\n");
    }

    #[test]
    fn characters_cut_between_pieces_and_bytes_that_are_none_do_no_harm() {
        let text = "日本語 é\r\n".as_bytes();
        for at in 0..text.len() {
            assert_eq!(told((3, 20), &[&text[..at], &text[at..]]), "日本語 é\n");
        }
        assert!(told((3, 20), &[b"\xff\xfe x\r\n"]).contains('x'));
    }
}
