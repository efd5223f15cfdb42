//! The bytes of a project's own plugins: from their source, and only those that are pinned.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ralph_artifacts::{ArtifactError, Fetcher, Keys, SIGNATURE_MAX, Signed, Wanted};
use ralph_config::types::Plugin;
use ralph_config::{LOCK_FILE, Lock, Locked, Reference, User};
use ralph_workspace::{Workspace, sha256_hex};

use crate::error::Error;
use crate::project::Project;
use crate::trust::{Trust, user_dir};

/// The lock file may be this big.
const LOCK_MAX: u64 = 1 << 20;
/// The user's own configuration may be this big.
const USER_MAX: u64 = 1 << 20;

/// What the command line says about plugins' sources, for the whole process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy {
    /// Every plugin has to be in the lock file as it stands there.
    pub locked: bool,
    /// Nothing is fetched.
    pub offline: bool,
}

static POLICY: OnceLock<Policy> = OnceLock::new();

impl Policy {
    /// Holds from now on. Only the first counts.
    pub fn set(self) {
        let _ = POLICY.set(self);
    }

    /// What holds.
    pub fn now() -> Policy {
        POLICY.get().copied().unwrap_or_default()
    }
}

/// Which bytes plugins have to have.
pub struct Pins {
    pub(crate) lock: Option<Lock>,
}

/// What is pinned of one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    /// What to fetch.
    pub(crate) reference: Reference,
    /// The component's digest, and whether it is the lock file that says so.
    pub(crate) sha256: Option<(String, bool)>,
}

impl Pins {
    /// Those of a project.
    ///
    /// # Errors
    /// The lock file is damaged.
    pub fn of(ws: &Workspace) -> Result<Pins, Error> {
        let bytes = ws.read(LOCK_FILE, LOCK_MAX)?;
        let lock = bytes.map(|bytes| Lock::parse(&bytes)).transpose()?;
        Ok(Pins { lock })
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Locked> {
        self.lock.as_ref().and_then(|lock| lock.get(name))
    }

    /// Configuration and lock file have to agree.
    pub(crate) fn of_plugin(&self, name: &str, plugin: &Plugin) -> Result<Pin, Error> {
        let reference = Reference::parse(&plugin.source).map_err(Error::Usage)?;
        let Some(entry) = self.entry(name) else {
            let sha256 = plugin.sha256.clone().map(|sha256| (sha256, false));
            return Ok(Pin { reference, sha256 });
        };
        let differ = |what: &str, ours: &str, theirs: &str| {
            Error::Usage(format!(
                "plugin `{name}`: {LOCK_FILE} has the {what} {theirs}, [plugins.{name}] has {ours}; `ralph plugin lock` writes {LOCK_FILE} anew"
            ))
        };
        if entry.source != plugin.source {
            return Err(differ("source", &plugin.source, &entry.source));
        }
        if let Some(own) = plugin.sha256.as_ref().filter(|own| **own != entry.sha256) {
            return Err(differ("SHA-256", own, &entry.sha256));
        }
        Ok(Pin {
            reference: Reference::parse(&entry.resolved).map_err(Error::Usage)?,
            sha256: Some((entry.sha256.clone(), true)),
        })
    }

    /// What trust is given to beside the configuration's own words: `None` for files, whose bytes
    /// count, and built-in plugins.
    pub(crate) fn remote(&self, name: &str, plugin: &Plugin) -> Result<Option<String>, Error> {
        let pin = self.of_plugin(name, plugin)?;
        Ok(match (&pin.reference, pin.sha256) {
            (Reference::Path(_) | Reference::Builtin(_), _) => None,
            (_, Some((sha256, _))) => Some(sha256),
            (reference, None) => Some(reference.to_string()),
        })
    }

    /// With `--locked`: would the lock file have to change?
    fn demand(&self, plugins: &BTreeMap<String, Plugin>) -> Result<(), Error> {
        let own = plugins.iter().filter(|(_, p)| p.builtin().is_none());
        let missing = own.map(|(name, _)| name).find(|n| self.entry(n).is_none());
        let entries = self.lock.iter().flat_map(Lock::plugins);
        let is_own = |name: &String| plugins.get(name).is_some_and(|p| p.builtin().is_none());
        let gone = entries.map(|e| &e.name).find(|name| !is_own(name));
        let why = match (missing, gone) {
            (Some(name), _) => format!("the plugin `{name}` isn't in it"),
            (_, Some(name)) => format!("it has the plugin `{name}`, which ralph.toml hasn't"),
            _ => return Ok(()),
        };
        Err(Error::Usage(format!(
            "{LOCK_FILE} would have to change, which --locked forbids: {why}; `ralph plugin lock` writes it"
        )))
    }
}

/// One plugin's bytes, checked.
pub struct Artifact {
    /// The component.
    pub bytes: Vec<u8>,
    /// Its digest.
    pub sha256: String,
    /// What the source stood for.
    pub resolved: String,
    /// Whether a trusted key signed it.
    pub signed: Signed,
}

/// Where a project's plugins are got.
pub struct Sourcing {
    ws: Workspace,
    pub(crate) pins: Pins,
    fetcher: Fetcher,
    keys: Keys,
    require_signature: bool,
    /// Nobody has accepted yet that these addresses are asked.
    untrusted: bool,
}

impl Sourcing {
    /// For a run, or something like it: what isn't here is fetched only once the project is trusted.
    ///
    /// # Errors
    /// Lock file or the user's configuration can't be used, or `--locked` isn't kept.
    pub fn of(project: &Project) -> Result<Sourcing, Error> {
        let plugins = &project.config.plugins;
        let remote = |p: &Plugin| Reference::parse(&p.source).is_ok_and(|r| r.is_remote());
        let untrusted =
            plugins.values().any(remote) && !project.accepted && !Trust::of(project)?.given;
        let mut sourcing = Sourcing::asked(project)?;
        sourcing.untrusted = untrusted;
        if untrusted {
            sourcing.fetcher = Fetcher::new(&store()?, true);
        }
        if Policy::now().locked {
            sourcing.pins.demand(plugins)?;
        }
        Ok(sourcing)
    }

