//! Where a plugin comes from, as `source` names it.

use std::fmt;

use crate::paths;
use crate::show;

/// Longest address, in bytes.
const ADDRESS_MAX: usize = 2048;

/// What `[plugins.<name>] source` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A file, relative to the project's root.
    Path(String),
    /// `builtin:NAME`
    Builtin(String),
    /// `https://…`
    Https(String),
    /// `oci://…`
    Oci(OciName),
}

/// `oci://REGISTRY/REPOSITORY[:TAG][@sha256:DIGEST]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciName {
    /// Host, with its port if it has one.
    pub registry: String,
    /// Path below the registry.
    pub repository: String,
    /// `latest`, if neither this nor a digest is there.
    pub tag: Option<String>,
    /// SHA-256 of the image manifest, in lower-case hexadecimal digits.
    pub digest: Option<String>,
}

impl Reference {
    /// Reads a `source`.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn parse(source: &str) -> Result<Reference, String> {
        let shown = show::name(source);
        if let Some(name) = source.strip_prefix("builtin:") {
            return Ok(Reference::Builtin(name.to_owned()));
        }
        if let Some(rest) = source.strip_prefix("oci://") {
            return match OciName::parse(rest) {
                Some(name) => Ok(Reference::Oci(name)),
                None => Err(format!(
                    "{shown} is no reference; write oci://registry/repository:tag or oci://registry/repository@sha256:…"
                )),
            };
        }
        if let Some(rest) = source.strip_prefix("https://") {
            return if is_address(rest) {
                Ok(Reference::Https(source.to_owned()))
            } else {
                Err(format!("{shown} is no address of a file"))
            };
        }
        if source.contains("://") || source.starts_with("oci:") {
            return Err(format!(
                "{shown} is neither a path below the project's root nor `builtin:NAME`, `https://…` or `oci://…`"
            ));
        }
        match paths::problem(source) {
            Some(problem) => Err(problem),
            None => Ok(Reference::Path(source.to_owned())),
        }
    }

    /// Has it to be fetched?
    pub fn is_remote(&self) -> bool {
        matches!(self, Reference::Https(_) | Reference::Oci(_))
    }

    /// Could this be what the source stood for at some time? For an OCI reference that is a
    /// manifest in the same repository, for anything else the source itself.
    pub fn allows(&self, resolved: &str) -> bool {
        match (self, Reference::parse(resolved)) {
            (Reference::Oci(asked), Ok(Reference::Oci(got))) => {
                asked.registry == got.registry
                    && asked.repository == got.repository
                    && got.digest.is_some()
                    && (asked.digest.is_none() || asked.digest == got.digest)
            }
            (Reference::Oci(_), _) => false,
            (own, _) => own.to_string() == resolved,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Path(text) | Reference::Https(text) => f.write_str(text),
            Reference::Builtin(name) => write!(f, "builtin:{name}"),
            Reference::Oci(name) => name.fmt(f),
        }
    }
}

impl OciName {
    fn parse(text: &str) -> Option<OciName> {
        if text.len() > ADDRESS_MAX {
            return None;
        }
        let (text, digest) = match text.split_once('@') {
            Some((text, digest)) => {
                let digest = digest.strip_prefix("sha256:").filter(|d| is_sha256(d))?;
                (text, Some(digest.to_owned()))
            }
            None => (text, None),
        };
        let (registry, rest) = text.split_once('/')?;
        let (repository, tag) = match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (rest, None),
        };
        let whole =
            is_authority(registry) && repository.split('/').all(is_part) && tag.is_none_or(is_tag);
        whole.then(|| OciName {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }

    /// The same repository, at a manifest.
    #[must_use]
    pub fn at(&self, digest: &str) -> OciName {
        OciName {
            tag: None,
            digest: Some(digest.to_owned()),
            ..self.clone()
        }
    }
}

impl fmt::Display for OciName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@sha256:{digest}"),
            None => Ok(()),
        }
    }
}

