//! Puts the built-in components into the crate: every `*.wasm` in
//! `target/components` of the workspace, where `cargo xtask setup` puts them, deflated.
//! Their hashes go along, so that no start has to compute them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

/// What a file's name begins with, and the kind it stands for.
const KINDS: [(&str, &str); 5] = [
    ("driver-", "AgentDriver"),
    ("agent-", "Agent"),
    ("gate-", "Gate"),
    ("judge-", "Judge"),
    ("canonicaliser-", "Canonicaliser"),
];

/// Of deflate's 0 to 10. More takes long in an unoptimized build script.
const LEVEL: u8 = 6;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../wit");
    let root =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    match contract(&root.join("wit")) {
        Ok(digest) => println!("cargo::rustc-env=RALPH_CONTRACT={digest}"),
        Err(error) => return fail(&format!("cannot read wit/: {error}")),
    }
    let dir = root.join("target/components");
    // A directory that isn't there has cargo look again each time, which is right.
    println!("cargo::rerun-if-changed={}", dir.display());
    let components = match components(&dir) {
        Ok(components) => components,
        Err(error) => return fail(&format!("cannot read {}: {error}", dir.display())),
    };
    if components.is_empty() {
        return fail("the built-in components are missing; run `cargo xtask setup` once");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut code = format!("static BUILTINS: [BuiltIn; {}] = [\n", components.len());
    for (kind, name, path) in components {
        println!("cargo::rerun-if-changed={}", path.display());
        if let Err(error) = put(&mut code, &out, kind, &name, &path) {
            return fail(&format!("cannot pack {}: {error}", path.display()));
        }
    }
    code.push_str("];\n");
    let out = out.join("builtins.rs");
    if let Err(error) = fs::write(&out, code) {
        fail(&format!("cannot write {}: {error}", out.display()));
    }
}

/// Writes one component deflated, and the code that names it.
fn put(code: &mut String, out: &Path, kind: &str, name: &str, path: &Path) -> io::Result<()> {
    let bytes = fs::read(path)?;
    let sha256: [u8; 32] = Sha256::digest(&bytes).into();
    let packed = out.join(format!("{kind}-{name}.deflate"));
    fs::write(
        &packed,
        miniz_oxide::deflate::compress_to_vec(&bytes, LEVEL),
    )?;
    let size = bytes.len();
    let _ = writeln!(
        code,
        "    BuiltIn {{ kind: Kind::{kind}, name: {name:?}, size: {size}, sha256: {sha256:?}, \
         deflated: include_bytes!({packed:?}), bytes: OnceLock::new() }},"
    );
    Ok(())
}

/// A hash over the contract: what was checked against another doesn't count.
fn contract(dir: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        files.push(entry?.path());
    }
    files.sort();
    let mut hash = Sha256::new();
    for path in files.iter().filter(|path| path.is_file()) {
        hash.update(fs::read(path)?);
    }
    Ok(format!("{:x}", hash.finalize()))
}

/// Kind, name and path of each, in the order of [`KINDS`] and then by name.
fn components(dir: &Path) -> io::Result<Vec<(&'static str, String, PathBuf)>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path().canonicalize()?;
        if path.extension().is_none_or(|extension| extension != "wasm") {
            continue;
        }
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let kind = KINDS
            .iter()
            .enumerate()
            .find_map(|(order, (prefix, kind))| {
                Some((order, *kind, stem.strip_prefix(prefix)?.to_string()))
            });
        match kind {
            Some((order, kind, name)) => found.push((order, kind, name, path)),
            None => println!(
                "cargo::warning={} is left out: its name does not begin with a kind",
                path.display()
            ),
        }
    }
    found.sort_by(|a, b| (a.0, &a.2).cmp(&(b.0, &b.2)));
    Ok(found
        .into_iter()
        .map(|(_, kind, name, path)| (kind, name, path))
        .collect())
}

fn fail(message: &str) {
    println!("cargo::error={message}");
}
