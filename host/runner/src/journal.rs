//! `.ralph/journal.jsonl`: the truth. One line per fact, each with a sequence
//! number and the SHA-256 of the line before.
//!
//! A start reads only what came after the last checkpoint, which `state.json`
//! carries: offset, sequence number and hash of the line there. If these don't
//! fit the journal, the whole of it is folded; `state.json` is never believed
//! over it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};

use ralph_engine::{Fact, State};
use ralph_workspace::{Workspace, sha256_hex};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::clock;
use crate::error::Error;

/// Relative to the project's root.
pub const PATH: &str = ".ralph/journal.jsonl";

/// A line longer than this is no journal line. A selected task stands in one line, with its whole text.
const LINE_MAX: u64 = 128 << 20;

/// What one line holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Counts from 1.
    pub seq: u64,
    /// RFC 3339, UTC.
    pub at: String,
    /// SHA-256 of the line before, without its LF; 64 zeros on the first.
    pub prev: String,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// A place in the journal from which folding may go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Checkpoint {
    /// Bytes before it.
    pub offset: u64,
    /// Sequence number of the line that ends there.
    pub seq: u64,
    /// Its SHA-256.
    pub hash: String,
    /// Its length without the LF.
    pub line_bytes: u64,
}

/// The open journal.
pub struct Journal {
    /// None for whoever only looks.
    file: Option<File>,
    at: Checkpoint,
}

/// What a journal says.
pub struct Folded {
    /// Where the project stands.
    pub state: State,
    /// The lines since the last iteration's end: what the current iteration is made of.
    pub recent: Vec<Line>,
    /// Where the journal ends.
    pub at: Checkpoint,
    /// Bytes of an unfinished last line, which a death in mid-write leaves.
    pub torn: u64,
}

/// Folds the journal, from the checkpoint if it fits, else from the beginning.
pub fn fold(ws: &Workspace, from: Option<(Checkpoint, State)>) -> Result<Folded, Error> {
    let Some(mut file) = open_read(ws)? else {
        return Ok(Folded {
            state: State::default(),
            recent: Vec::new(),
            at: Checkpoint::default(),
            torn: 0,
        });
    };
    if let Some((checkpoint, state)) = from
        && fits(&mut file, &checkpoint)?
    {
        return fold_from(file, checkpoint, state);
    }
    fold_from(file, Checkpoint::default(), State::default())
}

/// Shows every line to `see`, the chain checked. An unfinished last line is left out.
pub fn each(ws: &Workspace, mut see: impl FnMut(Line)) -> Result<(), Error> {
    if let Some(mut lines) = Lines::open(ws)? {
        while let Some(line) = lines.next()? {
            see(line);
        }
    }
    Ok(())
}

fn open_read(ws: &Workspace) -> Result<Option<File>, Error> {
    match ws.dir().open(PATH) {
        Ok(file) => Ok(Some(file.into_std())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(PATH, e)),
    }
}

/// Does the journal really have that line there?
fn fits(file: &mut File, c: &Checkpoint) -> Result<bool, Error> {
    if c.offset == 0 {
        return Ok(true);
    }
    let len = file.metadata().map_err(|e| Error::io(PATH, e))?.len();
    let Some(from) = c.offset.checked_sub(c.line_bytes.saturating_add(1)) else {
        return Ok(false);
    };
    if len < c.offset || c.line_bytes > LINE_MAX {
        return Ok(false);
    }
    let mut line = vec![0; c.line_bytes as usize + 1];
    file.seek(SeekFrom::Start(from))
        .map_err(|e| Error::io(PATH, e))?;
    file.read_exact(&mut line).map_err(|e| Error::io(PATH, e))?;
    Ok(line.pop() == Some(b'\n') && sha256_hex(&line) == c.hash)
}

fn fold_from(mut file: File, at: Checkpoint, mut state: State) -> Result<Folded, Error> {
    file.seek(SeekFrom::Start(at.offset))
        .map_err(|e| Error::io(PATH, e))?;
    let mut lines = Lines::new(file, at);
    let mut recent = Vec::new();
    while let Some(line) = lines.next()? {
        lines.apply(&mut state, &line)?;
        if matches!(
            line.fact,
            Fact::IterationEnded { .. } | Fact::Absorbed { .. }
        ) {
            recent.clear();
        } else {
            recent.push(line);
        }
    }
    Ok(Folded {
        state,
        recent,
        at: lines.at,
        torn: lines.torn,
    })
}

/// The journal's lines, one after another, the chain checked.
pub struct Lines {
    reader: BufReader<File>,
    /// Where the last line that was read ends.
    pub at: Checkpoint,
    /// At the end: bytes of an unfinished last line.
    pub torn: u64,
}

impl Lines {
    /// From its beginning; `None` if there is no journal.
    pub fn open(ws: &Workspace) -> Result<Option<Lines>, Error> {
        Ok(open_read(ws)?.map(|file| Lines::new(file, Checkpoint::default())))
    }

    fn new(file: File, at: Checkpoint) -> Lines {
        Lines {
            reader: BufReader::new(file),
            at,
            torn: 0,
        }
    }

