//! The audit, sent on: each line by POST, in its order, until it was taken. The file is the outbox;
//! beside it stands how far it was taken. A receiver that is away holds up nobody but the relay.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use ureq::Agent;
use ureq::http::Uri;

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
        let local = address(&relay.url).map_err(|why| format!("[relay] url: {why}"))?;
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
            .http_status_as_error(false);
        // This machine is asked without a proxy.
        let config = if local { config.proxy(None) } else { config }.build();
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

/// Is it an address that lines may be sent to, and is it this machine's own? Not what is wrong with one
/// that has a password in it: that would show it.
fn address(url: &str) -> Result<bool, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "it is no address")?;
    let authority = uri.authority().ok_or("it is no address")?;
    if authority.as_str().contains('@') {
        return Err("it has a password in it; a token goes into token_env");
    }
    let rest = authority.as_str().strip_prefix(authority.host());
    let port = rest.and_then(|rest| rest.strip_prefix(':'));
    if port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port == 0))
        || (rest != Some("") && authority.port_u16().is_none())
    {
        return Err("its port is none; they go from 1 to 65535");
    }
    if url.contains('#') {
        return Err("it has a fragment, which is sent to nobody");
    }
    let host = authority.host();
    let ip = host.trim_start_matches('[').trim_end_matches(']');
    let ip = ip.parse::<IpAddr>();
    let local = host.eq_ignore_ascii_case("localhost") || ip.is_ok_and(|ip| ip.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(local),
        Some("http") if local => Ok(true),
        _ => Err("https://, or http:// on this machine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sent_to_a_plain_address_and_unencrypted_to_nobody_else() {
        for (url, local) in [
            ("http://127.0.0.1:9/audit", true),
            ("http://127.0.0.1/audit", true),
            ("http://localhost", true),
            ("http://LOCALHOST:80/", true),
            ("http://[::1]", true),
            ("http://[::1]:8080/x", true),
            ("http://127.8.9.10/x", true),
            ("https://x.example/audit?of=1", false),
            ("https://x.example:65535", false),
            ("https://127.0.0.1:9", true),
        ] {
            assert_eq!(address(url), Ok(local), "{url}");
        }
        for url in [
            "",
            "x",
            "/audit",
            "http://",
            "https://",
            "ftp://x.example",
            "http://x.example/",
            "http://localhost.x.example/",
            "http://127.0.0.1.x.example:80/",
            "http://127.0.0.1:1@x.example/",
            "https://me:s3cret@x.example/",
            "http://me@127.0.0.1/",
            "https://x.example:0/",
            "https://x.example:65536/",
            "https://x.example:/",
            "https://x.example:http/",
            "https://x.example/#a",
            "https://a b/",
        ] {
            let why = address(url);
            assert!(why.is_err_and(|why| !why.contains("s3cret")), "{url}");
        }
    }
}
