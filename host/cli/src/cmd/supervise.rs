//! `ralph supervise`

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use ralph_engine::fact::EndReason;
use ralph_runner::notify::{self, Message};
use ralph_runner::sourcing::Policy;
use ralph_runner::supervise::Supervised;
use ralph_runner::{Control, Error, Project, Trust, status};
use serde_json::json;

use crate::args::SuperviseArgs;
use crate::out::{Out, note};

pub async fn supervise(dir: &Path, args: SuperviseArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    Trust::of(&project)?.demand()?;
    let program = std::env::current_exe()
        .map_err(|e| Error::Usage(format!("ralph can't tell where it is itself: {e}")))?;
    let mut words: Vec<OsString> = vec!["-C".into(), project.ws.root().into(), "run".into()];
    let policy = Policy::now();
    words.extend(policy.locked.then(|| "--locked".into()));
    words.extend(policy.offline.then(|| "--offline".into()));
    words.extend(args.run);
    let reason = || status::last_end(&project).ok().flatten();
    let (control, stopping) = Control::new();
    let signals = tokio::spawn(super::run::watch_signals(control, None));
    let code = Supervised {
        policy: &project.config.supervise,
        program,
        args: words,
        reason: &reason,
        say: &|text| note(&text),
    }
    .go(&stopping)
    .await;
    signals.abort();
    let code = code?;
    let end = reason();
    // A run that could record its end has told of it itself.
    if end.is_none() {
        tell(&project, None, out.json).await;
    }
    Ok(out.done(code, &json!({ "code": code, "end": end })))
}

/// Tells those who want to know that a run has ended.
pub async fn tell(project: &Project, end: Option<EndReason>, quiet: bool) {
    let config = &project.config.notify;
    let nobody = !config.desktop && config.command.is_empty() && config.webhook.is_none();
    if nobody && config.plugins.is_empty() {
        return;
    }
    // That the tasks can't be read may be the very reason for the end.
    let now = status::status(project).await.ok();
    let event = end.as_ref().map_or("killed", EndReason::word).to_owned();
    let root = project.ws.root();
    let name = root.file_name().unwrap_or(root.as_os_str());
    let message = Message {
        text: now.as_ref().map_or_else(
            || event.clone(),
            |now| format!("{event}: {} of {} tasks done", now.done, now.total),
        ),
        event,
        project: name.to_string_lossy().into_owned(),
        details: json!({
            "end": end,
            "done": now.as_ref().map(|n| n.done),
            "total": now.as_ref().map(|n| n.total),
            "blocked": now.as_ref().map(|n| &n.blocked),
        }),
    };
    for failed in notify::send(project, &message).await {
        if !quiet {
            note(&format!("warning: not notified: {failed}"));
        }
    }
}
