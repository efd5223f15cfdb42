//! What `serve.toml` may not say, beyond what its types forbid.

use axum::http::uri::Authority;
use ralph_config::units::Span;
use ralph_engine::text::one_line;

use super::Settings;

const SECOND: Span = Span::from_secs(1);

/// A name or an address, with a port or without.
fn is_host(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
    let Ok(authority) = text.parse::<Authority>() else {
        return false;
    };
    let port = text.strip_prefix(authority.host()).unwrap_or_default();
    let no_port = port.is_empty();
    text.bytes().all(good)
        && !authority.host().is_empty()
        && (no_port || authority.port_u16().is_some())
}

impl Settings {
    /// Says it anything that can't be?
    pub(super) fn check(&self) -> Result<(), String> {
        let serve = &self.serve;
        for (enough, least) in [
            (serve.max_runs >= 1, "[serve] max_runs is at least 1"),
            (
                serve.max_queued >= 1,
                "[serve] max_queued is at least 1: each run waits for its turn",
            ),
            (serve.rate >= 1, "[serve] rate is at least 1"),
            (
                serve.max_connections >= 1,
                "[serve] max_connections is at least 1",
            ),
            (
                serve.events_kept >= 100,
                "[serve] events_kept is at least 100",
            ),
            (
                serve.body_limit.bytes() >= 1024,
                "[serve] body_limit is at least 1KiB",
            ),
            (
                serve.heartbeat >= SECOND,
                "[serve] heartbeat is at least 1s",
            ),
            (self.mint.max_ttl >= SECOND, "[mint] max_ttl is at least 1s"),
        ] {
            if !enough {
                return Err(least.into());
            }
        }
        for (name, token) in &self.tokens {
            let name = name.as_str();
            for slug in token.workspaces.iter().flatten() {
                if !self.workspaces.contains_key(slug) {
                    let slug = slug.as_str();
                    return Err(format!(
                        "[tokens.{name}] workspaces: there is no [workspaces.{slug}]"
                    ));
                }
            }
        }
        if let Some(key) = &self.mint.key
            && !self.keys.contains_key(key)
        {
            return Err(format!("[mint] key: there is no [keys.{}]", key.as_str()));
        }
        self.reachable()?;
        for host in &serve.hosts {
            if !is_host(host) {
                return Err(format!(
                    "[serve] hosts: `{}` is no name like ralph.example or ralph.example:8443",
                    one_line(host, 80)
                ));
            }
        }
        for origin in &serve.origins {
            let host = ["https://", "http://"]
                .iter()
                .find_map(|s| origin.strip_prefix(s));
            if !host.is_some_and(is_host) {
                return Err(format!(
                    "[serve] origins: `{}` is no origin like https://console.example (with a port if it has one, without a path)",
                    one_line(origin, 80)
                ));
            }
        }
        Ok(())
    }

    /// What may be meant, and doesn't work as it is now.
    pub fn doubts(&self) -> Vec<String> {
        let gone = self.workspaces.iter().filter(|(_, w)| !w.path.is_dir());
        gone.map(|(slug, workspace)| {
            format!(
                "[workspaces.{}] path: there is no directory {}; its runs fail until there is one",
                slug.as_str(),
                workspace.path.display()
            )
        })
        .collect()
    }

    /// May it listen there? Others than this machine's programs are let in only if a person says so.
    ///
    /// # Errors
    /// Nobody has said so.
    pub fn reachable(&self) -> Result<(), String> {
        let serve = &self.serve;
        if !serve.listen.ip().is_loopback() {
            if !serve.allow_remote {
                return Err(format!(
                    "[serve] listen: {} can be reached from other machines; `allow_remote = true` says that this is meant",
                    serve.listen
                ));
            }
            if !serve.allow_plain && serve.tls.is_none() {
                return Err(
                    "[serve] tokens would go over the network in the clear: set up [serve.tls], or say by `allow_plain = true` that a proxy in front encrypts".into(),
                );
            }
        }
        Ok(())
    }
}
