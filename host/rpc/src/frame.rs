//! Lines of JSON in a stream of bytes.
//!
//! A frame ends at LF, with an optional CR before it; nothing else ends one.
//! Blank frames are skipped. The last one may lack its LF.

/// A frame may have this many bytes.
pub const FRAME_MAX: usize = 1 << 20;
/// Arrays and objects may be nested this deep.
pub const DEPTH_MAX: usize = 64;

/// The frame is longer than the limit; what follows it can't be found any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame is longer than {0} bytes")]
pub struct TooLong(pub usize);

/// What some platforms begin a stream of text with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// A buffer that is bigger is given back when it is empty.
const KEPT: usize = 64 * 1024;

/// Cuts bytes into frames. Holds no more than one frame and the last piece.
#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    /// What stands before this place was given out.
    start: usize,
    /// No LF between `start` and this place.
    looked: usize,
    /// The stream's first bytes were looked at.
    begun: bool,
    max: usize,
}

impl Frames {
    /// With this limit for one frame.
    pub fn new(max: usize) -> Frames {
        Frames {
            buffer: Vec::new(),
            start: 0,
            looked: 0,
            begun: false,
            max,
        }
    }

    /// Takes a piece in. Call [`Frames::next`] until it has nothing more before the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.looked -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(piece);
    }

    /// The next frame that is whole and not blank.
    ///
    /// # Errors
    /// [`TooLong`]; nothing more can be read from this stream then.
    #[allow(
        clippy::should_implement_trait,
        reason = "after `None` there may be more"
    )]
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        self.begin();
        loop {
            let end = self.buffer[self.looked..].iter().position(|b| *b == b'\n');
            let Some(end) = end.map(|at| self.looked + at) else {
                self.looked = self.buffer.len();
                let rest = &self.buffer[self.start..];
                let (long, nothing) = (self.too_long(rest), rest.is_empty());
                if long || nothing && self.buffer.capacity() > KEPT {
                    self.empty();
                }
                if long {
                    return Err(TooLong(self.max));
                }
                return Ok(None);
            };
            let frame = self.cut(&self.buffer[self.start..end])?;
            self.begun = true;
            self.start = end + 1;
            self.looked = self.start;
            if frame.is_some() {
                return Ok(frame);
            }
        }
    }

    /// What stands behind the last LF at the stream's end.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn last(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        self.begin();
        let frame = self.cut(&self.buffer[self.start..]);
        self.empty();
        frame
    }

    fn empty(&mut self) {
        self.buffer = Vec::new();
        self.start = 0;
        self.looked = 0;
    }

    /// Passes over a byte order mark at the stream's start.
    fn begin(&mut self) {
        if !self.begun && self.buffer.len() >= BYTE_ORDER_MARK.len() {
            self.begun = true;
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.start = BYTE_ORDER_MARK.len();
                self.looked = self.start;
            }
        }
    }

    /// A CR before the LF isn't the frame's, also when the LF hasn't come yet.
    fn too_long(&self, line: &[u8]) -> bool {
        line.strip_suffix(b"\r").unwrap_or(line).len() > self.max
    }

    fn cut(&self, line: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        if self.too_long(line) {
            return Err(TooLong(self.max));
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let blank = line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'));
        Ok((!blank).then(|| line.to_vec()))
    }
}

/// Is JSON text nested deeper than [`DEPTH_MAX`]? Looks at bytes only; the text need not be JSON.
pub fn too_deep(text: &[u8]) -> bool {
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    for byte in text {
        match (inside, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => inside = !inside,
            (false, b'[' | b'{') => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return true;
                }
            }
            (false, b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    fn all(pieces: &[&[u8]], max: usize) -> Result<Vec<String>, TooLong> {
        let mut frames = Frames::new(max);
        let mut out = Vec::new();
        for piece in pieces {
            frames.push(piece);
            while let Some(frame) = frames.next()? {
                out.push(String::from_utf8_lossy(&frame).into_owned());
            }
        }
        out.extend(
            frames
                .last()?
                .map(|f| String::from_utf8_lossy(&f).into_owned()),
        );
        Ok(out)
    }

    #[test]
    fn only_a_line_feed_ends_a_frame() {
        let text = "a\u{2028}b\u{85}c\u{b}d\u{c}e\r\n\n  \r\n\rf\nlast".as_bytes();
        let want = ["a\u{2028}b\u{85}c\u{b}d\u{c}e", "\rf", "last"];
        assert_eq!(all(&[text], 100).unwrap(), want);
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(all(&bytes, 100).unwrap(), want);
    }

    #[test]
    fn a_frame_of_the_limit_passes_and_one_byte_more_does_not_and_is_not_kept() {
        assert_eq!(all(&[&[b'x'; 10], b"\r\n"], 10).unwrap().len(), 1);
        assert_eq!(all(&[&[b'x'; 11], b"\n"], 10), Err(TooLong(10)));
        let mut frames = Frames::new(10);
        frames.push(&[b'x'; 4096]);
        assert_eq!(frames.next(), Err(TooLong(10)));
        assert!(frames.buffer.capacity() < 4096);
    }

    #[test]
    fn a_carriage_return_that_comes_alone_counts_for_nothing() {
        let full = [&[b'x'; 10][..], b"\r"].concat();
        assert_eq!(all(&[&full, b"\n"], 10).unwrap().len(), 1);
        assert_eq!(all(&[&full], 10).unwrap().len(), 1);
        assert_eq!(all(&[&full, b"\r\n"], 10), Err(TooLong(10)));
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_start_only() {
        let text = "\u{feff}a\n\u{feff}b\n".as_bytes();
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(all(&[text], 5).unwrap(), ["a", "\u{feff}b"]);
        assert_eq!(all(&bytes, 5).unwrap(), ["a", "\u{feff}b"]);
        assert_eq!(all(&["\n\u{feff}".as_bytes()], 5).unwrap(), ["\u{feff}"]);
        assert!(all(&["\u{feff}".as_bytes()], 5).unwrap().is_empty());
    }

    /// Each blank line once moved all that stands behind it.
    #[test]
    fn blank_lines_are_passed_over_where_they_are() {
        let mut frames = Frames::new(10);
        frames.push(&vec![b'\n'; 1 << 20]);
        frames.push(b"x\n");
        assert_eq!(frames.next(), Ok(Some(b"x".to_vec())));
        assert_eq!(frames.next(), Ok(None));
        assert_eq!(frames.buffer.capacity(), 0, "given back");
    }

    #[test]
    fn nesting_is_counted_outside_of_strings_only() {
        let deep = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
        assert!(!too_deep(&deep(DEPTH_MAX)));
        assert!(too_deep(&deep(DEPTH_MAX + 1)));
        assert!(!too_deep(format!("\"\\\"{}\"", "[".repeat(500)).as_bytes()));
        assert!(!too_deep("[]".repeat(500).as_bytes()));
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_the_bytes_come(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            size in 1_usize..17,
            max in prop_oneof![Just(300_usize), 1_usize..40],
            mark in any::<bool>(),
        ) {
            let text = [if mark { BYTE_ORDER_MARK } else { b"" }, &text].concat();
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            prop_assert_eq!(all(&pieces, max), all(&[&text], max));
        }
    }
}
