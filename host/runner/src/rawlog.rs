//! What an agent printed, byte for byte, rotated by size: the newest is kept.

use std::io::Write;

use ralph_workspace::Workspace;

use crate::error::Error;

/// An open log. At half of its limit it becomes the older half, in place of the
/// one before, and a new one is begun.
pub struct RawLog {
    ws: Workspace,
    path: String,
    file: std::fs::File,
    half: u64,
    size: u64,
    from: u64,
    whole: bool,
    broken: bool,
}

/// Where the older half of a log is.
pub fn older(path: &str) -> String {
    format!("{path}.1")
}

impl RawLog {
    /// Opens it, relative to the root; what is in it stays. Both halves together
    /// have at most `limit` bytes, and a line that says where the rest went.
    pub fn open(ws: &Workspace, path: &str, limit: u64) -> Result<RawLog, Error> {
        let file = ws.open_append(path)?;
        let size = file.metadata().map_or(0, |m| m.len());
        Ok(RawLog {
            ws: ws.clone(),
            path: path.to_owned(),
            file,
            half: limit / 2,
            size,
            from: size,
            whole: true,
            broken: false,
        })
    }

    /// What was in the log when it was opened, in bytes.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Does everything since it was opened stand in it, in one piece?
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Takes a piece. A disk that refuses ends the log, not the agent.
    pub fn write(&mut self, piece: &[u8]) {
        if self.broken {
            return;
        }
        if self.size > 0 && self.size + piece.len() as u64 > self.half {
            self.whole = false;
            if let Err(e) = self.rotate() {
                self.give_up(&e);
                return;
            }
        }
        self.put(piece);
    }

    fn put(&mut self, piece: &[u8]) {
        self.size += piece.len() as u64;
        if let Err(e) = self.file.write_all(piece) {
            self.give_up(&Error::io("writing", e));
        }
    }

    fn give_up(&mut self, e: &Error) {
        tracing::error!(
            "the agent's log {} can't be written any more: {e}",
            self.path
        );
        (self.broken, self.whole) = (true, false);
    }

    fn rotate(&mut self) -> Result<(), Error> {
        let older = older(&self.path);
        let dir = self.ws.dir();
        dir.rename(&self.path, dir, &older)
            .map_err(|e| Error::io("renaming", e))?;
        self.file = self.ws.open_append(&self.path)?;
        self.size = 0;
        let name = older.rsplit('/').next().unwrap_or_default();
        self.put(
            format!("[ralph: what came before stands in {name}, what came before that is gone]\n")
                .as_bytes(),
        );
        Ok(())
    }

    /// Puts the end of standard error below.
    pub fn end(&mut self, stderr: &[u8]) {
        if !stderr.is_empty() {
            self.put(b"\n--- stderr (its end) ---\n");
            self.put(stderr);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_kept_in_two_files_of_half_the_limit() -> Result<(), Error> {
        let dir = tempfile::tempdir().map_err(|e| Error::io("a directory", e))?;
        let ws = Workspace::open(dir.path())?;
        let mut log = RawLog::open(&ws, ".ralph/logs/a.log", 2000)?;
        for n in 0..1000 {
            let (before, line) = (log.is_whole(), format!("{n:099}\n"));
            log.write(line.as_bytes());
            assert!(before || !log.is_whole());
        }
        let text = |path: &str| -> Result<String, Error> {
            let bytes = ws.read(path, 1 << 20)?.unwrap_or_default();
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (old, new) = (text(".ralph/logs/a.log.1")?, text(".ralph/logs/a.log")?);
        assert!(old.len() <= 1000 && new.len() <= 1000);
        assert!(new.ends_with("999\n"), "{new}");
        let all = format!("{old}{new}");
        let numbers: Vec<u32> = all
            .lines()
            .filter_map(|l| l.trim_start_matches('0').parse().ok())
            .collect();
        assert!(numbers.len() >= 10, "{all}");
        assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1), "{all}");
        Ok(())
    }
}