/// 64 lower-case hexadecimal digits?
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Host and port.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port))
                if !host.is_empty() && host.bytes().all(|b| b.is_ascii_hexdigit() || b == b':') =>
            {
                (
                    "v6",
                    port.strip_prefix(':')
                        .or_else(|| port.is_empty().then_some("1")),
                )
            }
            _ => return false,
        },
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("1")),
        },
    };
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
    !host.is_empty()
        && !host.starts_with(['-', '.'])
        && host.bytes().all(good)
        && port.is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()) && p.parse::<u16>().is_ok())
}

/// One part of a repository's path.
fn is_part(text: &str) -> bool {
    let alnum = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(alnum)
        && bytes.last().is_some_and(alnum)
        && bytes
            .iter()
            .all(|b| alnum(b) || matches!(b, b'.' | b'_' | b'-'))
        && !text.contains("..")
}

fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || matches!(b, b'.' | b'-'))
}

/// What follows `https://`: no user, no fragment, a path.
fn is_address(rest: &str) -> bool {
    let Some((authority, path)) = rest.split_once('/') else {
        return false;
    };
    let odd = |b: u8| {
        !b.is_ascii_graphic()
            || matches!(
                b,
                b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'#'
            )
    };
    rest.len() <= ADDRESS_MAX
        && is_authority(authority)
        && !path.is_empty()
        && !path.bytes().any(odd)
        && !path.split(['/', '?']).any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const D: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn every_good_source_is_written_as_it_was_read() {
        for good in [
            "gates/x.wasm".to_owned(),
            "builtin:command".into(),
            "https://example.org/a/b.wasm?x=1&y=%20".into(),
            "https://[::1]:8443/x.wasm".into(),
            "https://127.0.0.1:1/x".into(),
            "oci://ghcr.io/o/gate".into(),
            "oci://localhost:5000/a/b-c_d.e:v1.2".into(),
            format!("oci://ghcr.io/o/gate:1@sha256:{D}"),
            format!("oci://[::1]:5000/o@sha256:{D}"),
        ] {
            assert_eq!(Reference::parse(&good).unwrap().to_string(), good);
        }
    }

    #[test]
    fn other_sources_are_refused() {
        for bad in [
            "http://example.org/x.wasm",
            "https://example.org",
            "https:///x",
            "https://user:pw@example.org/x",
            "https://example.org/x#y",
            "https://example.org/a b",
            "https://example.org/../x",
            "https://example.org:99999/x",
            "https://example.org:+1/x",
            "ftp://example.org/x",
            "oci:x",
            "oci://ghcr.io",
            "oci://ghcr.io/",
            "oci://ghcr.io/Upper",
            "oci://ghcr.io/a//b",
            "oci://ghcr.io/a/../b",
            "oci://ghcr.io/a:",
            "oci://ghcr.io/a:t/b",
            "oci://ghcr.io/a@sha256:12",
            "oci://ghcr.io/a@sha512:00",
            "oci://u@ghcr.io/a",
            "/abs",
            "../x",
            "",
        ] {
            assert!(Reference::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Reference::parse(&format!("oci://h/a@sha256:{}", D.to_uppercase())).is_err());
    }

    #[test]
    fn a_resolved_reference_stays_where_the_source_points() {
        let at = |s: &str| format!("oci://{s}@sha256:{D}");
        let tag = Reference::parse("oci://h/a:1").unwrap();
        assert!(tag.allows(&at("h/a")));
        for other in [
            at("evil/a"),
            at("h/b"),
            "oci://h/a:1".into(),
            "x.wasm".into(),
        ] {
            assert!(!tag.allows(&other), "{other}");
        }
        let fixed = Reference::parse(&at("h/a")).unwrap();
        assert!(fixed.allows(&at("h/a")));
        assert!(!fixed.allows(&format!("oci://h/a@sha256:{}", "0".repeat(64))));
        let file = Reference::parse("a.wasm").unwrap();
        assert!(file.allows("a.wasm") && !file.allows("b.wasm"));
    }
}
