//! `ralph plugin add|update|remove|lock|verify|pull|push`: what a person does with plugins' sources.
//! Everything is fetched, compiled and checked before the first file changes.

use std::collections::BTreeMap;

use ralph_artifacts::{SIGNATURE_MAX, Signed};
use ralph_config::types::{Config, Plugin};
use ralph_config::{LOCK_FILE, Lock, Locked, Reference, Source, edit, is_sha256};
use ralph_plugins::{Host, Manifest};
use ralph_workspace::{ProjectLock, Workspace};
use serde::Serialize;

use crate::error::Error;
use crate::project::{CONFIG_PATHS, Project};
use crate::records;
use crate::sourcing::{Artifact, Policy, Sourcing};

const CONFIG_MAX: u64 = 1 << 20;

/// What became of one plugin.
#[derive(Debug, Clone, Serialize)]
pub struct Done {
    /// Its entry in the lock file.
    #[serde(flatten)]
    pub entry: Locked,
    /// Did a trusted key sign it?
    pub signed: bool,
    /// Is that something new?
    pub changed: bool,
}

/// Whether one plugin is what it has to be.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    /// `[plugins.<name>]`
    pub name: String,
    /// Its source.
    pub source: String,
    /// Did a trusted key sign it?
    pub signed: bool,
    /// What is wrong.
    pub error: Option<String>,
}

/// Adds a plugin to the configuration and to the lock file.
///
/// # Errors
/// It can't be had, is no component, or the configuration can't take it. Nothing has changed then.
pub async fn add(
    project: &Project,
    host: &Host,
    source: &str,
    name: Option<&str>,
    sha256: Option<&str>,
) -> Result<Done, Error> {
    let reference = Reference::parse(source).map_err(Error::Usage)?;
    if let Some(sha256) = sha256.filter(|s| !is_sha256(s)) {
        return Err(Error::Usage(format!(
            "{sha256:?} is no SHA-256 in lower-case hexadecimal digits"
        )));
    }
    let stem = stem(&reference);
    let wished = name.unwrap_or(&stem);
    let plugin = table(source, sha256);
    let (artifact, manifest) = match reference {
        Reference::Builtin(_) => (None, None),
        _ => {
            let artifact = resolve(project, wished, &plugin, sha256).await?;
            let component = host.load(wished, source, &artifact.bytes).await?;
            let manifest = component.manifest().cloned();
            (Some(artifact), manifest)
        }
    };
    let name = name.unwrap_or_else(|| manifest.as_ref().map_or(stem.as_str(), |m| m.name.as_str()));
    let (path, text) = change(project, |file| edit::add_plugin(file, name, source, sha256))?;
    let Some(artifact) = artifact else {
        let entry = Locked {
            name: name.to_owned(),
            source: source.to_owned(),
            resolved: source.to_owned(),
            sha256: String::new(),
            version: None,
        };
        let _held = hold(&project.ws)?;
        project.ws.write(&path, text.as_bytes())?;
        return Ok(Done {
            entry,
            signed: false,
            changed: true,
        });
    };
    let entry = entry(name, source, &artifact, manifest.as_ref());
    let _held = hold(&project.ws)?;
    let mut lock = Sourcing::asked(project)?.pins.lock.unwrap_or_default();
    lock.set(entry.clone());
    write(&project.ws, &lock, &[(path, text)])?;
    Ok(Done {
        entry,
        signed: artifact.signed == Signed::Trusted,
        changed: true,
    })
}

/// Takes a plugin out of the configuration and the lock file.
///
/// # Errors
/// There is none of that name, or something uses it.
pub fn remove(project: &Project, name: &str) -> Result<(), Error> {
    let (path, text) = change(project, |file| edit::remove_plugin(file, name))?;
    let _held = hold(&project.ws)?;
    let mut lock = Sourcing::asked(project)?.pins.lock;
    match &mut lock {
        Some(lock) => {
            lock.remove(name);
            write(&project.ws, lock, &[(path, text)])
        }
        None => Ok(project.ws.write(&path, text.as_bytes())?),
    }
}

