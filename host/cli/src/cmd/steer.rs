//! `ralph stop`, `pause`, `resume`, `checkpoint`, `inject`, `skip` and `ps`: a run, from another terminal.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use ralph_engine::text::one_line;
use ralph_rpc::client::{self, CallError, Caller};
use ralph_rpc::socket;
use ralph_runner::Error;
use ralph_workspace::{ProjectLock, Workspace, find_root};
use serde_json::{Value, json};

use crate::args::{InjectArgs, SkipArgs, StopArgs};
use crate::out::Out;

/// Text from standard input is read to this size; a run takes less.
const STDIN_MAX: u64 = 1 << 20;

pub async fn stop(dir: &Path, args: &StopArgs, out: &Out) -> Result<ExitCode, Error> {
    let said = ask(dir, "stop", json!({ "force": args.now })).await?;
    out.text(if said["force"] == true {
        "the run ends now"
    } else {
        "the run ends after this iteration; `ralph stop --now` ends it at once"
    });
    Ok(out.done(0, &said))
}

pub async fn pause(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let said = ask(dir, "pause", json!({})).await?;
    out.text(match said["status"].as_str() {
        Some("already_paused") => "it was paused already",
        Some("paused") => "paused; `ralph resume` lets it go on",
        _ => "no new iteration starts after this one; `ralph resume` lets it go on",
    });
    Ok(out.done(0, &said))
}

pub async fn resume(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let said = ask(dir, "resume", json!({})).await?;
    out.text(match said["status"].as_str() {
        Some("resumed") => "it goes on",
        _ => "it wasn't paused",
    });
    Ok(out.done(0, &said))
}

pub async fn checkpoint(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let said = ask(dir, "checkpoint", json!({ "pause": false })).await?;
    out.text(format!(
        "journal and state are on the disk up to line {}",
        said["sequence"]
    ));
    Ok(out.done(0, &said))
}

pub async fn inject(dir: &Path, args: &InjectArgs, out: &Out) -> Result<ExitCode, Error> {
    let mut text = args.text.clone();
    if text == "-" {
        text.clear();
        std::io::stdin()
            .lock()
            .take(STDIN_MAX)
            .read_to_string(&mut text)
            .map_err(|e| Error::Usage(format!("standard input can't be read as text: {e}")))?;
    }
    let said = ask(dir, "inject_prompt", json!({ "prompt": text })).await?;
    out.text("the next attempt's prompt will hold it");
    Ok(out.done(0, &said))
}

pub async fn skip(dir: &Path, args: &SkipArgs, out: &Out) -> Result<ExitCode, Error> {
    let said = ask(
        dir,
        "skip_task",
        json!({ "id": args.id, "undo": args.undo }),
    )
    .await?;
    out.text(match said["working"].as_bool() {
        _ if said["status"] == "not_skipped" => "the run doesn't skip it",
        _ if args.undo => "the run takes it up again",
        Some(true) => "this attempt goes to its end; then the run takes the task up no more",
        _ => "the run takes it up no more; the next run may",
    });
    Ok(out.done(0, &said))
}

/// Asks the run of the project that `dir` is in.
async fn ask(dir: &Path, method: &str, params: Value) -> Result<Value, Error> {
    let ws = Workspace::open(&find_root(dir)?)?;
    let mut caller = caller(dir).await?;
    let said = caller.call(method, params).await;
    said.map_err(|e| told(e, &ws))
}

/// The run of the project that `dir` is in. Its configuration need not be readable for that.
pub async fn caller(dir: &Path) -> Result<Caller, Error> {
    let ws = Workspace::open(&find_root(dir)?)?;
    let caller = Caller::of(ws.root()).await;
    caller.map_err(|e| told(e, &ws))
}

fn told(e: CallError, ws: &Workspace) -> Error {
    match e {
        CallError::Nobody => match ProjectLock::holder(ws) {
            Some(pid) => Error::Steer(format!(
                "a ralph works in this project (process {pid}), but it can't be steered: it has no socket, or is only starting"
            )),
            None => Error::Steer("no run is on in this project".into()),
        },
        CallError::Refused {
            code: -32602,
            message,
        } => Error::Usage(message),
        e => Error::Steer(e.to_string()),
    }
}

pub async fn ps(out: &Out) -> Result<ExitCode, Error> {
    let mut runs = Vec::new();
    for (path, answer) in client::all().await {
        match answer {
            Ok(mut status) => {
                let text = |key: &str| one_line(status[key].as_str().unwrap_or_default(), 120);
                out.text(format!(
                    "{:>7}  {:<12} {:<12} {}  iteration {}  {} {}  since {}  {}",
                    status["pid"],
                    one_line(&socket::name(&path), 60),
                    text("status"),
                    text("run_id"),
                    status["iteration"],
                    text("current_story"),
                    one_line(&text("current_title"), 40),
                    text("started_at"),
                    text("project"),
                ));
                if let Value::Object(map) = &mut status {
                    map.remove("recent_output");
                    map.insert("name".into(), json!(socket::name(&path)));
                    map.insert("socket".into(), json!(path));
                }
                runs.push(status);
            }
            Err(e) => {
                out.text(format!("      ?  {}: {e}", path.display()));
                runs.push(json!({ "socket": path, "error": e.to_string() }));
            }
        }
    }
    if runs.is_empty() {
        out.text("no run is on");
    }
    Ok(out.done(0, &json!({ "runs": runs })))
}
