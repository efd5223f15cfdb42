//! The built-in components: built when their sources changed, put where the
//! host's build finds them.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use crate::command::{cargo, minutes, run};
use crate::guest::{self, Guest, TARGET};
use crate::paths;
use crate::steps::Steps;

/// Steps that [`setup`] takes.
pub const STEPS: usize = 2;

/// `cargo xtask setup`
pub fn setup_only() -> Result<(), String> {
    let mut steps = Steps::new(STEPS);
    setup(&mut steps)?;
    eprintln!("Done. `cargo build` works now.");
    Ok(())
}

/// A toolchain and the components, as two steps.
pub fn setup(steps: &mut Steps) -> Result<(), String> {
    let guest = steps.step("guest toolchain", || {
        let guest = guest::toolchain()?;
        eprintln!("      {}", guest.what);
        Ok(guest)
    })?;
    steps.step("components", || build(&guest))
}

fn build(guest: &Guest) -> Result<(), String> {
    let names = names()?;
    let stamp = paths::components().join(".stamp");
    let sources = sources(guest)?;
    if fs::read_to_string(&stamp).is_ok_and(|old| Some(old) == whole(sources, &names)) {
        eprintln!("      {} components are up to date", names.len());
        return Ok(());
    }
    let manifest = paths::root().join("plugins/Cargo.toml");
    compile(guest, &manifest, &paths::guest_target())?;
    put(&names)?;
    let new = whole(sources, &names).ok_or("the components are gone again")?;
    fs::write(&stamp, new).map_err(|e| format!("{}: {e}", stamp.display()))
}

/// `cargo xtask guest DIR`: somebody's own component, with the toolchain that is there.
pub fn build_guest(dir: &str) -> Result<(), String> {
    let dir = std::path::absolute(dir).map_err(|e| format!("{dir}: {e}"))?;
    let manifest = dir.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(format!(
            "{}: there is no Cargo.toml; name the folder of a Rust package",
            dir.display()
        ));
    }
    let guest = guest::toolchain()?;
    eprintln!("      {}", guest.what);
    let target = dir.join("target");
    compile(&guest, &manifest, &target)?;
    let made = target.join(TARGET).join("release");
    eprintln!("The component is in {}", made.display());
    Ok(())
}

fn compile(guest: &Guest, manifest: &Path, target: &Path) -> Result<(), String> {
    let mut command = cargo(["build", "--release", "--target", TARGET]);
    command
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .args(&guest.args);
    // What was meant for the host's code does not fit the guests'.
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
    ] {
        command.env_remove(name);
    }
    command.envs(guest.env.iter().map(|(name, value)| (name, value)));
    run(&mut command, minutes(30))
}

/// Copies what differs, so that cargo sees a change only where there is one.
fn put(names: &[String]) -> Result<(), String> {
    let from = paths::guest_target().join(TARGET).join("release");
    let to = paths::components();
    fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
    fs::create_dir_all(to.join(TESTS)).map_err(|e| format!("{}: {e}", to.display()))?;
    for name in names {
        let built = from.join(format!("{}.wasm", name.replace('-', "_")));
        let bytes = fs::read(&built).map_err(|e| format!("{}: {e}", built.display()))?;
        let file = file_of(name);
        if fs::read(&file).is_ok_and(|old| old == bytes) {
            continue;
        }
        // Renamed into place: a build that runs beside this one sees a whole file.
        let part = to.join(format!("{name}.part"));
        fs::write(&part, bytes)
            .and_then(|()| fs::rename(&part, &file))
            .map_err(|e| format!("{}: {e}", file.display()))?;
    }
    remove_others(&to, names);
    Ok(())
}

/// Those for tests lie apart, and don't get into the host.
const TESTS: &str = "tests";

fn file_of(name: &str) -> PathBuf {
    let dir = paths::components();
    match name.strip_prefix("test-") {
        Some(name) => dir.join(TESTS).join(format!("{name}.wasm")),
        None => dir.join(format!("{name}.wasm")),
    }
}

/// Components of plugins that are gone.
fn remove_others(dir: &Path, names: &[String]) {
    for file in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = file.path();
        let known = path
            .file_stem()
            .is_some_and(|stem| names.iter().any(|n| stem == n.as_str()));
        if path.extension().is_some_and(|e| e == "wasm") && !known {
            let _ = fs::remove_file(path);
        }
    }
}

/// The packages below `plugins/` that become components.
fn names() -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for kind in children(&paths::root().join("plugins"))? {
        for package in children(&kind).unwrap_or_default() {
            if let Ok(manifest) = fs::read_to_string(package.join("Cargo.toml")) {
                names.extend(component(&manifest));
            }
        }
    }
    if names.is_empty() {
        Err("there is no component below plugins/".into())
    } else {
        Ok(names)
    }
}

/// The package's name, if its manifest says that a component comes of it.
fn component(manifest: &str) -> Option<String> {
    let mut lines = manifest
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    lines
        .any(|line| line.contains("\"cdylib\""))
        .then_some(())?;
    let name = manifest
        .lines()
        .find_map(|line| line.strip_prefix("name")?.trim().strip_prefix('='))?;
    Some(name.trim().trim_matches('"').to_string())
}

/// What decides what the components are: sources and toolchain.
fn sources(guest: &Guest) -> Result<u64, String> {
    let mut hash = DefaultHasher::new();
    hash.write(format!("{guest:?}").as_bytes());
    for dir in ["plugins", "sdk/rust", "wit"] {
        add(&paths::root().join(dir), &mut hash)?;
    }
    Ok(hash.finish())
}

fn add(path: &Path, hash: &mut DefaultHasher) -> Result<(), String> {
    if path.is_dir() {
        for child in children(path)? {
            let name = child.file_name();
            // What dependencies were taken is told by `whole`: a build may write it. The service's
            // client beside the crate for plugins is none of theirs.
            let left_out = ["target", "Cargo.lock", "client"];
            if name.is_some_and(|name| left_out.iter().all(|out| name != *out)) {
                add(&child, hash)?;
            }
        }
        return Ok(());
    }
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    hash.write(
        path.strip_prefix(paths::root())
            .unwrap_or(path)
            .as_os_str()
            .as_encoded_bytes(),
    );
    hash.write_usize(bytes.len());
    hash.write(&bytes);
    Ok(())
}

/// The stamp: hashes of what they were made from and of what was made. None if
/// there is a file missing.
fn whole(sources: u64, names: &[String]) -> Option<String> {
    let lock = content(&paths::root().join("plugins/Cargo.lock"))?;
    let mut text = format!("{sources:016x}\n{lock:016x}\n");
    for name in names {
        let component = content(&file_of(name))?;
        text += &format!("{component:016x} {name}\n");
    }
    Some(text)
}

fn content(file: &Path) -> Option<u64> {
    let mut hash = DefaultHasher::new();
    hash.write(&fs::read(file).ok()?);
    Some(hash.finish())
}

/// Sorted.
fn children(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_that_become_components_are_named() {
        let lib = "[package]\nname = \"gate-common\"\n# no \"cdylib\" here\n[lib]\n";
        let gate =
            "[package]\nname = \"gate-command\"\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n";
        assert_eq!(component(lib), None);
        assert_eq!(component(gate).as_deref(), Some("gate-command"));
    }
}
