//! `ralph plugin list` and `ralph plugin inspect`

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ralph_plugins::{Component, Grants, Kind, builtins};
use ralph_runner::registry::Registry;
use ralph_runner::{Error, Project};
use serde_json::{Value, json};

use crate::args::{PluginArgs, PluginCommand};
use crate::out::Out;

pub async fn plugin(dir: &Path, args: PluginArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    match args.command {
        PluginCommand::List => list(&project, out).await,
        PluginCommand::Inspect { name } => inspect(&project, &name, out).await,
    }
}

async fn list(project: &Project, out: &Out) -> Result<ExitCode, Error> {
    let registry = Registry::new(super::host()?, project);
    let mut rows = Vec::new();
    for (name, plugin) in &project.config.plugins {
        let row = match registry.component(Kind::Gate, name).await {
            Ok(c) => {
                json!({ "name": name, "kind": c.kind().to_string(), "source": plugin.source, "sha256": c.digest(), "bytes": c.size() })
            }
            Err(e) => {
                json!({ "name": name, "kind": null, "source": plugin.source, "error": e.to_string() })
            }
        };
        rows.push(row);
    }
    for found in builtins() {
        rows.push(json!({
            "name": found.name, "kind": found.kind.to_string(),
            "source": format!("builtin:{}", found.name),
            "sha256": found.digest(), "bytes": found.size,
        }));
    }
    let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    for row in &rows {
        let digest: String = text(&row["sha256"]).chars().take(12).collect();
        let size = row["bytes"]
            .as_u64()
            .map_or_else(|| "-".into(), |b| format!("{} KiB", b.div_ceil(1024)));
        out.text(format!(
            "{:<14} {:<16} {:<24} {digest:<13} {size:>9}",
            text(&row["name"]),
            text(&row["kind"]),
            text(&row["source"])
        ));
        if let Some(error) = row["error"].as_str() {
            out.text(format!("  can't be used: {error}"));
        }
    }
    Ok(out.done(0, &json!({ "plugins": rows })))
}

async fn inspect(project: &Project, name: &str, out: &Out) -> Result<ExitCode, Error> {
    let mut found = Vec::new();
    let configured = project.config.plugins.get(name);
    if configured.is_some() {
        let registry = Registry::new(super::host()?, project);
        found.push(registry.component(Kind::Gate, name).await?);
    } else if name.ends_with(".wasm") {
        let bytes =
            std::fs::read(name).map_err(|e| Error::Usage(format!("{name} can't be read: {e}")))?;
        found.push(super::host()?.load(name, name, &bytes).await?);
    } else {
        let host = super::host()?;
        let origin = format!("builtin:{name}");
        for built_in in builtins().iter().filter(|b| b.name == name) {
            found.extend(
                host.load_builtin(built_in.kind, name, name, &origin)
                    .await?,
            );
        }
    }
    if found.is_empty() {
        return Err(Error::Usage(format!(
            "there is no plugin `{name}`: not in [plugins], not built in, and no .wasm file"
        )));
    }
    let grants = configured.map(|p| Grants {
        changes: p.allow.changes,
        process: p.allow.process.clone(),
        read: p.allow.read.clone(),
        write: p.allow.write.clone(),
        env: p.allow.env.clone(),
        clock: p.allow.clock,
        random: p.allow.random,
    });
    for component in &found {
        show(component, grants.as_ref(), out);
    }
    let described: Vec<_> = found.iter().map(|c| describe(c, grants.as_ref())).collect();
    Ok(out.done(0, &json!({ "plugins": described })))
}

fn show(c: &Arc<Component>, grants: Option<&Grants>, out: &Out) {
    out.text(format!("{}  {}", out.bold(c.name()), c.kind()));
    out.text(format!("  source   {}", c.origin()));
    out.text(format!("  sha256   {}", c.digest()));
    out.text(format!("  size     {} bytes", c.size()));
    out.text("  imports");
    for import in c.imports() {
        out.text(format!("    {import}"));
    }
    out.text("  may");
    for line in words(c, grants) {
        out.text(format!("    {line}"));
    }
}

fn describe(c: &Component, grants: Option<&Grants>) -> Value {
    json!({
        "name": c.name(), "kind": c.kind().to_string(), "source": c.origin(), "sha256": c.digest(),
        "bytes": c.size(), "imports": c.imports(), "may": words(c, grants),
    })
}

/// What a component may do, in words.
fn words(c: &Component, grants: Option<&Grants>) -> Vec<String> {
    let mut may = vec!["compute, write to ralph's log, read its own configuration".to_owned()];
    if c.kind() == Kind::Agent {
        may.push("read and change everything below the project's root".into());
    }
    let Some(g) = grants else {
        if c.kind() == Kind::Gate {
            let what = if c.name() == "command" {
                "have ralph run the one program that its gate names"
            } else {
                "see what an iteration changed"
            };
            may.push(what.into());
        }
        return may;
    };
    if g.changes {
        may.push("see what an iteration changed".into());
    }
    for (what, list) in [
        ("read below", &g.read),
        ("read and change below", &g.write),
        ("have ralph run", &g.process),
        ("see the environment variables", &g.env),
    ] {
        if !list.is_empty() {
            may.push(format!("{what} {}", list.join(", ")));
        }
    }
    for (what, on) in [
        ("read the clock", g.clock),
        ("draw real randomness", g.random),
    ] {
        if on {
            may.push(what.into());
        }
    }
    may
}
