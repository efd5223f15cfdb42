//! The logins that `docker login` and `podman login` keep.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::error::ArtifactError;

const CONFIG_MAX: u64 = 4 << 20;
const HELPER_MAX: u64 = 256 << 10;
/// A helper may ask a key ring.
const HELPER_TIME: Duration = Duration::from_secs(30);

pub(super) enum Login {
    Password {
        name: String,
        password: String,
    },
    /// To be changed for a token of the registry's.
    Token(String),
}

/// As far as it is of interest.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    auths: BTreeMap<String, Entry>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    identitytoken: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Told {
    username: String,
    secret: String,
}

/// The login for a registry, if there is one.
pub(super) fn login(registry: &str) -> Result<Option<Login>, ArtifactError> {
    let Some(path) = path() else { return Ok(None) };
    let failed = |why: String| ArtifactError::fetch(path.display(), why);
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(e.to_string())),
    };
    let mut bytes = Vec::new();
    file.take(CONFIG_MAX)
        .read_to_end(&mut bytes)
        .map_err(|e| failed(e.to_string()))?;
    // What the parser says would quote from a file with passwords.
    let config: Config = serde_json::from_slice(&bytes)
        .map_err(|e| failed(format!("line {}: it is no Docker configuration", e.line())))?;
    for key in keys(registry) {
        let helper = config.cred_helpers.get(&key);
        let helper = helper.or(config
            .creds_store
            .as_ref()
            .filter(|_| config.auths.contains_key(&key)));
        if let Some(helper) = helper {
            return ask(helper, &key).map_err(failed);
        }
        if let Some(entry) = config.auths.get(&key) {
            return entry.login().map_err(|why| failed(format!("{key}: {why}")));
        }
    }
    Ok(None)
}

/// `$DOCKER_CONFIG/config.json`, else that in the home.
fn path() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let dir = set("DOCKER_CONFIG").or_else(|| set("HOME").map(|home| home.join(".docker")))?;
    Some(dir.join("config.json"))
}

/// The names under which logins of a registry stand.
fn keys(registry: &str) -> Vec<String> {
    let own = [registry.to_owned(), format!("https://{registry}")];
    let docker = ["https://index.docker.io/v1/".to_owned()];
    if registry == "docker.io" {
        docker.into_iter().chain(own).collect()
    } else {
        own.into()
    }
}

impl Entry {
    fn login(&self) -> Result<Option<Login>, String> {
        if let Some(token) = self.identitytoken.as_ref().filter(|t| !t.is_empty()) {
            return Ok(Some(Login::Token(token.clone())));
        }
        let Some(auth) = self.auth.as_ref().filter(|a| !a.is_empty()) else {
            return Ok(None);
        };
        let wrong = || "its `auth` isn't name and password in base64".to_owned();
        let bytes = STANDARD.decode(auth).map_err(|_| wrong())?;
        let text = String::from_utf8(bytes).map_err(|_| wrong())?;
        let (name, password) = text.split_once(':').ok_or_else(wrong)?;
        Ok(Some(Login::Password {
            name: name.to_owned(),
            // Some tools fill it up with NULs.
            password: password.trim_end_matches('\0').to_owned(),
        }))
    }
}

/// Asks `docker-credential-<helper>`.
fn ask(helper: &str, key: &str) -> Result<Option<Login>, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if helper.is_empty() || !helper.bytes().all(plain) {
        return Err(format!("{helper:?} is no name of a credential helper"));
    }
    let program = format!("docker-credential-{helper}");
    let failed = |why: String| format!("{program}: {why}");
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| failed(e.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        let _ = writeln!(input, "{key}");
    }
    let (tell, told) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = output.take(HELPER_MAX).read_to_end(&mut bytes);
            let _ = tell.send(read.map(|_| bytes));
        });
    }
    let answer = told.recv_timeout(HELPER_TIME);
    if answer.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| failed(e.to_string()))?;
    let Ok(Ok(bytes)) = answer else {
        return Err(failed("it doesn't answer".into()));
    };
    if !status.success() {
        // So says the protocol; the words differ.
        let none = String::from_utf8_lossy(&bytes).contains("not found");
        return match none {
            true => Ok(None),
            false => Err(failed(format!("it ends with {status}"))),
        };
    }
    let told: Told =
        serde_json::from_slice(&bytes).map_err(|_| failed("it gives no login".into()))?;
    Ok(Some(if told.username == "<token>" {
        Login::Token(told.secret)
    } else {
        Login::Password {
            name: told.username,
            password: told.secret,
        }
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn entry(json: &str) -> Result<Option<Login>, String> {
        serde_json::from_str::<Entry>(json).unwrap().login()
    }

    #[test]
    fn an_entry_is_a_password_a_token_or_nothing() {
        let auth = STANDARD.encode("me:pass:word\0");
        match entry(&format!(r#"{{"auth":"{auth}","email":"x"}}"#)) {
            Ok(Some(Login::Password { name, password })) => {
                assert_eq!((name.as_str(), password.as_str()), ("me", "pass:word"));
            }
            _ => panic!("a password"),
        }
        assert!(matches!(
            entry(r#"{"auth":"x","identitytoken":"t"}"#),
            Ok(Some(Login::Token(_)))
        ));
        assert!(matches!(entry("{}"), Ok(None)));
        for bad in ["!", "bWU="] {
            assert!(entry(&format!(r#"{{"auth":"{bad}"}}"#)).is_err(), "{bad}");
        }
        assert!(ask("../evil", "x").is_err());
    }
}
