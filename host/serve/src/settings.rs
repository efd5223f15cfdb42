//! `serve.toml`: where the service listens, which workspaces it has, who may ask.
//! It is the operator's file, outside any repository.

mod check;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ralph_config::units::{Size, Span};
use ralph_runner::Error;
use ralph_runner::trust::user_dir;
use serde::Deserialize;

use crate::auth::Role;

/// A file may be this big.
const FILE_MAX: u64 = 1 << 20;

/// All of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The service as such.
    #[serde(default)]
    pub serve: Serve,
    /// Repositories whose runs it takes, by the name clients use.
    #[serde(default)]
    pub workspaces: BTreeMap<Slug, Workspace>,
    /// Static bearer tokens, by the name that the audit has for whoever bears them.
    #[serde(default)]
    pub tokens: BTreeMap<Slug, StaticToken>,
    /// Keys of minted tokens, by `kid`. All are good for verifying.
    #[serde(default)]
    pub keys: BTreeMap<Slug, Secret>,
    /// How tokens are minted.
    #[serde(default)]
    pub mint: Mint,
    /// Where audit events are sent as well.
    #[serde(default)]
    pub relay: Option<Relay>,
    /// The file that says all this.
    #[serde(skip)]
    pub path: PathBuf,
}

/// `[serve]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Serve {
    /// Address and port; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Runs at a time.
    pub max_runs: u16,
    /// Runs that may wait.
    pub max_queued: u32,
    /// Where store, audit and worktrees are; `${XDG_STATE_HOME:-~/.local/state}/ralph/serve` if nothing is said.
    pub data: Option<PathBuf>,
    /// Other machines may come.
    pub allow_remote: bool,
    /// Others may come unencrypted: something in front of the service encrypts.
    pub allow_plain: bool,
    /// Encrypts.
    pub tls: Option<Tls>,
    /// Names by which it is reached, beside its own address.
    pub hosts: Vec<String>,
    /// Pages of which origin may ask, e.g. `https://console.example`.
    pub origins: Vec<String>,
    /// Requests per second and token; twice as many in a burst.
    pub rate: u32,
    /// A request's body.
    pub body_limit: Size,
    /// Connections at a time.
    pub max_connections: u32,
    /// At the end, an iteration that is on has so long.
    pub drain: Span,
    /// Of so many runs that are over the records stay: receipts, logs, the patch.
    pub runs_kept: u32,
    /// Events kept per run.
    pub events_kept: u32,
    /// A stream on which nothing happens says so this often.
    pub heartbeat: Span,
}

impl Serve {
    /// How addresses of it begin.
    pub fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https://",
            None => "http://",
        }
    }
}

impl Default for Serve {
    fn default() -> Serve {
        let span = |text| Span::parse(text).unwrap_or_default();
        Serve {
            listen: SocketAddr::from(([127, 0, 0, 1], 8765)),
            max_runs: 2,
            max_queued: 1000,
            data: None,
            allow_remote: false,
            allow_plain: false,
            tls: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            rate: 50,
            body_limit: Size::parse("1MiB").unwrap_or_default(),
            max_connections: 1024,
            drain: span("10s"),
            runs_kept: 1000,
            events_kept: 20_000,
            heartbeat: span("15s"),
        }
    }
}

/// `[serve.tls]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The chain of certificates, PEM.
    pub cert: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// Only clients with a certificate by one of these come in, PEM.
    pub client_ca: Option<PathBuf>,
}

/// `[workspaces.<slug>]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workspace {
    /// A project's root.
    pub path: PathBuf,
}

/// `[tokens.<name>]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticToken {
    /// What its bearer may do.
    pub role: Role,
    /// In which workspaces; in all, if left out.
    pub workspaces: Option<Vec<Slug>>,
    /// A file that holds it.
    pub file: Option<PathBuf>,
    /// A variable that holds it.
    pub env: Option<String>,
}

/// A secret: in a file or in a variable.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    /// A file that holds it.
    pub file: Option<PathBuf>,
    /// A variable that holds it.
    pub env: Option<String>,
}

/// `[mint]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mint {
    /// Which of `[keys]` signs; the only one, if there is only one.
    pub key: Option<Slug>,
    /// No token is good for longer.
    pub max_ttl: Span,
}

impl Default for Mint {
    fn default() -> Mint {
        Mint {
            key: None,
            max_ttl: Span::parse("1h").unwrap_or_default(),
        }
    }
}

/// `[relay]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relay {
    /// Where each event is sent by POST.
    pub url: String,
    /// A variable with the bearer token to send along.
    pub token_env: Option<String>,
}

/// A name in addresses and records: lower-case letters, digits, `-`, `_`; at most 64.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Slug(String);