    /// The next line; `None` at the end, or before a line that isn't finished.
    #[allow(
        clippy::should_implement_trait,
        reason = "an error ends it, which an iterator would have to remember"
    )]
    pub fn next(&mut self) -> Result<Option<Line>, Error> {
        let mut line = Vec::new();
        let read = (&mut self.reader)
            .take(LINE_MAX)
            .read_until(b'\n', &mut line)
            .map_err(|e| Error::io(PATH, e))? as u64;
        if read == 0 {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            if read == LINE_MAX {
                return Err(damaged(self.at.seq + 1, "the line is longer than 128 MiB"));
            }
            self.torn = read;
            return Ok(None);
        }
        let parsed: Line = serde_json::from_slice(&line)
            .map_err(|e| damaged(self.at.seq + 1, &format!("it can't be read: {e}")))?;
        if parsed.seq != self.at.seq + 1 || parsed.prev != expected(&self.at) {
            return Err(damaged(
                self.at.seq + 1,
                "it doesn't follow from the line before; one of the two was changed",
            ));
        }
        self.at = Checkpoint {
            offset: self.at.offset + read,
            seq: parsed.seq,
            hash: sha256_hex(&line),
            line_bytes: read - 1,
        };
        Ok(Some(parsed))
    }

    /// Folds a line that was just read.
    pub fn apply(&self, state: &mut State, line: &Line) -> Result<(), Error> {
        state
            .apply(&line.fact)
            .map_err(|e| damaged(line.seq, &e.to_string()))
    }
}

fn expected(at: &Checkpoint) -> String {
    if at.seq == 0 {
        "0".repeat(64)
    } else {
        at.hash.clone()
    }
}

fn damaged(line: u64, why: &str) -> Error {
    Error::Journal {
        line,
        why: why.to_owned(),
    }
}

impl Journal {
    /// Opens it for writing where folding ended; an unfinished last line is cut off.
    /// Only for the holder of the project's lock.
    pub fn open(ws: &Workspace, folded: &Folded) -> Result<Journal, Error> {
        let file = ws.open_append(PATH)?;
        if folded.torn > 0 {
            tracing::warn!(
                bytes = folded.torn,
                "the journal's last line was unfinished; cut off"
            );
            file.set_len(folded.at.offset)
                .map_err(|e| Error::io(PATH, e))?;
        }
        Ok(Journal {
            file: Some(file),
            at: folded.at.clone(),
        })
    }

    /// One that takes nothing.
    pub(crate) fn closed(at: Checkpoint) -> Journal {
        Journal { file: None, at }
    }

    /// Writes facts, in one piece. They are safe from a power cut after [`Journal::sync`].
    pub fn append(&mut self, facts: &[Fact]) -> Result<Vec<Line>, Error> {
        let mut bytes = Vec::with_capacity(512 * facts.len());
        let mut lines = Vec::with_capacity(facts.len());
        let mut at = self.at.clone();
        for fact in facts {
            let line = Line {
                seq: at.seq + 1,
                at: clock::now(),
                prev: expected(&at),
                fact: fact.clone(),
            };
            let text = serde_json::to_vec(&line).map_err(|e| damaged(line.seq, &e.to_string()))?;
            if text.len() as u64 >= LINE_MAX {
                return Err(Error::Usage(format!(
                    "what is to be recorded has {} MiB, the journal takes 128; shorten the task's text",
                    text.len() >> 20
                )));
            }
            at = Checkpoint {
                offset: at.offset + text.len() as u64 + 1,
                seq: line.seq,
                hash: sha256_hex(&text),
                line_bytes: text.len() as u64,
            };
            bytes.extend_from_slice(&text);
            bytes.push(b'\n');
            lines.push(line);
        }
        let Some(file) = &mut self.file else {
            return Err(Error::Internal("this journal is only read".into()));
        };
        if let Err(e) = file.write_all(&bytes) {
            // Half a line must not stand before the next one.
            let _ = file.set_len(self.at.offset);
            return Err(Error::io(PATH, e));
        }
        self.at = at;
        Ok(lines)
    }

    /// Waits until everything written is on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        match &self.file {
            Some(file) => file.sync_data().map_err(|e| Error::io(PATH, e)),
            None => Ok(()),
        }
    }

    /// Begins to bring everything written to the disk, and lets one do other things
    /// until that is done.
    pub(crate) fn syncing(&self) -> Result<Syncing, Error> {
        let Some(file) = &self.file else {
            return Ok(Syncing(None));
        };
        let file = file.try_clone().map_err(|e| Error::io(PATH, e))?;
        Ok(Syncing(Some(tokio::task::spawn_blocking(move || {
            file.sync_data()
        }))))
    }

    /// Where it ends now.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.at
    }
}

/// What was written is on its way to the disk.
pub(crate) struct Syncing(Option<JoinHandle<std::io::Result<()>>>);

impl Syncing {
    /// It is there already.
    pub(crate) fn done() -> Syncing {
        Syncing(None)
    }

    /// Waits until it is there. To be called before the effect that was announced.
    pub(crate) async fn wait(self) -> Result<(), Error> {
        match self.0 {
            Some(task) => task
                .await
                .unwrap_or_else(|e| Err(std::io::Error::other(e)))
                .map_err(|e| Error::io(PATH, e)),
            None => Ok(()),
        }
    }
}
