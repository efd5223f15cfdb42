//! What an agent printed, byte for byte, up to a size.

use std::io::Write;

use ralph_workspace::Workspace;

use crate::error::Error;

/// The log of one agent call stops here.
const MAX: u64 = 64 << 20;

/// An open log.
pub struct RawLog {
    file: std::fs::File,
    left: u64,
    from: u64,
}

impl RawLog {
    /// Opens it, relative to the root; what is in it stays.
    pub fn open(ws: &Workspace, path: &str) -> Result<RawLog, Error> {
        let file = ws.open_append(path)?;
        let from = file.metadata().map_or(0, |m| m.len());
        Ok(RawLog {
            file,
            left: MAX,
            from,
        })
    }

    /// What was in the log when it was opened, in bytes.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// Has everything so far gone into it?
    pub fn is_whole(&self) -> bool {
        self.left > 0
    }

    /// Takes a piece. A disk that refuses ends the log, not the agent.
    pub fn write(&mut self, chunk: &[u8]) {
        if self.left == 0 {
            return;
        }
        let take = chunk
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= take as u64;
        let mut ok = self.file.write_all(&chunk[..take]);
        if self.left == 0 {
            ok = ok.and_then(|()| {
                self.file
                    .write_all(b"\n[ralph: the log ends here, at 64 MiB]\n")
            });
        }
        if let Err(e) = ok {
            tracing::error!("the agent's log can't be written any more: {e}");
            self.left = 0;
        }
    }

    /// Puts the end of standard error below.
    pub fn end(&mut self, stderr: &[u8]) {
        if !stderr.is_empty() {
            self.left = self.left.max(stderr.len() as u64 + 64);
            self.write(b"\n--- stderr (its end) ---\n");
            self.write(stderr);
        }
    }
}
