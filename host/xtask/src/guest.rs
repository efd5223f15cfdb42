//! A Rust that compiles to wasm32-wasip2: found, or set up.

use std::path::{Path, PathBuf};

use crate::command::{answer, minutes, program, run};
use crate::{apt, paths};

/// The target of all guests.
pub const TARGET: &str = "wasm32-wasip2";

/// A toolchain for guests.
#[derive(Debug)]
pub struct Guest {
    /// For people, and for knowing it again: its version and how it is used.
    pub what: String,
    /// Variables for cargo.
    pub env: Vec<(&'static str, String)>,
    /// Arguments for `cargo build`.
    pub args: Vec<&'static str>,
}

/// Finds a toolchain, or sets one up.
pub fn toolchain() -> Result<Guest, String> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let mut tried = Vec::new();
    if paths::program("rustup").is_some() {
        eprintln!("      rustup target add {TARGET}");
        match run(
            &mut program("rustup", &["target", "add", TARGET]),
            minutes(10),
        ) {
            Ok(()) => match find() {
                Some(found) => return Ok(found),
                None => tried.push("rustup added the target to another toolchain".to_string()),
            },
            Err(reason) => tried.push(reason),
        }
    }
    if apt::is_there() && apt::is_root() {
        match apt::install_rust() {
            Ok(()) => match find() {
                Some(found) => return Ok(found),
                None => tried.push("the installed packages lack a part of what is needed".into()),
            },
            Err(reason) => tried.push(reason),
        }
    }
    Err(advice(&tried, apt::is_there().then(apt::command)))
}

/// What is there already: no network, nothing changed.
fn find() -> Option<Guest> {
    let active = rustc("rustc").filter(|(_, sysroot)| has_target(sysroot));
    if let Some((version, _)) = active {
        return Some(Guest {
            what: version,
            env: Vec::new(),
            args: Vec::new(),
        });
    }
    apt::compilers()
        .into_iter()
        .find_map(|path| distribution(&path))
}

/// A compiler's version and its home.
fn rustc(path: impl AsRef<Path>) -> Option<(String, PathBuf)> {
    let path = path.as_ref();
    let version = answer(&mut program(path, &["--version"]))?;
    let sysroot = answer(&mut program(path, &["--print", "sysroot"]))?;
    Some((version, sysroot.into()))
}

fn has_target(sysroot: &Path) -> bool {
    let lib = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    std::fs::read_dir(lib).is_ok_and(|files| {
        files.flatten().any(|file| {
            let name = file.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    })
}

/// A distribution's compiler: with the target built in, or with all that is
/// needed to compile the standard library for it.
fn distribution(compiler: &Path) -> Option<Guest> {
    let (version, sysroot) = rustc(compiler)?;
    let path = compiler.display().to_string();
    if has_target(&sysroot) {
        let what = format!("{version} ({path})");
        return Some(Guest {
            what,
            env: vec![("RUSTC", path)],
            args: Vec::new(),
        });
    }
    let libc = apt::wasi_libc()?;
    let lib = sysroot.join("lib/rustlib");
    let whole = lib.join("src/rust/library/std").is_dir() && has_linker(&lib);
    whole.then(|| Guest {
        what: format!("{version} ({path}), which compiles std too"),
        env: vec![
            ("RUSTC", path),
            // Compiling std is not stable yet; the distribution ships the
            // sources that belong to exactly this compiler.
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("RUSTFLAGS", format!("-L native={}", libc.display())),
        ],
        // Without the default features: nobody reads a component's backtrace.
        args: vec!["-Zbuild-std=std,panic_abort", "-Zbuild-std-features="],
    })
}

/// The linker that makes components, and the one it calls.
fn has_linker(lib: &Path) -> bool {
    let host = std::fs::read_dir(lib).into_iter().flatten().flatten();
    let component = host
        .map(|dir| dir.path().join("bin/wasm-component-ld"))
        .any(|f| f.is_file());
    let called = ["rust-lld", "wasm-ld"]
        .iter()
        .any(|name| paths::program(name).is_some());
    component && called
}

/// The commands that help, for this system.
fn advice(tried: &[String], apt: Option<String>) -> String {
    let mut text = format!("there is no Rust that compiles to {TARGET} here.\n");
    for reason in tried {
        text += &format!("  tried: {reason}\n");
    }
    text += "  Do one of these, then `cargo xtask setup` again:\n";
    if paths::program("rustup").is_some() {
        text += &format!("    rustup target add {TARGET}\n");
    } else {
        text +=
            &format!("    install rustup (https://rustup.rs), then: rustup target add {TARGET}\n");
    }
    if let Some(command) = apt {
        text += &format!("    {command}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_its_std_is_not_there() {
        let home = std::env::temp_dir().join(format!("xtask-sysroot-{}", std::process::id()));
        let lib = home.join("lib/rustlib").join(TARGET).join("lib");
        assert!(!has_target(&home));
        assert!(std::fs::create_dir_all(&lib).is_ok());
        assert!(!has_target(&home));
        assert!(std::fs::write(lib.join("libstd-0123.rlib"), "").is_ok());
        assert!(has_target(&home));
        assert!(std::fs::remove_dir_all(&home).is_ok());
    }

    #[test]
    fn advice_names_the_exact_command_and_what_was_tried() {
        let text = advice(
            &["the moon was full".into()],
            Some("apt-get install x".into()),
        );
        assert!(text.contains("rustup target add wasm32-wasip2"));
        assert!(text.contains("tried: the moon was full"));
        assert!(text.contains("    apt-get install x\n"));
    }
}
