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

/// Cuts bytes into frames. Holds no more than one frame and the last piece.
#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    /// No LF before this place.
    looked: usize,
    max: usize,
}

impl Frames {
    /// With this limit for one frame.
    pub fn new(max: usize) -> Frames {
        Frames {
            buffer: Vec::new(),
            looked: 0,
            max,
        }
    }

    /// Takes a piece in. Call [`Frames::next`] until it has nothing more before the next piece.
    pub fn push(&mut self, piece: &[u8]) {
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
        loop {
            let end = self.buffer[self.looked..].iter().position(|b| *b == b'\n');
            let Some(end) = end.map(|at| self.looked + at) else {
                self.looked = self.buffer.len();
                if self.buffer.len() > self.max {
                    self.buffer = Vec::new();
                    self.looked = 0;
                    return Err(TooLong(self.max));
                }
                return Ok(None);
            };
            let rest = self.buffer.split_off(end + 1);
            let line = std::mem::replace(&mut self.buffer, rest);
            self.looked = 0;
            if let Some(frame) = self.cut(line)? {
                return Ok(Some(frame));
            }
        }
    }

    /// What stands behind the last LF at the stream's end.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn last(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let line = std::mem::take(&mut self.buffer);
        self.looked = 0;
        self.cut(line)
    }

    fn cut(&self, mut line: Vec<u8>) -> Result<Option<Vec<u8>>, TooLong> {
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.len() > self.max {
            return Err(TooLong(self.max));
        }
        let blank = line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'));
        Ok((!blank).then_some(line))
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
        ) {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            prop_assert_eq!(all(&pieces, 300), all(&[&text], 300));
        }
    }
}
