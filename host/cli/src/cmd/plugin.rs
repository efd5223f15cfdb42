//! `ralph plugin …`

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ralph_plugins::{Component, Grants, Kind, Manifest, builtins};
use ralph_runner::plugins::{self, Done, Verified};
use ralph_runner::registry::{self, Registry};
use ralph_runner::{Error, Project};
use serde_json::{Value, json};

use crate::args::{PluginArgs, PluginCommand};
use crate::out::Out;

pub async fn plugin(dir: &Path, args: PluginArgs, out: &Out) -> Result<ExitCode, Error> {
    // A plugin's author need not stand in a project.
    let open = || Project::open(dir);
    match args.command {
        PluginCommand::Kit(command) => Ok(super::kit::kit(dir, command, out).await),
        PluginCommand::List => list(&open()?, out).await,
        PluginCommand::Inspect { name } => inspect(&open()?, &name, out).await,
        PluginCommand::Add {
            source,
            name,
            sha256,
        } => {
            let host = super::host()?;
            let (name, sha256) = (name.as_deref(), sha256.as_deref());
            let done = plugins::add(&open()?, &host, &source, name, sha256).await?;
            Ok(told(&[done], out))
        }
        PluginCommand::Update { names } => {
            let done = plugins::lock(&open()?, &super::host()?, true, &names).await?;
            Ok(told(&done, out))
        }
        PluginCommand::Lock => {
            let done = plugins::lock(&open()?, &super::host()?, false, &[]).await?;
            Ok(told(&done, out))
        }
        PluginCommand::Remove { name } => {
            plugins::remove(&open()?, &name)?;
            out.text(format!("{name} is gone"));
            Ok(out.done(0, &json!({ "removed": name })))
        }
        PluginCommand::Verify => Ok(verified(&plugins::verify(&open()?).await?, out)),
        PluginCommand::Pull => Ok(verified(&plugins::pull(&open()?).await?, out)),
        PluginCommand::Push { what, to } => {
            let reference = plugins::push(&open()?, &super::host()?, &what, &to).await?;
            out.text(format!("pushed {reference}"));
            Ok(out.done(0, &json!({ "reference": reference })))
        }
    }
}

fn told(done: &[Done], out: &Out) -> ExitCode {
    for plugin in done {
        let entry = &plugin.entry;
        let state = if plugin.changed {
            "pinned"
        } else {
            "as it was"
        };
        let signed = if plugin.signed { ", signed" } else { "" };
        out.text(format!("{:<14} {state}{signed}", out.bold(&entry.name)));
        out.text(format!("  from     {}", entry.resolved));
        if !entry.sha256.is_empty() {
            out.text(format!("  sha256   {}", entry.sha256));
        }
    }
    if done.is_empty() {
        out.text("there is no plugin that isn't built in");
    }
    out.done(0, &json!({ "plugins": done }))
}

fn verified(plugins: &[Verified], out: &Out) -> ExitCode {
    for plugin in plugins {
        let state = match (&plugin.error, plugin.signed) {
            (Some(error), _) => error.clone(),
            (None, true) => "as it is pinned, signed".to_owned(),
            (None, false) => "as it is pinned".to_owned(),
        };
        out.text(format!("{:<14} {state}", out.bold(&plugin.name)));
    }
    let bad = plugins.iter().any(|plugin| plugin.error.is_some());
    out.done(u8::from(bad), &json!({ "plugins": plugins }))
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
    let mut described = Vec::new();
    for component in &found {
        let manifest = manifest(component)?;
        let own = Grants::default();
        let grants = match configured {
            Some(_) => Some(registry::grants(
                component.kind(),
                configured,
                own,
                manifest.as_ref(),
            )?),
            None => None,
        };
        show(component, manifest.as_ref(), grants.as_ref(), out);
        described.push(describe(component, manifest.as_ref(), grants.as_ref()));
    }
    Ok(out.done(0, &json!({ "plugins": described })))
}

/// What a component says of itself; a built-in one has it in its bytes.
fn manifest(c: &Component) -> Result<Option<Manifest>, Error> {
    if let Some(manifest) = c.manifest() {
        return Ok(Some(manifest.clone()));
    }
    let built_in = builtins().iter().find(|b| b.digest() == c.digest());
    let found = built_in.map(|b| Manifest::find(b.bytes())).transpose();
    let wrong = |why: String| Error::Usage(format!("the manifest of {}: {why}", c.origin()));
    Ok(found.map_err(wrong)?.flatten())
}

fn show(c: &Arc<Component>, manifest: Option<&Manifest>, grants: Option<&Grants>, out: &Out) {
    out.text(format!("{}  {}", out.bold(c.name()), c.kind()));
    out.text(format!("  source   {}", c.origin()));
    out.text(format!("  sha256   {}", c.digest()));
    out.text(format!("  size     {} bytes", c.size()));
    out.text("  imports");
    for import in c.imports() {
        out.text(format!("    {import}"));
    }
    match manifest {
        None => out.text("  manifest none; it gets what ralph.toml allows"),
        Some(m) => {
            let license = m.license.as_deref().unwrap_or("no license");
            out.text(format!("  manifest {} {}, {license}", m.name, m.version));
            out.text(format!("  contract ralph:plugin {}", m.contract));
            out.text("  asks to");
            for line in asked(&m.capabilities) {
                out.text(format!("    {line}"));
            }
        }
    }
    out.text("  may");
    for line in words(c, grants) {
        out.text(format!("    {line}"));
    }
}

fn describe(c: &Component, manifest: Option<&Manifest>, grants: Option<&Grants>) -> Value {
    json!({
        "name": c.name(), "kind": c.kind().to_string(), "source": c.origin(), "sha256": c.digest(),
        "bytes": c.size(), "imports": c.imports(), "manifest": manifest, "granted": grants, "may": words(c, grants),
    })
}

/// What a component may do, in words.
fn words(c: &Component, grants: Option<&Grants>) -> Vec<String> {
    let mut may = vec!["compute, write to ralph's log, read its own configuration".to_owned()];
    let nowhere = |g: &Grants| g.read.is_empty() && g.write.is_empty();
    if c.kind() == Kind::Agent && grants.is_none_or(nowhere) {
        may.push("read and change everything below the project's root".into());
    }
    match grants {
        Some(grants) => may.extend(powers(grants)),
        None if c.kind() == Kind::Gate && c.name() == "command" => {
            may.push("have ralph run the one program that its gate names".into());
        }
        None if c.kind() == Kind::Gate && c.origin().starts_with("builtin:") => {
            may.push("see what an iteration changed".into());
        }
        None => {}
    }
    may
}

fn asked(g: &Grants) -> Vec<String> {
    let words = powers(g);
    if words.is_empty() {
        vec!["do nothing but compute".into()]
    } else {
        words
    }
}

fn powers(g: &Grants) -> Vec<String> {
    let mut may = Vec::new();
    if g.changes {
        may.push("see what an iteration changed".into());
    }
    for (what, list) in [
        ("read", &g.read),
        ("read and change", &g.write),
        ("have ralph run", &g.process),
        ("send HTTP requests to", &g.http),
        ("see the environment variables", &g.env),
    ] {
        if !list.is_empty() {
            may.push(format!("{what} {}", list.join(", ")));
        }
    }
    for (what, on) in [
        ("read the clock", g.clock),
        ("draw real randomness", g.random),
        ("keep values of its own from one call to the next", g.state),
        ("tell people something over what [notify] names", g.notify),
    ] {
        if on {
            may.push(what.into());
        }
    }
    may
}
