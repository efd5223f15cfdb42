//! Spoils documents.

use async_trait::async_trait;
use ralph_engine::types::{DiffText, FileChange};
use ralph_plugins::{Command, Level, Output, ProcessError, Services};

/// Inputs that are longer than this, and than all documents, are cut.
const MAX: usize = 32 << 10;
/// So many of what was made last may be spoilt further.
const POOL: usize = 64;

/// An endless row of spoilt copies of the documents it was given.
pub struct Mutator {
    random: u64,
    corpus: Vec<Vec<u8>>,
    own: usize,
    words: Vec<Vec<u8>>,
    max: usize,
}

impl Mutator {
    pub fn new(seed: u64, corpus: &[&[u8]], words: &[&str]) -> Mutator {
        Mutator {
            random: seed,
            own: corpus.len(),
            max: corpus.iter().map(|d| d.len()).fold(MAX, usize::max),
            corpus: corpus.iter().map(|d| d.to_vec()).collect(),
            words: words.iter().map(|w| w.as_bytes().to_vec()).collect(),
        }
    }

    /// SplitMix64
    fn number(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below.max(1) as u64) as usize
    }

    /// A part of a document, from a line's start as often as not.
    fn range(&mut self, of: &[u8]) -> std::ops::Range<usize> {
        let (a, b) = (self.number(of.len() + 1), self.number(of.len() + 1));
        let (mut a, mut b) = (a.min(b), a.max(b));
        if self.number(2) == 0 {
            let line = |at: usize| {
                of[..at]
                    .iter()
                    .rposition(|b| *b == b'\n')
                    .map_or(0, |p| p + 1)
            };
            (a, b) = (line(a), line(b));
        }
        a..b.min(a + 400)
    }

    pub fn next(&mut self) -> Vec<u8> {
        let pick = self.number(self.corpus.len());
        let mut doc = self.corpus[pick].clone();
        for _ in 0..=self.number(6) {
            let range = self.range(&doc);
            match self.number(8) {
                0 => drop(doc.drain(range)),
                1 => {
                    let copy = doc[range.clone()].to_vec();
                    doc.splice(range.start..range.start, copy);
                }
                2 | 3 if !self.words.is_empty() => {
                    let word = self.number(self.words.len());
                    let word = self.words[word].clone();
                    doc.splice(range.start..range.start, word);
                }
                4 => {
                    let other = self.number(self.corpus.len());
                    let other = self.corpus[other].clone();
                    let part = self.range(&other);
                    doc.splice(range, other[part].iter().copied());
                }
                5 => doc.truncate(range.start),
                6 => {
                    let byte = self.number(256) as u8;
                    doc.insert(range.start, byte);
                }
                _ => {
                    let bit = 1 << self.number(8);
                    if let Some(byte) = doc.get_mut(range.start) {
                        *byte ^= bit;
                    }
                }
            }
        }
        doc.truncate(self.max);
        if self.number(4) == 0 {
            if self.corpus.len() < self.own + POOL {
                self.corpus.push(doc.clone());
            } else {
                let at = self.own + self.number(POOL);
                self.corpus[at].clone_from(&doc);
            }
        }
        doc
    }
}

/// For a component that needs nothing of its host.
pub struct Nothing;

#[async_trait]
impl Services for Nothing {
    fn log(&self, _: &str, _: Level, _: &str) {}

    async fn files(&self) -> Vec<FileChange> {
        Vec::new()
    }

    async fn diff(&self, _: u64) -> DiffText {
        DiffText::default()
    }

    async fn run(&self, _: Command) -> Result<Output, ProcessError> {
        Err(ProcessError::Failed("not here".into()))
    }
}
