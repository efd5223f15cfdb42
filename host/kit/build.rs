//! Packs what `ralph plugin new` and `build` write: templates, the SDKs' sources, the released
//! contract, what of WASI plugins may import, and the adapter for core modules. One deflated archive: for each file the length of
//! its path, the path, the length of its content, the content.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Where the newest released contract is.
const CONTRACT: &str = "0.2.1";

/// In a built crate these are no sources, and the service's clients are no plugin's.
const LEFT_OUT: [&str; 6] = [
    "target",
    "Cargo.lock",
    "README.md",
    "__pycache__",
    "service",
    "client",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = pack() {
        println!("cargo::error=cannot pack the author's kit: {error}");
    }
}

fn pack() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = own.join("../..");
    let mut files = Vec::new();
    for (from, to) in [
        (own.join("templates"), "templates"),
        (root.join("wit/released").join(CONTRACT), "wit"),
        (root.join("sdk"), "sdk"),
        (own.join("wasi"), "wasi"),
    ] {
        println!("cargo::rerun-if-changed={}", from.display());
        add(&from, to, &mut files)?;
    }
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    files.push(("adapter.wasm".to_owned(), adapter.to_vec()));
    files.sort();
    let mut whole = Vec::new();
    for (path, content) in &files {
        for part in [path.as_bytes(), content] {
            let length = u32::try_from(part.len()).map_err(io::Error::other)?;
            whole.extend_from_slice(&length.to_le_bytes());
            whole.extend_from_slice(part);
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let packed = miniz_oxide::deflate::compress_to_vec(&whole, 9);
    fs::write(out.join("kit.deflate"), packed)?;
    println!("cargo::rustc-env=RALPH_KIT_SIZE={}", whole.len());
    println!("cargo::rustc-env=RALPH_KIT_CONTRACT={CONTRACT}");
    Ok(())
}

fn add(dir: &Path, to: &str, files: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let template = to.starts_with("templates");
        if name.starts_with('.') || (!template && LEFT_OUT.contains(&name.as_str())) {
            continue;
        }
        let to = format!("{to}/{name}");
        if entry.file_type()?.is_dir() {
            add(&entry.path(), &to, files)?;
        } else {
            files.push((to, fs::read(entry.path())?));
        }
    }
    Ok(())
}
