//! C: clang with a libc for WASI, or zig, which brings both.

use std::path::{Path, PathBuf};

use super::{Tool, WORK, find, missing, wrap};
use crate::build::Tell;
use crate::error::Error;
use crate::project::Project;

/// As distributions number them.
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=30;

/// Where distributions put the libc.
const LIBC: [&str; 2] = ["/usr/include/wasm32-wasi", "/usr/include/wasm32-wasip1"];

pub(super) async fn make(project: &Project, tell: &dyn Tell) -> Result<PathBuf, Error> {
    let Some(compiler) = compiler(project) else {
        return Err(missing(
            project,
            "there is no C compiler for wasm32-wasi here: neither clang with wasi-libc, nor $WASI_SDK_PATH, nor zig. One of these brings one (on Debian and Ubuntu the first):",
            &[
                "apt-get install clang lld libclang-rt-dev-wasm32 wasi-libc",
                "python3 -m venv .venv && .venv/bin/pip install ziglang==0.17.1",
            ],
        ));
    };
    let wasm_tools = wrap::wasm_tools(project)?;
    tell.step("compiling");
    let core = format!("{WORK}/core.wasm");
    compiler
        .args(["-mexec-model=reactor", "-std=c11", "-Os", "-s"])
        .args(["-Wall", "-Wextra", "-Wl,-z,stack-size=65536", "-Isdk/c"])
        .args(sources(&project.dir)?)
        .args(["sdk/c/ralph.c", "-o", &core])
        .run(&project.dir, tell)
        .await?;
    wrap::wrap(project, &wasm_tools, tell).await
}

fn compiler(project: &Project) -> Option<Tool> {
    if let Some(sdk) = std::env::var_os("WASI_SDK_PATH") {
        let clang = Path::new(&sdk).join("bin/clang");
        if clang.is_file() {
            return Some(Tool::new(clang).arg("--target=wasm32-wasip1"));
        }
    }
    let versioned: Vec<String> = VERSIONS.rev().map(|v| format!("clang-{v}")).collect();
    let names: Vec<&str> = versioned.iter().map(String::as_str).collect();
    // Whose linker and runtime belong to it.
    let fits = |clang: &PathBuf| {
        let version = clang.to_string_lossy();
        let version = version.rsplit_once("clang").map_or("", |(_, v)| v);
        find(project, &[&format!("wasm-ld{version}")]).is_some()
    };
    if LIBC.iter().any(|dir| Path::new(dir).is_dir()) {
        let clangs = names
            .iter()
            .chain(&["clang"])
            .filter_map(|n| find(project, &[n]));
        if let Some(clang) = clangs.into_iter().find(fits) {
            return Some(Tool::new(clang).arg("--target=wasm32-wasi"));
        }
    }
    if let Some(zig) = find(project, &["zig"]) {
        return Some(Tool::new(zig).args(["cc", "-target", "wasm32-wasi"]));
    }
    let python = project.dir.join(".venv/bin/python");
    let found = std::fs::read_dir(project.dir.join(".venv/lib"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|lib| lib.path().join("site-packages/ziglang").is_dir());
    let python = std::path::absolute(python).ok().filter(|_| found)?;
    Some(Tool::new(python).args(["-m", "ziglang", "cc", "-target", "wasm32-wasi"]))
}

/// All of `src/`, sorted.
fn sources(dir: &Path) -> Result<Vec<String>, Error> {
    let src = dir.join("src");
    let entries = std::fs::read_dir(&src).map_err(|e| Error::io(&src, e))?;
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".c"))
        .map(|name| format!("src/{name}"))
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(Error::Usage(format!(
            "there is no .c file in {}",
            src.display()
        )));
    }
    Ok(found)
}
