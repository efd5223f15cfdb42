//! What an agent's program printed, in the pieces in which its driver was given it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use ralph_process::WindowSize;
use ralph_workspace::Workspace;

use super::tape::AgentTape;
use crate::screen::Screen;

/// The pieces, out of the raw log. What came by a terminal is the text of its screen.
pub struct Pieces {
    log: File,
    lengths: std::vec::IntoIter<u32>,
    screen: Option<Screen>,
}

impl Pieces {
    /// Of a recorded call in this workspace.
    ///
    /// # Errors
    /// The log can't be read, with its path.
    pub fn of(ws: &Workspace, tape: &AgentTape) -> Result<Pieces, String> {
        let shown = |e: io::Error| format!("{}: {e}", tape.log);
        let mut log = ws.dir().open(&tape.log).map_err(shown)?.into_std();
        log.seek(SeekFrom::Start(tape.from)).map_err(shown)?;
        let terminal = tape.terminal;
        Ok(Pieces {
            log,
            lengths: tape.chunks.clone().into_iter(),
            screen: terminal.map(|(rows, columns)| Screen::new(WindowSize { rows, columns })),
        })
    }
}

impl Iterator for Pieces {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        loop {
            let piece = match self.lengths.next() {
                None => self.screen.take()?.end(),
                Some(length) => {
                    let mut piece = Vec::new();
                    let mut read = (&mut self.log).take(u64::from(length));
                    match read.read_to_end(&mut piece) {
                        Ok(n) if n == length as usize => {}
                        Ok(_) => return Some(Err(io::ErrorKind::UnexpectedEof.into())),
                        Err(e) => return Some(Err(e)),
                    }
                    match &mut self.screen {
                        Some(screen) => screen.draw(&piece),
                        None => piece,
                    }
                }
            };
            if !piece.is_empty() {
                return Some(Ok(piece));
            }
        }
    }
}