impl Slug {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Slug {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Slug {
    type Error = String;

    fn try_from(text: String) -> Result<Slug, String> {
        let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(good) || text.starts_with('-') {
            return Err(format!(
                "`{}` is no name: lower-case letters, digits, `-` and `_`, at most 64 of them, no `-` first",
                ralph_engine::text::one_line(&text, 40)
            ));
        }
        Ok(Slug(text))
    }
}

impl Settings {
    /// Where the file is, if nothing else is said.
    ///
    /// # Errors
    /// There is no home.
    pub fn place() -> Result<PathBuf, Error> {
        Ok(user_dir("XDG_CONFIG_HOME", ".config")?.join("serve.toml"))
    }

    /// Reads and checks it. Paths in it are relative to its own directory.
    ///
    /// # Errors
    /// It isn't there, or says what can't be.
    pub fn read(path: &Path) -> Result<Settings, Error> {
        let shown = path.display().to_string();
        let bytes = match std::fs::metadata(path).map(|m| m.len()) {
            Ok(size) if size > FILE_MAX => {
                return Err(Error::Usage(format!("{shown}: longer than 1024 KiB")));
            }
            Ok(_) => std::fs::read(path),
            Err(e) => Err(e),
        };
        let bytes = bytes.map_err(|e| {
            Error::Usage(format!(
                "{shown}: {e}. `ralph serve` reads its workspaces and tokens there; the README shows one, --config names another file"
            ))
        })?;
        let mut settings: Settings = ralph_config::strict(&shown, &bytes)?;
        settings.path = path.to_owned();
        let dir = path.parent().unwrap_or(Path::new(""));
        for workspace in settings.workspaces.values_mut() {
            workspace.path = dir.join(&workspace.path);
        }
        if let Some(tls) = &mut settings.serve.tls {
            let files = [
                Some(&mut tls.cert),
                Some(&mut tls.key),
                tls.client_ca.as_mut(),
            ];
            for file in files.into_iter().flatten() {
                *file = dir.join(&*file);
            }
        }
        let tokens = settings.tokens.values_mut().filter_map(|t| t.file.as_mut());
        let keys = settings.keys.values_mut().filter_map(|k| k.file.as_mut());
        for file in tokens.chain(keys).chain(settings.serve.data.as_mut()) {
            *file = dir.join(&*file);
        }
        settings
            .check()
            .map_err(|what| Error::Usage(format!("{shown}: {what}")))?;
        Ok(settings)
    }

    /// What a run's programs have no business with: this file, what it says secrets stand in, and all that
    /// the service keeps (a run's own worktree in there is shown to it).
    pub fn kept(&self) -> Vec<PathBuf> {
        let tokens = self.tokens.values().filter_map(|t| t.file.as_ref());
        let keys = self.keys.values().filter_map(|k| k.file.as_ref());
        let tls = self.serve.tls.as_ref().map(|tls| &tls.key);
        let files = tokens.chain(keys).chain(tls).chain([&self.path]);
        let mut kept: Vec<PathBuf> = files.cloned().collect();
        kept.extend(self.data());
        // A name on the command line may be one in the working directory.
        kept.iter()
            .filter_map(|p| std::path::absolute(p).ok())
            .collect()
    }

    /// Where store, audit and worktrees are.
    ///
    /// # Errors
    /// There is no home.
    pub fn data(&self) -> Result<PathBuf, Error> {
        match &self.serve.data {
            Some(data) => Ok(data.clone()),
            None => Ok(user_dir("XDG_STATE_HOME", ".local/state")?.join("serve")),
        }
    }
}

/// The text of a secret that stands in a file or in a variable; never on a command line.
///
/// # Errors
/// It stands in both or in neither, or can't be read.
pub fn secret(table: &str, file: Option<&Path>, env: Option<&str>) -> Result<String, Error> {
    let text = match (file, env) {
        (Some(file), None) => std::fs::read_to_string(file)
            .map_err(|e| Error::Usage(format!("{table} file: {}: {e}", file.display())))?,
        (None, Some(name)) => {
            ralph_process::withhold(name);
            std::env::var(name)
                .map_err(|_| Error::Usage(format!("{table} env: the variable {name} isn't set")))?
        }
        _ => {
            return Err(Error::Usage(format!(
                "{table}: say either `file` or `env`, where the secret stands"
            )));
        }
    };
    let text = text.trim();
    if text.len() < 16 {
        return Err(Error::Usage(format!(
            "{table}: the secret has {} characters; 16 are the least, for instance those of `openssl rand -hex 32`",
            text.len()
        )));
    }
    ralph_process::also_secret(table.trim_matches(['[', ']']), text);
    Ok(text.to_owned())
}
