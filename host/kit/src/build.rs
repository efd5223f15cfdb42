//! `ralph plugin build`: the component of a project, checked and with its manifest.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_plugins::{Component, Host, Kind, Manifest, SECTION};
use serde::Serialize;

use crate::error::Error;
use crate::pack;
use crate::project::{self, Project};
use crate::tools;

/// The largest component that is read.
const COMPONENT_MAX: u64 = 64 << 20;

/// The default of a run's plugins is for machines that have nothing else to do.
const COMPILE_MAX: Duration = Duration::from_secs(3600);

/// What is told while something takes long.
pub trait Tell: Send + Sync {
    /// A step begins.
    fn step(&self, what: &str);
    /// A piece of a program's output, as it is.
    fn output(&self, piece: &[u8]);
    /// Are escape sequences of use there?
    fn is_terminal(&self) -> bool {
        false
    }
}

/// A component that was built.
#[derive(Debug, Clone, Serialize)]
pub struct Built {
    /// Its file.
    pub path: PathBuf,
    /// SHA-256.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// What it is.
    pub kinds: Vec<Kind>,
    /// What it imports.
    pub imports: Vec<String>,
    /// What it says of itself.
    pub manifest: Option<Manifest>,
    /// Seconds that its tool chain took.
    pub built_in: f64,
    /// Seconds that compiling it for this machine took; next to nothing if it was known.
    pub compiled_in: f64,
}

/// Builds a project's component. The old one stays until the new one is known to load.
///
/// # Errors
/// The tool chain is missing or refuses, or what it made is no plugin.
pub async fn build(project: &Project, host: &Host, tell: &dyn Tell) -> Result<Built, Error> {
    let began = Instant::now();
    let _held = tools::hold(project)?;
    refresh_world(project)?;
    let made = tools::make(project, tell).await?;
    let mut bytes = read(&made)?;
    if let Some(manifest) = &project.manifest {
        bytes = with_manifest(bytes, manifest)?;
    }
    let built_in = began.elapsed().as_secs_f64();
    tell.step(&format!(
        "compiling {} for this machine",
        size(bytes.len() as u64)
    ));
    let began = Instant::now();
    let origin = made.display().to_string();
    let component = load(host, &project.name, &origin, &bytes).await?;
    let path = project.component();
    put(&path, &bytes)?;
    Ok(Built {
        path,
        sha256: component.digest().to_owned(),
        bytes: component.size(),
        kinds: component.kinds().to_vec(),
        imports: component.imports().to_vec(),
        manifest: component.manifest().cloned(),
        built_in,
        compiled_in: began.elapsed().as_secs_f64(),
    })
}

/// Loads a component, however long that takes: a person waits, and can end it.
///
/// # Errors
/// It is no plugin.
pub async fn load(
    host: &Host,
    name: &str,
    origin: &str,
    bytes: &[u8],
) -> Result<Arc<Component>, Error> {
    let loaded = host.load_within(name, origin, bytes, COMPILE_MAX);
    Ok(loaded.await?)
}

/// Reads a component's file.
///
/// # Errors
/// There is none, or it is too large.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    project::bytes(path, COMPONENT_MAX)?
        .ok_or_else(|| Error::Usage(format!("{} isn't there", path.display())))
}

/// A size as people read it.
pub fn size(bytes: u64) -> String {
    match bytes {
        b if b < 10 << 10 => format!("{b} bytes"),
        b if b < 10 << 20 => format!("{} KiB", b >> 10),
        b => format!("{} MiB", b >> 20),
    }
}

/// The world is what plugin.toml asks for; one that an author wrote by hand stays.
fn refresh_world(project: &Project) -> Result<(), Error> {
    let Some(manifest) = &project.manifest else {
        return Ok(());
    };
    let path = project.dir.join("wit/world.wit");
    let text = project::world(manifest, &project::contract(&project.dir)?);
    let head = text.lines().next().unwrap_or_default();
    let old = project::read(&path)?;
    if old.as_ref().is_some_and(|old| !old.starts_with(head)) {
        return Ok(());
    }
    if !manifest.capabilities.http.is_empty() {
        let lang = project.lang;
        if !lang.sends_requests() {
            return Err(Error::Usage(format!(
                "plugin.toml asks for `http`, which plugins in {lang} can't use yet; those in Rust and Python can"
            )));
        }
        for (file, content) in pack::below("wasi") {
            let path = project.dir.join(format!("wit/deps/wasi-{file}"));
            if project::bytes(&path, COMPONENT_MAX)?.as_deref() != Some(content) {
                put(&path, content)?;
            }
        }
    }
    match old {
        Some(old) if old == text => Ok(()),
        _ => put(&path, text.as_bytes()),
    }
}

/// A new file in its place, or the old one.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(dir)?;
        let mut file = tempfile::Builder::new()
            .prefix(".ralph-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(dir)?;
        std::io::Write::write_all(&mut file, bytes)?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(|e| Error::io(path, e))
}

/// Puts the manifest behind everything else, as a custom section of the component.
fn with_manifest(mut bytes: Vec<u8>, manifest: &Manifest) -> Result<Vec<u8>, Error> {
    let json = serde_json::to_vec(manifest).map_err(|e| Error::Usage(e.to_string()))?;
    let mut content = Vec::new();
    leb128(&mut content, SECTION.len());
    content.extend_from_slice(SECTION.as_bytes());
    content.extend_from_slice(&json);
    bytes.push(0);
    leb128(&mut bytes, content.len());
    bytes.extend_from_slice(&content);
    // It must be found again: a component with one of its own keeps that.
    match Manifest::find(&bytes) {
        Ok(Some(found)) if found == *manifest => Ok(bytes),
        Ok(_) => Err(Error::Tool(
            "what the tool chain made is no component that a manifest can be put into".into(),
        )),
        Err(why) => Err(Error::Usage(format!("the manifest in plugin.toml: {why}"))),
    }
}

fn leb128(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_manifest_is_found_where_it_was_put_and_never_put_twice() {
        let manifest = Manifest {
            name: "n".repeat(190),
            version: "1.0.0".into(),
            kinds: vec![Kind::Gate],
            capabilities: Default::default(),
            contract: "^0.2".into(),
            license: None,
        };
        let empty = b"\0asm\x0d\0\x01\0".to_vec();
        let once = with_manifest(empty, &manifest).unwrap();
        assert_eq!(
            Manifest::find(&once).unwrap().unwrap().name,
            "n".repeat(190)
        );
        assert!(with_manifest(once, &manifest).is_err());
        assert!(with_manifest(b"no component".to_vec(), &manifest).is_err());
    }
}
