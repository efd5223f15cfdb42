//! What a registry wants to see before it answers: a token that it says where to get, or
//! name and password.

use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ralph_config::OciName;
use serde::Deserialize;
use ureq::http::Request;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};

use super::docker::{self, Login};
use super::is_here;
use crate::error::ArtifactError;
use crate::http::Http;

/// A token's answer is not longer.
const TOKEN_MAX: u64 = 256 << 10;

pub(super) struct Auth<'a> {
    http: &'a Http,
    name: &'a OciName,
    known: Mutex<Option<String>>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl<'a> Auth<'a> {
    pub(super) fn new(http: &'a Http, name: &'a OciName) -> Auth<'a> {
        Auth {
            http,
            name,
            known: Mutex::default(),
        }
    }

    /// What authorised the last request.
    pub(super) fn known(&self) -> Option<String> {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What authorises a request, by what the registry asks for.
    pub(super) fn answer(&self, challenge: &str, action: &str) -> Result<String, ArtifactError> {
        let login = docker::login(&self.name.registry)?;
        let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
        let header = if scheme.eq_ignore_ascii_case("basic") {
            match &login {
                Some(Login::Password { name, password }) => basic(name, password),
                _ => {
                    return Err(self
                        .refused("it wants a login; `docker login` or `podman login` makes one"));
                }
            }
        } else if scheme.eq_ignore_ascii_case("bearer") {
            format!("Bearer {}", self.token(rest, action, login.as_ref())?)
        } else {
            return Err(self.refused("it wants a login and doesn't say how"));
        };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(header.clone());
        Ok(header)
    }

    fn token(
        &self,
        challenge: &str,
        action: &str,
        login: Option<&Login>,
    ) -> Result<String, ArtifactError> {
        let field = |key: &str| parameter(challenge, key);
        let realm = field("realm").unwrap_or_default();
        if !self.may_be_told(&realm) {
            return Err(self.refused("it sends logins to an address that isn't https"));
        }
        let service = field("service").unwrap_or_default();
        // Its own words for what it wants, unless it leaves them out.
        let repository = &self.name.repository;
        let scope = field("scope").unwrap_or_else(|| format!("repository:{repository}:{action}"));
        let query = format!("service={}&scope={}", encoded(&service), encoded(&scope));
        let answer = if let Some(Login::Token(token)) = login {
            let body = format!(
                "grant_type=refresh_token&client_id=ralph&{query}&refresh_token={}",
                encoded(token)
            );
            let request = Request::post(&realm)
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(body);
            self.http.ask(&realm, request)?
        } else {
            let joint = if realm.contains('?') { '&' } else { '?' };
            let url = format!("{realm}{joint}{query}");
            let mut request = Request::get(&url);
            if let Some(Login::Password { name, password }) = login {
                request = request.header(AUTHORIZATION, basic(name, password));
            }
            self.http.ask(&url, request.body(()))?
        };
        if answer.status == 401 || answer.status == 403 {
            return Err(self.refused(if login.is_some() {
                "it refuses the login that the Docker configuration has"
            } else {
                "it wants a login; `docker login` or `podman login` makes one"
            }));
        }
        let bytes = answer.good()?.bytes(TOKEN_MAX)?;
        let token: Option<Token> = serde_json::from_slice(&bytes).ok();
        let token = token.and_then(|t| t.token.or(t.access_token));
        token
            .filter(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_graphic()))
            .ok_or_else(|| self.refused("it answers a login with no token"))
    }

    /// A login goes over HTTPS, or stays on this machine.
    fn may_be_told(&self, realm: &str) -> bool {
        match realm.strip_prefix("http://") {
            Some(rest) => {
                let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
                is_here(authority) && is_here(&self.name.registry) && !authority.contains('@')
            }
            None => realm.starts_with("https://"),
        }
    }

    fn refused(&self, why: &str) -> ArtifactError {
        ArtifactError::fetch(self.name, format!("{}: {why}", self.name.registry))
    }
}

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
}

/// The value of `key="value"` in a list of such.
fn parameter(list: &str, key: &str) -> Option<String> {
    let mut rest = list;
    loop {
        let (name, after) = rest.trim_start_matches([' ', ',']).split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if name.trim().eq_ignore_ascii_case(key) {
            return Some(value.trim().to_owned());
        }
        rest = after;
    }
}

fn encoded(text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_challenge_is_read() {
        let list = r#"realm="https://auth.example.org/token",service="reg, with comma",scope="repository:a/b:pull""#;
        assert_eq!(parameter(list, "service").unwrap(), "reg, with comma");
        assert_eq!(parameter(list, "Scope").unwrap(), "repository:a/b:pull");
        assert_eq!(parameter(list, "error"), None);
        assert_eq!(parameter("realm=x, a=b", "a").unwrap(), "b");
        assert_eq!(parameter("realm=\"x", "realm"), None);
        assert_eq!(encoded("a b/ü"), "a%20b%2F%C3%BC");
    }
}
