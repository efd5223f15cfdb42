//! The last bytes of a stream of any length.

/// Keeps the last `cap` bytes of what is pushed, in at most twice that memory
/// plus one push.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    cap: usize,
    lost: bool,
}

impl Tail {
    pub(crate) fn new(cap: usize) -> Self {
        Tail {
            bytes: Vec::new(),
            cap,
            lost: false,
        }
    }

    pub(crate) fn push(&mut self, piece: &[u8]) {
        if piece.len() >= self.cap {
            self.lost |= !self.bytes.is_empty() || piece.len() > self.cap;
            self.bytes.clear();
            self.bytes
                .extend_from_slice(&piece[piece.len() - self.cap..]);
            return;
        }
        self.bytes.extend_from_slice(piece);
        // Moving the rest down once per `cap` bytes makes a push cost its own length.
        if self.bytes.len() > self.cap.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.bytes.len() > self.cap {
            self.lost = true;
            self.bytes.drain(..self.bytes.len() - self.cap);
        }
    }

    /// The kept bytes, and whether earlier ones are missing.
    pub(crate) fn take(&mut self) -> (Vec<u8>, bool) {
        self.cut();
        (std::mem::take(&mut self.bytes), self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_everything_that_fits() {
        let mut tail = Tail::new(4);
        tail.push(b"ab");
        tail.push(b"cd");
        assert_eq!(tail.take(), (b"abcd".to_vec(), false));
    }

    #[test]
    fn keeps_the_end_whatever_the_pieces() {
        for piece in 1..20 {
            let all: Vec<u8> = (0..=255).collect();
            let mut tail = Tail::new(7);
            all.chunks(piece).for_each(|c| tail.push(c));
            assert_eq!(
                tail.take(),
                (all[249..].to_vec(), true),
                "pieces of {piece}"
            );
        }
    }

    #[test]
    fn a_cap_of_nothing_keeps_nothing() {
        let mut tail = Tail::new(0);
        tail.push(b"x");
        assert_eq!(tail.take(), (Vec::new(), true));
    }
}
