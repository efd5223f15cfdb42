//! What `serve.toml` may not say, beyond what its types forbid.

use super::Settings;

impl Settings {
    /// Says it anything that can't be?
    pub(super) fn check(&self) -> Result<(), String> {
        if self.serve.max_runs == 0 || self.serve.rate == 0 || self.serve.max_connections == 0 {
            return Err("[serve] max_runs, rate and max_connections are at least 1".into());
        }
        if self.serve.events_kept < 100 {
            return Err("[serve] events_kept is at least 100".into());
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
        for origin in &self.serve.origins {
            let host = origin.split_once("://").map(|(_, host)| host);
            if host.is_none_or(|h| h.is_empty() || h.contains('/')) || origin.contains('*') {
                return Err(format!(
                    "[serve] origins: `{origin}` is no origin like https://console.example"
                ));
            }
        }
        Ok(())
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