/// Writes the lock file: files as they are, what was fetched as it was pinned. Those in `anew`
/// (all, if it is empty and `update`) are asked for what they stand for now.
///
/// # Errors
/// A plugin can't be had or used. Nothing has changed then.
pub async fn lock(
    project: &Project,
    host: &Host,
    update: bool,
    anew: &[String],
) -> Result<Vec<Done>, Error> {
    let plugins = own(&project.config);
    if let Some(name) = anew.iter().find(|name| !plugins.contains_key(*name)) {
        return Err(Error::Usage(format!(
            "there is no plugin `{name}` in [plugins] that isn't built in"
        )));
    }
    let old = Sourcing::asked(project)?.pins.lock.unwrap_or_default();
    let (mut new, mut done, mut files) = (Lock::default(), Vec::new(), BTreeMap::new());
    for (name, plugin) in plugins {
        let fresh = update && (anew.is_empty() || anew.contains(name));
        let before = old.get(name);
        let kept = before.filter(|entry| {
            let remote = Reference::parse(&plugin.source).is_ok_and(|r| r.is_remote());
            let same = entry.source == plugin.source;
            let pinned = plugin.sha256.as_ref().is_none_or(|s| *s == entry.sha256);
            remote && same && pinned && !fresh
        });
        let (artifact, resolved) = match kept {
            Some(entry) => {
                let at = Plugin {
                    source: entry.resolved.clone(),
                    ..plugin.clone()
                };
                let artifact = resolve(project, name, &at, Some(&entry.sha256)).await?;
                (artifact, Some(entry.resolved.clone()))
            }
            None => {
                let pinned = plugin.sha256.as_deref().filter(|_| !fresh);
                (resolve(project, name, plugin, pinned).await?, None)
            }
        };
        if plugin
            .sha256
            .as_ref()
            .is_some_and(|s| *s != artifact.sha256)
        {
            let sha256 = artifact.sha256.clone();
            for path in CONFIG_PATHS {
                if let Some(file) = file(&project.ws, path, &files)? {
                    let text = edit::set_sha256(&file, name, &sha256)?;
                    if text != file.text {
                        files.insert(path.to_owned(), text);
                    }
                }
            }
        }
        let component = host.load(name, &plugin.source, &artifact.bytes).await?;
        let mut entry = entry(name, &plugin.source, &artifact, component.manifest());
        if let Some(resolved) = resolved {
            entry.resolved = resolved;
        }
        done.push(Done {
            changed: before != Some(&entry),
            signed: artifact.signed == Signed::Trusted,
            entry: entry.clone(),
        });
        new.set(entry);
    }
    if Policy::now().locked && (new != old || !files.is_empty()) {
        return Err(Error::Usage(format!(
            "{LOCK_FILE} would have to change, which --locked forbids"
        )));
    }
    let _held = hold(&project.ws)?;
    let files: Vec<(String, String)> = files.into_iter().collect();
    write(&project.ws, &new, &files)?;
    Ok(done)
}

/// Looks whether each plugin is here and is what it has to be. Fetches nothing.
///
/// # Errors
/// The lock file can't be used at all.
pub async fn verify(project: &Project) -> Result<Vec<Verified>, Error> {
    each(project, Sourcing::asked(project)?.offline()?).await
}

/// Fetches what isn't in the store yet, as it is pinned.
///
/// # Errors
/// The lock file can't be used at all.
pub async fn pull(project: &Project) -> Result<Vec<Verified>, Error> {
    each(project, Sourcing::asked(project)?).await
}

async fn each(project: &Project, sourcing: Sourcing) -> Result<Vec<Verified>, Error> {
    let plugins = own(&project.config);
    let plugins: Vec<(String, Plugin)> = plugins
        .into_iter()
        .map(|(name, plugin)| (name.clone(), plugin.clone()))
        .collect();
    blocking(move || {
        let verified = |(name, plugin): (String, Plugin)| {
            let got = sourcing.load(&name, &plugin);
            Verified {
                name,
                source: plugin.source,
                signed: got.as_ref().is_ok_and(|a| a.signed == Signed::Trusted),
                error: got.err().map(|e| e.to_string()),
            }
        };
        Ok(plugins.into_iter().map(verified).collect())
    })
    .await
}

/// Puts a plugin of the project, or a component's file, into a registry; the reference with its
/// digest.
///
/// # Errors
/// It is no component, or the registry doesn't take it.
pub async fn push(project: &Project, host: &Host, what: &str, to: &str) -> Result<String, Error> {
    let Ok(Reference::Oci(to)) = Reference::parse(to) else {
        return Err(Error::Usage(format!(
            "{to:?} is no reference; write oci://registry/repository:tag"
        )));
    };
    let sourcing = Sourcing::asked(project)?;
    let plugin = match project.config.plugins.get(what) {
        Some(plugin) => plugin.clone(),
        None => table(what, None),
    };
    let signature = match Reference::parse(&plugin.source) {
        Ok(Reference::Path(path)) => project
            .ws
            .read(&format!("{path}.minisig"), SIGNATURE_MAX)?
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    };
    let name = what.to_owned();
    let (sourcing, artifact) = blocking(move || {
        let artifact = sourcing.load(&name, &plugin)?;
        Ok((sourcing, artifact))
    })
    .await?;
    let component = host.load(what, what, &artifact.bytes).await?;
    let version = component.manifest().map(|m| m.version.clone());
    blocking(move || {
        let pushed = sourcing.fetcher().push(
            &to,
            &artifact.bytes,
            version.as_deref(),
            signature.as_deref(),
        );
        Ok(pushed?)
    })
    .await
}

