//! Python: componentize-py, which puts CPython into the component.

use std::path::PathBuf;

use super::{Tool, WORK, find, missing};
use crate::build::Tell;
use crate::error::Error;
use crate::project::Project;

pub(super) async fn make(project: &Project, tell: &dyn Tell) -> Result<PathBuf, Error> {
    let Some(componentize) = find(project, &["componentize-py"]) else {
        return Err(missing(
            project,
            "componentize-py is neither in .venv nor in PATH; it needs Python 3.10. To install it:",
            &[
                "python3 -m venv .venv",
                ".venv/bin/pip install componentize-py==0.25.1",
            ],
        ));
    };
    tell.step("making a component");
    let made = format!("{WORK}/plugin.wasm");
    Tool::new(componentize)
        .args(["-d", "wit", "-w", "plugin", "componentize"])
        .args(["-p", "src", "-p", "sdk/python", "plugin", "-o", &made])
        .run(&project.dir, tell)
        .await?;
    Ok(project.dir.join(made))
}
