//! Cuts a stream of bytes into lines, however the stream itself was cut.

use std::borrow::Cow;

use crate::text;

/// One line without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// Decoded with [`text::decode`], only once all bytes are there: a character
    /// may be cut by the stream. Of a line that was too long: its beginning.
    pub text: Cow<'a, str>,
    /// How many bytes were dropped because the line was too long.
    pub dropped: u64,
}

/// What a carriage return means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Returns {
    /// Part of the line, unless it stands right before the line feed.
    Kept,
    /// The line begins anew, as on a terminal.
    Overwrite,
}

/// A line splitter with bounded memory.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    max: usize,
    dropped: u64,
    returns: Returns,
    after_return: bool,
}

/// More than this of one line is dropped by [`Lines::default`]: 1 MiB.
pub const MAX_LINE: usize = 1024 * 1024;

impl Default for Lines {
    fn default() -> Self {
        Lines::new(MAX_LINE)
    }
}

impl Lines {
    /// Lines that end with LF or CR LF; at most `max` bytes of each are kept.
    pub fn new(max: usize) -> Self {
        Lines {
            buffer: Vec::new(),
            max,
            dropped: 0,
            returns: Returns::Kept,
            after_return: false,
        }
    }

    /// For text meant for a terminal: a carriage return in a line starts it
    /// anew, so that of a progress bar only its last state is left.
    pub fn overwriting(max: usize) -> Self {
        Lines {
            returns: Returns::Overwrite,
            ..Lines::new(max)
        }
    }

    /// Takes the next piece and calls `each` for every line that is complete now.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = chunk;
        loop {
            let end = match self.returns {
                Returns::Kept => memchr::memchr(b'\n', rest),
                Returns::Overwrite => memchr::memchr2(b'\n', b'\r', rest),
            };
            let Some(end) = end else {
                self.append(rest);
                return;
            };
            self.append(&rest[..end]);
            if rest[end] == b'\n' {
                each(self.line());
                self.clear();
            } else {
                self.after_return = true;
            }
            rest = &rest[end + 1..];
        }
    }

    /// Calls `each` for what stands after the last line feed, if anything.
    pub fn finish(&mut self, each: impl FnOnce(Line<'_>)) {
        if !self.buffer.is_empty() || self.dropped > 0 {
            each(self.line());
            self.clear();
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if std::mem::take(&mut self.after_return) {
            self.buffer.clear();
            self.dropped = 0;
        }
        let kept = bytes.len().min(self.max - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..kept]);
        self.dropped += (bytes.len() - kept) as u64;
    }

    fn line(&self) -> Line<'_> {
        let bytes = match self.buffer.as_slice() {
            [head @ .., b'\r'] if self.dropped == 0 => head,
            all => all,
        };
        Line {
            text: text::decode(bytes),
            dropped: self.dropped,
        }
    }

    fn clear(&mut self) {
        self.dropped = 0;
        self.after_return = false;
        if self.buffer.capacity() > 64 * 1024 {
            self.buffer = Vec::new();
        } else {
            self.buffer.clear();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn owned(line: Line<'_>) -> (String, u64) {
        (line.text.into_owned(), line.dropped)
    }

    fn split(mut lines: Lines, pieces: &[&[u8]]) -> Vec<(String, u64)> {
        let mut out = Vec::new();
        for piece in pieces {
            lines.feed(piece, |l| out.push(owned(l)));
        }
        lines.finish(|l| out.push(owned(l)));
        out
    }

    #[test]
    fn lines_do_not_depend_on_where_the_stream_was_cut() {
        let input = "one\r\ntwo 漢🦀\n\nbar 1%\rbar 2%\r\nlonger than ten\nend".as_bytes();
        for make in [
            || Lines::new(10),
            || Lines::overwriting(10),
            || Lines::default(),
        ] {
            let whole = split(make(), &[input]);
            for at in 0..=input.len() {
                assert_eq!(
                    split(make(), &[&input[..at], &input[at..]]),
                    whole,
                    "cut at {at}"
                );
            }
            let bytes: Vec<&[u8]> = input.chunks(1).collect();
            assert_eq!(split(make(), &bytes), whole);
        }
    }

    #[test]
    fn a_progress_bar_leaves_its_last_state() {
        let bar: String = (0..200_000).map(|n| format!("{n}\r")).collect::<String>() + "\nnext\r\n";
        let texts: Vec<_> = split(Lines::overwriting(64), &[bar.as_bytes()])
            .into_iter()
            .map(|l| l.0)
            .collect();
        assert_eq!(texts, ["199999", "next"]);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        let mut lines = Lines::new(1000);
        let mut out = Vec::new();
        for _ in 0..10_000 {
            lines.feed(&[b'x'; 1000], |l| out.push(owned(l)));
            assert!(lines.buffer.capacity() <= 2000);
        }
        lines.feed(b"\nnext\n", |l| out.push(owned(l)));
        assert_eq!((out[0].0.len(), out[0].1), (1000, 9_999_000));
        assert_eq!(out[1], ("next".into(), 0));
    }
}