/// The plugins that aren't built in.
fn own(config: &Config) -> BTreeMap<&String, &Plugin> {
    let plugins = config.plugins.iter();
    plugins.filter(|(_, p)| p.builtin().is_none()).collect()
}

fn table(source: &str, sha256: Option<&str>) -> Plugin {
    Plugin {
        source: source.to_owned(),
        sha256: sha256.map(str::to_owned),
        require_signature: false,
        on_failure: Default::default(),
        allow: Default::default(),
        limits: Default::default(),
        config: Default::default(),
    }
}

/// What a plugin is called if nobody says otherwise.
fn stem(reference: &Reference) -> String {
    let text = match reference {
        Reference::Oci(name) => name.repository.clone(),
        other => other.to_string(),
    };
    let text = text.split('?').next().unwrap_or_default();
    let last = text.rsplit(['/', ':']).next().unwrap_or_default();
    last.trim_end_matches(".wasm").to_owned()
}

fn entry(name: &str, source: &str, artifact: &Artifact, manifest: Option<&Manifest>) -> Locked {
    Locked {
        name: name.to_owned(),
        source: source.to_owned(),
        resolved: artifact.resolved.clone(),
        sha256: artifact.sha256.clone(),
        version: manifest.map(|manifest| manifest.version.clone()),
    }
}

async fn resolve(
    project: &Project,
    name: &str,
    plugin: &Plugin,
    sha256: Option<&str>,
) -> Result<Artifact, Error> {
    let sourcing = Sourcing::asked(project)?;
    let (name, plugin) = (name.to_owned(), plugin.clone());
    let sha256 = sha256.map(str::to_owned);
    blocking(move || sourcing.resolve(&name, &plugin, sha256.as_deref())).await
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|e| Err(Error::Usage(format!("it was given up: {e}"))))
}

fn file(
    ws: &Workspace,
    path: &str,
    changed: &BTreeMap<String, String>,
) -> Result<Option<Source>, Error> {
    let source = |text: String| Source {
        name: path.to_owned(),
        text,
    };
    if let Some(text) = changed.get(path) {
        return Ok(Some(source(text.clone())));
    }
    match ws.read(path, CONFIG_MAX)? {
        Some(bytes) => Ok(Some(Source::from_bytes(path, &bytes)?)),
        None => Ok(None),
    }
}

/// Changes the configuration file, the one that counts most; its path and its new text, which has
/// been read as a configuration again.
fn change(
    project: &Project,
    change: impl Fn(&Source) -> Result<String, ralph_config::ConfigError>,
) -> Result<(String, String), Error> {
    let none = BTreeMap::new();
    let mut files = Vec::new();
    for path in CONFIG_PATHS {
        files.extend(file(&project.ws, path, &none)?);
    }
    if files.is_empty() {
        files.push(Source {
            name: CONFIG_PATHS[1].to_owned(),
            text: String::new(),
        });
    }
    let Some(last) = files.last_mut() else {
        return Err(Error::Usage("there is no configuration file".into()));
    };
    last.text = change(last)?;
    let changed = (last.name.clone(), last.text.clone());
    ralph_config::load(&files)?;
    Ok(changed)
}

/// No run may be on: what decides what runs doesn't change under it.
fn hold(ws: &Workspace) -> Result<ProjectLock, Error> {
    let lock = ProjectLock::acquire(ws)?;
    if !ws.exists(records::IGNORE.0) {
        ws.write_relaxed(records::IGNORE.0, records::IGNORE.1.as_bytes())?;
    }
    Ok(lock)
}

/// All files, or none: what was written is put back if a later one can't be.
fn write(ws: &Workspace, lock: &Lock, files: &[(String, String)]) -> Result<(), Error> {
    let text = lock.to_text();
    let lock = (LOCK_FILE.to_owned(), text);
    let mut undo: Vec<(&str, Option<Vec<u8>>)> = Vec::new();
    for (path, text) in std::iter::once(&lock).chain(files) {
        let before = ws.read(path, CONFIG_MAX)?;
        if before.as_deref() == Some(text.as_bytes()) {
            continue;
        }
        if let Err(e) = ws.write(path, text.as_bytes()) {
            for (path, before) in undo {
                let _ = match before {
                    Some(bytes) => ws.write(path, &bytes),
                    None => ws.remove_file(path),
                };
            }
            return Err(e.into());
        }
        undo.push((path, before));
    }
    Ok(())
}