    /// For somebody who asks for just that.
    pub(crate) fn asked(project: &Project) -> Result<Sourcing, Error> {
        let user = user()?;
        Ok(Sourcing {
            ws: project.ws.clone(),
            pins: Pins::of(&project.ws)?,
            fetcher: Fetcher::new(&store()?, Policy::now().offline),
            keys: Keys::parse(&user.trusted_keys)?,
            require_signature: user.require_signature,
            untrusted: false,
        })
    }

    /// The same, and nothing is fetched.
    pub(crate) fn offline(mut self) -> Result<Sourcing, Error> {
        self.fetcher = Fetcher::new(&store()?, true);
        Ok(self)
    }

    /// The bytes of a plugin that isn't built in, as they are pinned. Blocks.
    ///
    /// # Errors
    /// They can't be had, or are others, or aren't signed as they have to be.
    pub fn load(&self, name: &str, plugin: &Plugin) -> Result<Artifact, Error> {
        let pin = self.pins.of_plugin(name, plugin)?;
        let fixed = matches!(&pin.reference, Reference::Oci(name) if name.digest.is_some());
        if pin.reference.is_remote() && pin.sha256.is_none() && !fixed {
            return Err(Error::Usage(format!(
                "plugin `{name}`: {} isn't pinned, so nobody knows what it will be; `ralph plugin lock` pins what it is now, `sha256` in [plugins.{name}] what it has to be",
                plugin.source
            )));
        }
        let artifact = self.get(name, plugin, &pin)?;
        match pin.sha256 {
            Some((wanted, of_lock)) if wanted != artifact.sha256 => {
                let (place, advice) = if of_lock {
                    (
                        LOCK_FILE.to_owned(),
                        "`ralph plugin lock` takes it over".to_owned(),
                    )
                } else {
                    (
                        format!("[plugins.{name}]"),
                        "change `sha256` there".to_owned(),
                    )
                };
                Err(Error::Usage(format!(
                    "plugin `{name}`: {} has the SHA-256 {}, {place} has {wanted}; it is not used. If the change is meant, {advice}",
                    plugin.source, artifact.sha256
                )))
            }
            _ => Ok(artifact),
        }
    }

