//! Hosts that a program may talk to, as the configuration writes them.

use std::fmt;

/// `example.org`, `*.example.org` (everything below it, itself left out),
/// either with `:PORT`; without a port it is 443.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    name: String,
    below: bool,
    port: u16,
}

impl HostPattern {
    /// Reads one.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn parse(text: &str) -> Result<HostPattern, String> {
        let no_host = || {
            format!(
                "`{text}` is no host; write one as in \"api.example.org\", \"*.example.org\" or \"example.org:8443\""
            )
        };
        if text.contains('/') {
            return Err(no_host());
        }
        let (name, port) = match split_port(text) {
            Some((name, port)) => (
                name,
                port.ok_or_else(|| format!("`{text}` has no port from 1 to 65535 after its `:`"))?,
            ),
            None => (text, 443),
        };
        let (name, below) = match name.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let name = plain(name);
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
        if name.is_empty() || name.len() > 253 || !name.chars().all(fits) {
            return Err(no_host());
        }
        Ok(HostPattern { name, below, port })
    }

    /// Does the other allow all that this one does?
    fn within(&self, other: &HostPattern) -> bool {
        let named = if self.below && !other.below {
            false
        } else if self.below && self.name == other.name {
            true
        } else {
            other.names(&self.name)
        };
        named && self.port == other.port
    }

    /// Does it allow this host and port?
    pub fn allows(&self, host: &str, port: u16) -> bool {
        port == self.port && self.names(&plain(host))
    }

    fn names(&self, host: &str) -> bool {
        if self.below {
            host.strip_suffix(&self.name)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.name
        }
    }
}

/// What a plugin may talk to: patterns, and `*` for every host at port 443.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostList {
    any: bool,
    patterns: Vec<HostPattern>,
}

impl HostList {
    /// Reads one.
    ///
    /// # Errors
    /// In words, what is wrong with which entry.
    pub fn parse(entries: &[String]) -> Result<HostList, String> {
        let named = entries.iter().filter(|entry| *entry != "*");
        Ok(HostList {
            any: entries.iter().any(|entry| entry == "*"),
            patterns: named
                .map(|e| HostPattern::parse(e))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Does it allow this host and port?
    pub fn allows(&self, host: &str, port: u16) -> bool {
        (self.any && port == 443) || self.patterns.iter().any(|p| p.allows(host, port))
    }
}

/// Of two lists of entries what stands on both sides: of two that hold each other, the narrower.
pub fn met(ours: &[String], theirs: &[String]) -> Vec<String> {
    let narrower = |a: &String, b: &String| {
        let within = |inner: &String, outer: &String| {
            outer == "*" || inner == outer || {
                let both = HostPattern::parse(inner)
                    .ok()
                    .zip(HostPattern::parse(outer).ok());
                both.is_some_and(|(inner, outer)| inner.within(&outer))
            }
        };
        if within(a, b) {
            Some(a.clone())
        } else {
            within(b, a).then(|| b.clone())
        }
    };
    let mut found: Vec<String> = Vec::new();
    for entry in ours
        .iter()
        .flat_map(|a| theirs.iter().filter_map(move |b| narrower(a, b)))
    {
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.below { "*." } else { "" };
        match self.port {
            443 => write!(f, "{star}{}", self.name),
            port => write!(f, "{star}{}:{port}", self.name),
        }
    }
}

/// Small letters, without the root's full stop and without the brackets of an IPv6 address.
fn plain(host: &str) -> String {
    let host = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// `host:port`; an IPv6 address stands in brackets. The inner `None`: a port that is none.
pub fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = text.rsplit_once(':')?;
    if host.contains(':') && !host.ends_with(']') {
        return None;
    }
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    Some((host, port.parse().ok().filter(|p| *p > 0 && digits)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_itself_and_a_star_is_everything_below() {
        let allows = |pattern: &str, host: &str, port| {
            HostPattern::parse(pattern).unwrap().allows(host, port)
        };
        assert!(allows("api.openai.com", "API.OpenAI.com.", 443));
        assert!(!allows("api.openai.com", "api.openai.com", 80));
        assert!(!allows("api.openai.com", "x.api.openai.com", 443));
        assert!(!allows("api.openai.com", "evilapi.openai.com", 443));
        assert!(allows("*.example.org", "a.b.example.org", 443));
        assert!(!allows("*.example.org", "example.org", 443));
        assert!(!allows("*.example.org", "badexample.org", 443));
        assert!(!allows("*.example.org", ".example.org", 443));
        assert!(allows("example.org:8443", "example.org", 8443));
        assert!(allows("[::1]:9000", "[::1]", 9000));
        assert!(allows("127.0.0.1:9000", "127.0.0.1", 9000));
    }

    #[test]
    fn what_stands_in_two_lists_is_the_narrower() {
        let met = |a: &str, b: &str| met(&[a.to_owned()], &[b.to_owned()]).pop();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(met("a.org", "a.org"), some("a.org"));
        assert_eq!(met("*.a.org", "x.a.org"), some("x.a.org"));
        assert_eq!(met("*.x.a.org", "*.a.org"), some("*.x.a.org"));
        assert_eq!(met("*", "a.org:8080"), some("a.org:8080"));
        assert_eq!(met("*", "*"), some("*"));
        assert_eq!(met("*.a.org", "a.org"), None);
        assert_eq!(met("a.org", "a.org:8080"), None);
        assert_eq!(met("xa.org", "*.a.org"), None);
        let list = HostList::parse(&["*".to_owned(), "a.org:80".to_owned()]).unwrap();
        assert!(list.allows("b.org", 443) && list.allows("a.org", 80));
        assert!(!list.allows("b.org", 80));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for bad in [
            "",
            "*",
            "*.",
            "https://x.org",
            "x.org/path",
            "a b",
            "x.org:0",
            "x.org:99999",
            "x.org:",
            "x.org:+1",
            "*.*.org",
        ] {
            assert!(HostPattern::parse(bad).is_err(), "{bad}");
        }
    }
}
