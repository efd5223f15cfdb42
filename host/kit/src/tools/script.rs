//! JavaScript and TypeScript: bundled by esbuild, made a component by QuickJS or SpiderMonkey.

use std::path::PathBuf;

use super::{Tool, WORK, missing};
use crate::build::Tell;
use crate::error::Error;
use crate::lang::Lang;
use crate::project::Project;

pub(super) async fn make(project: &Project, tell: &dyn Tell) -> Result<PathBuf, Error> {
    let bin = std::path::absolute(project.dir.join("node_modules/.bin"))
        .map_err(|e| Error::io(&project.dir, e))?;
    let tool = |name: &str| Some(bin.join(name)).filter(|file| file.exists());
    let Some(esbuild) = tool("esbuild") else {
        return Err(missing(
            project,
            "esbuild isn't in node_modules; it needs Node 20 and npm. To install what package.json names:",
            &["npm install"],
        ));
    };
    let quick = tool("componentize-qjs");
    let spider = tool("jco");
    if quick.is_none() && spider.is_none() {
        return Err(missing(
            project,
            "nothing in node_modules makes components of JavaScript:",
            &["npm install --save-dev componentize-qjs@0.4.5"],
        ));
    }
    let source = match project.lang {
        Lang::Ts => "src/plugin.ts",
        _ => "src/plugin.js",
    };
    let bundle = format!("{WORK}/plugin.js");
    tell.step("bundling");
    Tool::new(esbuild)
        .arg(source)
        .args(["--bundle", "--format=esm", "--platform=neutral"])
        .args([
            "--main-fields=module,main",
            "--external:ralph:*",
            "--log-level=warning",
        ])
        .arg(format!("--outfile={bundle}"))
        .run(&project.dir, tell)
        .await?;
    let made = format!("{WORK}/plugin.wasm");
    let component = match (quick, spider) {
        // With the runtime that needs no asynchronous calls, which hosts don't have yet.
        (Some(quick), _) => Tool::new(quick)
            .args(["--wit", "wit", "-n", "plugin", "--sync", "--js"])
            .args([&bundle, "-o", &made]),
        (None, spider) => Tool::new(spider.unwrap_or_default())
            .args(["componentize", &bundle, "--wit", "wit", "-n", "plugin"])
            .args(["-d", "http", "-d", "fetch-event", "-o", &made]),
    };
    tell.step("making a component");
    component.run(&project.dir, tell).await?;
    Ok(project.dir.join(made))
}
