//! The audit, sent on: each line by POST, in its order, until it was taken. The file is the outbox;
//! beside it stands how far it was taken. A receiver that is away holds up nobody but the relay.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use ureq::Agent;

use super::chain::{FILE, LINE_MAX, read_line};
use crate::settings::Relay;

/// The number of the last line that was taken.
const TAKEN: &str = "relay.taken";
/// One POST has so long.
const LIMIT: Duration = Duration::from_secs(10);
const SLOWEST: Duration = Duration::from_secs(300);

/// Sends lines on.
pub struct Relaying {
    dir: PathBuf,
    url: String,
    token: Option<String>,
    agent: Agent,
}

impl Relaying {
    /// As `serve.toml` says.
    ///
    /// # Errors
    /// The address or its token can't be used.
    pub fn new(dir: PathBuf, relay: &Relay) -> Result<Relaying, String> {
        let local = ["http://127.0.0.1:", "http://[::1]:", "http://localhost:"];
        let plain = local.iter().any(|start| relay.url.starts_with(start));
        if !plain && !relay.url.starts_with("https://") {
            return Err("[relay] url: https://, or http:// on this machine".into());
        }
        let token = match &relay.token_env {
            Some(name) => Some(
                std::env::var(name)
                    .map_err(|_| format!("[relay] token_env: the variable {name} isn't set"))?,
            ),
            None => None,
        };
        if let (Some(name), Some(token)) = (&relay.token_env, &token) {
            ralph_process::withhold(name);
            ralph_process::also_secret("relay", token);
        }
        let config = Agent::config_builder()
            .timeout_global(Some(LIMIT))
            .max_redirects(0)
            .http_status_as_error(false)
            .build();
        Ok(Relaying {
            dir,
            url: relay.url.clone(),
            token,
            agent: Agent::new_with_config(config),
        })
    }

    /// Sends what is there, then what comes.
    pub async fn go(self, mut newest: watch::Receiver<u64>) {
        let mut wait = Duration::from_secs(1);
        let mut this = self;
        let mut said = false;
        loop {
            newest.borrow_and_update();
            let sent = tokio::task::spawn_blocking(move || {
                let sent = this.send();
                (this, sent)
            });
            let Ok((back, sent)) = sent.await else { return };
            this = back;
            match sent {
                Ok(()) => {
                    (wait, said) = (Duration::from_secs(1), false);
                    if newest.changed().await.is_err() {
                        return;
                    }
                }
                Err(e) => {
                    if !said {
                        tracing::warn!("the audit can't be relayed, and is kept for later: {e}");
                    }
                    said = true;
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(SLOWEST);
                }
            }
        }
    }

    fn send(&self) -> io::Result<()> {
        let path = self.dir.join(TAKEN);
        // The line that was taken last, and where it ends.
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let mut words = known.split_whitespace().map(|w| w.parse().unwrap_or(0));
        let (mut taken, mut at) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
        let mut reader = BufReader::new(File::open(self.dir.join(FILE))?);
        reader.seek(SeekFrom::Start(at))?;
        loop {
            let mut line = Vec::new();
            let read = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line)?;
            if line.pop() != Some(b'\n') {
                return Ok(());
            }
            let found = read_line(&line).map_err(io::Error::other)?;
            if found.seq != taken + 1 {
                return Err(io::Error::other(
                    "the audit isn't the one that was relayed before",
                ));
            }
            self.post(&line)?;
            (taken, at) = (found.seq, at + read as u64);
            let temp = self.dir.join("relay.tmp");
            std::fs::write(&temp, format!("{taken} {at}\n"))?;
            std::fs::rename(&temp, &path)?;
        }
    }

    fn post(&self, line: &[u8]) -> io::Result<()> {
        let mut request = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = request.send(line).map_err(io::Error::other)?;
        match answer.status().as_u16() {
            200..=299 => Ok(()),
            status => Err(io::Error::other(format!("{} answers {status}", self.url))),
        }
    }
}