    /// What a source stands for now, whatever was pinned, but for `sha256`.
    pub(crate) fn resolve(
        &self,
        name: &str,
        plugin: &Plugin,
        sha256: Option<&str>,
    ) -> Result<Artifact, Error> {
        let pin = Pin {
            reference: Reference::parse(&plugin.source).map_err(Error::Usage)?,
            sha256: sha256.map(|sha256| (sha256.to_owned(), false)),
        };
        let artifact = self.get(name, plugin, &pin)?;
        match sha256 {
            Some(wanted) if wanted != artifact.sha256 => Err(Error::Usage(format!(
                "plugin `{name}`: {} has the SHA-256 {}, not {wanted}; `ralph plugin update {name}` would take it over",
                plugin.source, artifact.sha256
            ))),
            _ => Ok(artifact),
        }
    }

    fn get(&self, name: &str, plugin: &Plugin, pin: &Pin) -> Result<Artifact, Error> {
        let required = self.require_signature || plugin.require_signature;
        let signature = required || !self.keys.is_empty();
        let limit = plugin.limits.artifact.bytes();
        let (bytes, sha256, resolved, text) = match &pin.reference {
            Reference::Path(path) => {
                let bytes = self.ws.read(path, limit)?.ok_or_else(|| {
                    Error::Usage(format!(
                        "plugin `{name}`: there is no file {path}, which [plugins.{name}] source names"
                    ))
                })?;
                let text = match signature {
                    true => self.ws.read(&format!("{path}.minisig"), SIGNATURE_MAX)?,
                    false => None,
                };
                let text = text.map(|t| String::from_utf8_lossy(&t).into_owned());
                let sha256 = sha256_hex(&bytes);
                (bytes, sha256, path.clone(), text)
            }
            Reference::Builtin(_) => {
                return Err(Error::Usage(format!("the plugin `{name}` is built in")));
            }
            reference => {
                let wanted = Wanted {
                    reference,
                    sha256: pin.sha256.as_ref().map(|(sha256, _)| sha256.as_str()),
                    limit,
                    signature,
                };
                let got = self.fetcher.fetch(&wanted).map_err(|e| match e {
                    ArtifactError::Offline { from, .. } if self.untrusted => Error::Usage(format!(
                        "plugin `{name}`: {from} isn't here yet, and is fetched only once `ralph trust` has been given"
                    )),
                    e => e.into(),
                })?;
                (got.bytes, got.sha256, got.resolved, got.signature)
            }
        };
        let what = format!("plugin `{name}` ({resolved})");
        let signed = self.keys.check(&what, &bytes, text.as_deref(), required)?;
        Ok(Artifact {
            bytes,
            sha256,
            resolved,
            signed,
        })
    }

    pub(crate) fn fetcher(&self) -> &Fetcher {
        &self.fetcher
    }
}

fn store() -> Result<std::path::PathBuf, Error> {
    Ok(user_dir("XDG_CACHE_HOME", ".cache")?.join("artifacts"))
}

/// The user's own configuration; the defaults if there is none.
fn user() -> Result<User, Error> {
    let path = user_dir("XDG_CONFIG_HOME", ".config")?.join("config.toml");
    let shown = path.display().to_string();
    match std::fs::metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(User::default()),
        Ok(meta) if meta.is_file() && meta.len() <= USER_MAX => {}
        Ok(_) => {
            return Err(Error::Usage(format!(
                "{shown} is no file of an allowed size"
            )));
        }
        Err(e) => return Err(Error::io(&shown, e)),
    }
    let bytes = std::fs::read(&path).map_err(|e| Error::io(&shown, e))?;
    Ok(User::parse(&shown, &bytes)?)
}
