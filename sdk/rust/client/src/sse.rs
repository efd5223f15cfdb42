//! Server-sent events, as the HTML standard reads them, out of bytes however they are cut. What is
//! kept of an event that isn't whole is bounded.

use std::time::Duration;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// An event that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The last `id` that was said, in this event or before it.
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) data: String,
}

/// An event is longer than it may be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

pub(crate) struct Parser {
    limit: usize,
    /// Of the line that isn't whole.
    line: Vec<u8>,
    /// The line is a comment: it isn't kept, whatever its length.
    comment: bool,
    /// The last byte was a CR, so that an LF behind it belongs to it.
    cr: bool,
    first: bool,
    id: String,
    event: String,
    data: Option<String>,
    /// How long the service wants to be left alone after a broken connection.
    pub(crate) retry: Option<Duration>,
}

impl Parser {
    /// Of events up to this many bytes.
    pub(crate) fn new(limit: usize) -> Parser {
        Parser {
            limit,
            line: Vec::new(),
            comment: false,
            cr: false,
            first: true,
            id: String::new(),
            event: String::new(),
            data: None,
            retry: None,
        }
    }

    /// Reads to the end of the next event, or of the bytes; says how many it has read.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<Frame>), TooLong> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if std::mem::take(&mut self.cr) && rest[0] == b'\n' {
                at += 1;
                continue;
            }
            let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
            self.keep(&rest[..end.unwrap_or(rest.len())])?;
            let Some(end) = end else {
                return Ok((bytes.len(), None));
            };
            self.cr = rest[end] == b'\r';
            at += end + 1;
            if let Some(frame) = self.line()? {
                return Ok((at, Some(frame)));
            }
        }
        Ok((at, None))
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), TooLong> {
        if self.line.is_empty() && part.first() == Some(&b':') {
            self.comment = true;
        }
        if self.comment {
            return Ok(());
        }
        let had = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if had + part.len() > self.limit {
            return Err(TooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// The line is whole.
    fn line(&mut self) -> Result<Option<Frame>, TooLong> {
        let first = std::mem::take(&mut self.first);
        if std::mem::take(&mut self.comment) {
            return Ok(None);
        }
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(BOM).filter(|_| first).unwrap_or(&line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(self.data.take().map(|data| Frame {
                id: self.id.clone(),
                event: if event.is_empty() {
                    "message".to_owned()
                } else {
                    event
                },
                data,
            }));
        }
        let colon = line.iter().position(|b| *b == b':');
        let (name, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match name {
            b"data" => match &mut self.data {
                None => self.data = Some(value.into_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                    // Of empty lines only these are left.
                    if data.len() > self.limit {
                        return Err(TooLong);
                    }
                }
            },
            b"event" => self.event = value.into_owned(),
            b"id" if !value.contains('\0') => self.id = value.into_owned(),
            b"retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn frame(id: &str, event: &str, data: &str) -> Frame {
        let [id, event, data] = [id, event, data].map(str::to_owned);
        Frame { id, event, data }
    }

    fn push(parser: &mut Parser, mut bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            let (used, frame) = parser.feed(bytes)?;
            assert!(used > 0);
            bytes = &bytes[used..];
            frames.extend(frame);
        }
        Ok(())
    }

    fn read(pieces: &[&[u8]]) -> Vec<Frame> {
        let (mut parser, mut frames) = (Parser::new(1000), Vec::new());
        for piece in pieces {
            push(&mut parser, piece, &mut frames).unwrap();
        }
        frames
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let text = "\u{feff}: c\nid: 1\nevent: a\ndata: x\u{e9}\u{2028}\ndata:  y\n\rdata: z\r\n\r\nid\ndata\n\nevent: dropped\n\nid: 7\ndata:1\r\rid: x\0\nretry: 7\n:data: no\ndatum: no\ndata:2\n\n";
        let want = [
            frame("1", "a", "x\u{e9}\u{2028}\n y"),
            frame("1", "message", "z"),
            frame("", "message", ""),
            frame("7", "message", "1"),
            frame("7", "message", "2"),
        ];
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            assert_eq!(read(&[&bytes[..cut], &bytes[cut..]]), want, "{cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), want);
    }

    #[test]
    fn an_event_is_given_as_soon_as_its_last_line_ends() {
        for end in ["\n\n", "\r\r", "\r\n\r"] {
            let text = format!("data: x{end}");
            assert_eq!(read(&[text.as_bytes()]), [frame("", "message", "x")]);
        }
        assert_eq!(read(&[b"id: 1\ndata: x\n"]), [], "it isn't whole");
    }

    #[test]
    fn only_the_first_bytes_are_a_byte_order_mark() {
        let frames = read(&["\u{feff}data: x\n\u{feff}data: y\n\n".as_bytes()]);
        assert_eq!(frames, [frame("", "message", "x")]);
        let frames = read(&["\u{feff}\u{feff}data: x\n\n".as_bytes()]);
        assert_eq!(frames, []);
    }

    #[test]
    fn what_is_no_utf8_is_replaced() {
        assert_eq!(
            read(&[b"data: \xff!\n\n"]),
            [frame("", "message", "\u{fffd}!")]
        );
    }

    #[test]
    fn the_wait_that_the_service_wants_is_read() {
        let mut parser = Parser::new(100);
        let mut frames = Vec::new();
        for (text, wanted) in [
            ("retry: 1000\n", 1000),
            ("retry: x\nretry:\nretry: -1\nretry 5\n", 1000),
            ("retry:7\n", 7),
        ] {
            push(&mut parser, text.as_bytes(), &mut frames).unwrap();
            let wanted = Duration::from_millis(wanted);
            assert_eq!(parser.retry, Some(wanted), "{text}");
        }
    }

    /// Five gigabytes in pieces: what is kept may not grow with them.
    fn endless(start: &str, piece: &[u8]) -> (Result<(), TooLong>, usize) {
        let mut parser = Parser::new(64 * 1024);
        let mut frames = Vec::new();
        push(&mut parser, start.as_bytes(), &mut frames).unwrap();
        let mut kept = 0;
        for _ in 0..(5 << 30) / piece.len() {
            let done = push(&mut parser, piece, &mut frames);
            let data = parser.data.as_ref().map_or(0, String::capacity);
            kept = kept.max(parser.line.capacity() + data + parser.event.capacity());
            if done.is_err() {
                return (done, kept);
            }
        }
        (Ok(()), kept)
    }

    #[test]
    fn a_line_that_never_ends_isn_t_collected() {
        let piece = vec![b'x'; 1 << 20];
        for start in ["data: ", "event: ", "id: ", "nothing", "data: x\ndata: "] {
            let (done, kept) = endless(start, &piece);
            assert_eq!(done, Err(TooLong), "{start}");
            assert!(kept <= 256 * 1024, "{start}: {kept}");
        }
        let lines = b"data: and one more\n".repeat(1000);
        let (done, kept) = endless("", &lines);
        assert_eq!(done, Err(TooLong));
        assert!(kept <= 256 * 1024, "{kept}");
        let (done, kept) = endless("", &b"data\n".repeat(1000));
        assert_eq!(done, Err(TooLong));
        assert!(kept <= 256 * 1024, "{kept}");
    }

    #[test]
    fn a_comment_of_any_length_is_passed_over() {
        let mut parser = Parser::new(1000);
        let mut frames = Vec::new();
        push(&mut parser, b"data: x\n: ", &mut frames).unwrap();
        for _ in 0..1000 {
            push(&mut parser, &[b'x'; 4096], &mut frames).unwrap();
        }
        push(&mut parser, b"\n\n", &mut frames).unwrap();
        assert_eq!(frames, [frame("", "message", "x")]);
        assert!(parser.line.capacity() <= 1000);
    }
}
