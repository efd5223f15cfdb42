//! The file: one JSON object per line. Its last member `hash` is the SHA-256 of all before it,
//! and `prev` among these is the hash of the line before. Where the chain ends stands in a file of
//! its own as well, so that lines cut off at the end are missed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ralph_runner::clock;
use ralph_workspace::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// In the service's data directory.
pub const FILE: &str = "audit.jsonl";
const HEAD: &str = "audit.head";
/// Longer lines are none of ours.
pub const LINE_MAX: u64 = 1 << 20;
const SUFFIX: usize = r#","hash":""}"#.len() + 64;

/// The open chain.
pub struct Chain {
    file: File,
    head: File,
    seq: u64,
    hash: String,
    len: u64,
}

/// Where a chain ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Lines.
    pub seq: u64,
    /// Hash of the last one.
    pub hash: String,
}

/// A line, its own hash checked.
pub struct Read1 {
    /// Counts from 1.
    pub seq: u64,
    /// What it was hashed after.
    pub prev: String,
    /// Its hash.
    pub hash: String,
    /// All of it.
    pub value: Value,
}

/// Checks a line by itself, and reads it.
///
/// # Errors
/// Why it is no line of a chain.
pub fn read_line(line: &[u8]) -> Result<Read1, &'static str> {
    let at = line.len().checked_sub(SUFFIX).ok_or("it is too short")?;
    let (body, suffix) = line.split_at(at);
    let hash = suffix
        .strip_prefix(br#","hash":""#)
        .and_then(|rest| rest.strip_suffix(br#""}"#))
        .ok_or("it doesn't end with its hash")?;
    if sha256_hex(body).as_bytes() != hash {
        return Err("it was changed: its hash isn't that of its content");
    }
    let value: Value = serde_json::from_slice(line).map_err(|_| "it is no JSON")?;
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    Ok(Read1 {
        seq: value["seq"].as_u64().ok_or("it has no number")?,
        prev: text("prev").ok_or("it doesn't name the line before")?,
        hash: text("hash").ok_or("it has no hash")?,
        value,
    })
}

impl Chain {
    /// Opens it for writing.
    ///
    /// # Errors
    /// The disk refuses, or what is there isn't what was written.
    pub fn open(dir: &Path) -> Result<Chain, String> {
        let path = dir.join(FILE);
        let shown = path.display();
        let failed = |e: io::Error| format!("{shown}: {e}");
        let mut private = OpenOptions::new();
        private.read(true).write(true).create(true).mode(0o600);
        let mut file = private.open(&path).map_err(failed)?;
        let head_path = dir.join(HEAD);
        let head = private
            .open(&head_path)
            .map_err(|e| format!("{}: {e}", head_path.display()))?;
        let whole = cut_torn(&mut file).map_err(failed)?;
        let (mut seq, mut hash) = (0, "0".repeat(64));
        if let Some(last) = last_line(&mut file, whole).map_err(failed)? {
            let last = read_line(&last).map_err(|why| damaged(&path, why))?;
            (seq, hash) = (last.seq, last.hash);
        }
        let chain = Chain {
            file,
            head,
            seq,
            hash,
            len: whole,
        };
        // Written after the line: it may be behind by what a death cut off, never ahead.
        match read_head(dir) {
            Some(head) if head.seq > chain.seq => {
                return Err(damaged(&path, "lines are missing at its end"));
            }
            Some(head) if head.seq == chain.seq && head.hash != chain.hash => {
                return Err(damaged(
                    &path,
                    "its last line isn't the one that was written",
                ));
            }
            Some(_) => {}
            None if chain.seq > 0 => return Err(damaged(&path, HEADLESS)),
            // Before the first line, so that one without it is none of ours.
            None => chain
                .write_head()
                .and_then(|()| chain.head.sync_all())
                .and_then(|()| File::open(dir)?.sync_all())
                .map_err(|e| format!("{}: {e}", head_path.display()))?,
        }
        Ok(chain)
    }

    /// The last line's number.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Writes a line and waits until it is on the disk.
    ///
    /// # Errors
    /// The disk refuses; nothing of the line is there then.
    pub fn append(&mut self, members: &Map<String, Value>) -> io::Result<u64> {
        let mut all = Map::new();
        all.insert("seq".into(), (self.seq + 1).into());
        all.insert("at".into(), clock::now().into());
        all.insert("prev".into(), self.hash.clone().into());
        // What is late says itself when it was.
        all.extend(members.clone());
        let mut line = serde_json::to_vec(&all)?;
        line.pop();
        let hash = sha256_hex(&line);
        line.extend_from_slice(format!(",\"hash\":\"{hash}\"}}\n").as_bytes());
        if line.len() as u64 > LINE_MAX {
            let why = "the event is longer than 1 MiB";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let written = (|| {
            self.file.seek(SeekFrom::Start(self.len))?;
            self.file.write_all(&line)?;
            self.file.sync_data()
        })();
        if let Err(e) = written {
            let _ = self.file.set_len(self.len);
            return Err(e);
        }
        self.len += line.len() as u64;
        (self.seq, self.hash) = (self.seq + 1, hash);
        if let Err(e) = self.write_head() {
            tracing::warn!("the audit's head can't be written: {e}");
        }
        Ok(self.seq)
    }

    fn write_head(&self) -> io::Result<()> {
        let head = Head {
            seq: self.seq,
            hash: self.hash.clone(),
        };
        // Of a fixed length, over the former one.
        let text = format!("{:<160}\n", serde_json::to_string(&head)?);
        self.head.write_all_at(text.as_bytes(), 0)
    }

    /// Another file in the place of its own.
    #[cfg(test)]
    pub(super) fn swap(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }
}

const HEADLESS: &str =
    "audit.head beside it, which says where it ends, is missing or can't be read";

fn damaged(path: &Path, why: &str) -> String {
    format!(
        "{}: {why}. `ralph audit verify` says where. Move the file and {HEAD} beside it away to begin a new one",
        path.display()
    )
}

/// Where the chain of a directory ends, as its own file says.
pub fn read_head(dir: &Path) -> Option<Head> {
    // A service may just be writing it.
    (0..3).find_map(|_| {
        let text = std::fs::read_to_string(dir.join(HEAD)).ok()?;
        serde_json::from_str(text.trim()).ok()
    })
}

/// Removes a last line that a death left unfinished; how long the rest is.
fn cut_torn(file: &mut File) -> io::Result<u64> {
    let len = file.metadata()?.len();
    let from = len.saturating_sub(LINE_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(LINE_MAX).read_to_end(&mut end)?;
    let whole = match end.iter().rposition(|b| *b == b'\n') {
        Some(at) => from + at as u64 + 1,
        None => from,
    };
    if whole < len {
        tracing::warn!("the audit's last line was unfinished; cut off");
        file.set_len(whole)?;
    }
    Ok(whole)
}

fn last_line(file: &mut File, len: u64) -> io::Result<Option<Vec<u8>>> {
    if len == 0 {
        return Ok(None);
    }
    let from = len.saturating_sub(LINE_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(len - 1 - from).read_to_end(&mut end)?;
    let start = end.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    Ok(Some(end.split_off(start)))
}

/// What a check of the whole chain found.
#[derive(Debug, Serialize)]
pub struct Verified {
    /// Where it is.
    pub file: PathBuf,
    /// Lines that are as they were written, from the first.
    pub lines: u64,
    /// The hash of the last of them, to be kept elsewhere.
    pub head: String,
    /// What is wrong, and in which line.
    pub problem: Option<(u64, String)>,
}

/// Shows each line to `see`, the chain checked, up to the first that is wrong.
///
/// # Errors
/// The disk refuses.
pub fn each(dir: &Path, mut see: impl FnMut(&[u8], &Read1)) -> io::Result<Verified> {
    let path = dir.join(FILE);
    let mut reader = BufReader::new(File::open(&path)?);
    let mut verified = Verified {
        file: path,
        lines: 0,
        head: "0".repeat(64),
        problem: None,
    };
    let head = read_head(dir);
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let number = verified.lines + 1;
        let wrong = |why: &str| Some((number, why.to_owned()));
        if line.pop() != Some(b'\n') {
            verified.problem = wrong("it is unfinished");
            break;
        }
        let found = match read_line(&line) {
            Ok(found) => found,
            Err(why) => {
                verified.problem = wrong(why);
                break;
            }
        };
        if found.seq != number || found.prev != verified.head {
            verified.problem = wrong("it doesn't follow from the line before");
            break;
        }
        let heads = head.as_ref().is_some_and(|h| h.seq == number);
        if heads && head.as_ref().is_some_and(|h| h.hash != found.hash) {
            verified.problem = wrong("it isn't the line that was written");
            break;
        }
        see(&line, &found);
        (verified.lines, verified.head) = (number, found.hash);
    }
    if verified.problem.is_none() {
        verified.problem = match head {
            Some(head) if head.seq > verified.lines => {
                Some((verified.lines + 1, "lines are missing from here".to_owned()))
            }
            None if verified.lines > 0 => Some((verified.lines, HEADLESS.to_owned())),
            _ => None,
        };
    }
    Ok(verified)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn filled() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut chain = Chain::open(dir.path()).unwrap();
        for n in 0..4 {
            let mut members = Map::new();
            members.insert("type".into(), "t".into());
            members.insert("n".into(), n.into());
            chain.append(&members).unwrap();
        }
        dir
    }

    #[test]
    fn each_byte_that_is_changed_is_found() {
        let dir = filled();
        let path = dir.path().join(FILE);
        let whole = std::fs::read(&path).unwrap();
        assert!(each(dir.path(), |_, _| ()).unwrap().problem.is_none());
        for at in 0..whole.len() {
            let mut spoilt = whole.clone();
            spoilt[at] ^= 1;
            std::fs::write(&path, spoilt).unwrap();
            assert!(
                each(dir.path(), |_, _| ()).unwrap().problem.is_some(),
                "byte {at}"
            );
        }
    }

    #[test]
    fn lines_cut_off_or_hashed_anew_are_missed() {
        let dir = filled();
        let path = dir.path().join(FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        std::fs::write(&path, format!("{}\n", lines[..3].join("\n"))).unwrap();
        assert_eq!(each(dir.path(), |_, _| ()).unwrap().problem.unwrap().0, 4);
        assert!(Chain::open(dir.path()).is_err());
        let body = lines[3]
            .rsplit_once(",\"hash\"")
            .unwrap()
            .0
            .replace("\"n\":3", "\"n\":4");
        let forged = format!("{body},\"hash\":\"{}\"}}", sha256_hex(body.as_bytes()));
        std::fs::write(&path, format!("{}\n{forged}\n", lines[..3].join("\n"))).unwrap();
        assert_eq!(each(dir.path(), |_, _| ()).unwrap().problem.unwrap().0, 4);
    }

    #[test]
    fn lines_without_what_says_where_they_end_are_not_taken_for_whole() {
        let dir = filled();
        let head = dir.path().join(HEAD);
        let text = std::fs::read_to_string(&head).unwrap();
        let spoil: [&dyn Fn(); 3] = [
            &|| std::fs::write(&head, "").unwrap(),
            &|| std::fs::write(&head, &text[..20]).unwrap(),
            &|| std::fs::remove_file(&head).unwrap(),
        ];
        for spoil in spoil {
            spoil();
            let (line, why) = each(dir.path(), |_, _| ()).unwrap().problem.unwrap();
            assert_eq!((line, why.as_str()), (4, HEADLESS));
            let why = Chain::open(dir.path()).err().unwrap();
            assert!(why.contains("audit.head"), "{why}");
        }
        // One that was never written to is begun anew.
        std::fs::remove_file(dir.path().join(FILE)).unwrap();
        assert_eq!(Chain::open(dir.path()).unwrap().seq(), 0);
        assert_eq!(read_head(dir.path()).unwrap().seq, 0);
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_the_chain_goes_on() {
        let dir = filled();
        let path = dir.path().join(FILE);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"seq\":5,\"at\"").unwrap();
        let mut chain = Chain::open(dir.path()).unwrap();
        assert_eq!(chain.append(&Map::new()).unwrap(), 5);
        let verified = each(dir.path(), |_, _| ()).unwrap();
        assert_eq!((verified.lines, verified.problem), (5, None));
    }
}
