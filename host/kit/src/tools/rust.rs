//! Rust: the target wasm32-wasip2 of the active tool chain, or a distribution's compiler that
//! compiles the standard library along.

use std::path::{Path, PathBuf};

use super::{Tool, find, missing};
use crate::build::Tell;
use crate::error::Error;
use crate::project::Project;

const TARGET: &str = "wasm32-wasip2";

/// What was meant for the host's code doesn't fit a guest's.
const FLAGS: [&str; 3] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
];

/// What cargo is told beside the usual.
#[derive(Default)]
struct Chain {
    env: Vec<(&'static str, String)>,
    args: Vec<&'static str>,
}

pub(super) async fn make(project: &Project, tell: &dyn Tell) -> Result<PathBuf, Error> {
    let cargo = find(project, &["cargo"]);
    let chain = match &cargo {
        Some(_) => chain(project).await,
        None => None,
    };
    let (Some(cargo), Some(chain)) = (cargo, chain) else {
        return Err(missing(
            project,
            "there is no Rust that compiles to wasm32-wasip2 here. One of these brings one (https://rustup.rs, or on Debian and Ubuntu the second):",
            &[
                "rustup target add wasm32-wasip2",
                "apt-get install cargo rustc-web rust-web-src rust-web-llvm lld wasi-libc",
            ],
        ));
    };
    tell.step("cargo build");
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => std::path::absolute(project.dir.join("target"))
            .map_err(|e| Error::io(&project.dir, e))?,
    };
    let mut tool = Tool::new(cargo)
        .args(["build", "--release", "--target", TARGET])
        .arg("--target-dir")
        .arg(&target)
        .args(chain.args)
        .unset(&FLAGS);
    for (name, value) in chain.env {
        tool = tool.env(name, value);
    }
    tool.run(&project.dir, tell).await?;
    let file = format!("{}.wasm", project.name.replace('-', "_"));
    let made = target.join(TARGET).join("release").join(&file);
    if made.is_file() {
        return Ok(made);
    }
    Err(Error::Tool(format!(
        "cargo made no {}: a plugin's Cargo.toml needs `[lib] crate-type = [\"cdylib\", \"lib\"]`",
        made.display()
    )))
}

/// The active tool chain, or a distribution's.
async fn chain(project: &Project) -> Option<Chain> {
    if let Some(home) = home(Path::new("rustc"), &project.dir).await
        && has_target(&home)
    {
        return Some(Chain::default());
    }
    for compiler in compilers() {
        let Some(home) = home(&compiler, &project.dir).await else {
            continue;
        };
        let path = compiler.display().to_string();
        if has_target(&home) {
            return Some(Chain {
                env: vec![("RUSTC", path)],
                args: Vec::new(),
            });
        }
        let lib = home.join("lib/rustlib");
        let sources = lib.join("src/rust/library/std").is_dir();
        let Some(libc) = libc().filter(|_| sources && has_linker(&lib)) else {
            continue;
        };
        return Some(Chain {
            env: vec![
                ("RUSTC", path),
                // Compiling std isn't stable yet; the distribution ships the sources that
                // belong to exactly this compiler.
                ("RUSTC_BOOTSTRAP", "1".into()),
                ("RUSTFLAGS", format!("-L native={}", libc.display())),
            ],
            args: vec!["-Zbuild-std=std,panic_abort", "-Zbuild-std-features="],
        });
    }
    None
}

async fn home(compiler: &Path, dir: &Path) -> Option<PathBuf> {
    let said = Tool::new(compiler).args(["--print", "sysroot"]).answer(dir);
    said.await.map(PathBuf::from)
}

fn has_target(home: &Path) -> bool {
    let lib = home.join("lib/rustlib").join(TARGET).join("lib");
    std::fs::read_dir(lib).is_ok_and(|files| {
        files.flatten().any(|file| {
            let name = file.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    })
}

/// Those that packages have installed, newest first.
fn compilers() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/usr/bin").into_iter().flatten();
    let mut versions: Vec<u32> = entries
        .flatten()
        .filter_map(|e| {
            e.file_name()
                .to_str()?
                .strip_prefix("rustc-1.")?
                .parse()
                .ok()
        })
        .collect();
    versions.sort_unstable();
    let versioned = versions
        .iter()
        .rev()
        .map(|v| format!("/usr/bin/rustc-1.{v}"));
    std::iter::once("/usr/bin/rustc".to_owned())
        .chain(versioned)
        .map(PathBuf::from)
        .filter(|path| path.is_file())
        .collect()
}

fn libc() -> Option<PathBuf> {
    let places = ["/usr/lib/wasm32-wasip2", "/usr/lib/wasm32-wasi"];
    let mut places = places.iter().map(PathBuf::from);
    places.find(|dir| dir.join("libc.a").is_file())
}

/// The linker that makes components.
fn has_linker(lib: &Path) -> bool {
    let hosts = std::fs::read_dir(lib).into_iter().flatten().flatten();
    hosts
        .map(|dir| dir.path().join("bin/wasm-component-ld"))
        .any(|file| file.is_file())
}
