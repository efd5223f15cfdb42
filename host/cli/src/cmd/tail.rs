//! `ralph tail`: a run's events, for scripts and for who wants plain lines.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};

use ralph_engine::text::one_line;
use ralph_runner::Error;
use ralph_tui::link::{Link, Said};
use serde_json::{Value, json};

use crate::args::TailArgs;
use crate::out::Out;

/// Ends with the run: 0 if all tasks are done, 1 if not, 2 if it failed.
pub async fn tail(dir: &Path, args: TailArgs, out: &Out) -> Result<ExitCode, Error> {
    let path = super::steer::caller(dir).await?.path;
    let (send, said) = channel();
    let gone = |e: std::io::Error| Error::Steer(format!("the run: {e}"));
    let mut link = Link::open(&path, move |s| send.send(s).is_ok()).map_err(gone)?;
    let since = args.since.unwrap_or(0);
    let params = json!({ "events": ["*"], "since": since });
    link.ask("subscribe", &params).map_err(gone)?;
    let json = out.json;
    // What comes is waited for on a thread that nobody else needs.
    let told = tokio::task::spawn_blocking(move || {
        // The connection lasts as long as this.
        let _link = link;
        Follow { args, json }.all(&said)
    });
    told.await.map_err(|e| Error::Internal(e.to_string()))?
}

struct Follow {
    args: TailArgs,
    json: bool,
}

impl Follow {
    fn all(&self, said: &Receiver<Said>) -> Result<ExitCode, Error> {
        let mut next = self.args.since.map(|n| n.saturating_add(1));
        for said in said {
            let event = match said {
                Said::Event(event) => event,
                Said::Answer { result: Ok(_), .. } => continue,
                Said::Answer {
                    result: Err(message),
                    ..
                } => return Err(Error::Steer(message)),
                Said::Closed => break,
            };
            if let (Some(wanted), Some(seq)) = (next.take(), event["seq"].as_u64())
                && seq > wanted
            {
                let count = seq - wanted;
                let missed = json!({ "type": "missed", "data": { "count": count } });
                self.print(&missed)?;
            }
            if !self.print(&event)? {
                return Ok(ExitCode::SUCCESS);
            }
            match event["data"]["status"].as_str() {
                Some("completed") => return Ok(ExitCode::SUCCESS),
                Some("stopped") => return Ok(ExitCode::from(1)),
                Some("failed") => return Ok(ExitCode::from(2)),
                _ => {}
            }
        }
        let text = "the connection broke off before the run's end; was it killed?";
        Err(Error::Steer(text.into()))
    }

    /// False if nobody reads any more.
    fn print(&self, event: &Value) -> Result<bool, Error> {
        let foreign = event["type"] == "output"
            && (self.args.task.as_ref()).is_some_and(|task| event["data"]["task"] != **task);
        let lines = match (foreign, self.json) {
            (true, _) => Vec::new(),
            (false, true) => vec![event.to_string()],
            (false, false) => plain(event),
        };
        let mut stdout = std::io::stdout().lock();
        for line in lines {
            match writeln!(stdout, "{line}") {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::BrokenPipe => return Ok(false),
                Err(source) => {
                    let path = "standard output".into();
                    return Err(Error::Io { path, source });
                }
            }
        }
        Ok(true)
    }
}

/// The lines that tell of an event; those that aren't an agent's begin with `#`.
fn plain(event: &Value) -> Vec<String> {
    let data = &event["data"];
    let text = |value: &Value| one_line(value.as_str().unwrap_or_default(), 200);
    match event["type"].as_str().unwrap_or_default() {
        // Whole: `one_line` would cut it.
        "output" => vec![ralph_tui::log::clean(
            data["line"].as_str().unwrap_or_default(),
        )],
        "missed" => vec![format!("# {} events are gone", data["count"])],
        "state_change" => {
            let mut lines = Vec::new();
            if data["current_story"].is_string() {
                let (id, title) = (text(&data["current_story"]), text(&data["current_title"]));
                lines.push(format!("# {id} {title}").trim_end().to_owned());
            }
            if data["phase"].is_string() {
                lines.push(format!("# {}", text(&data["phase"])));
            }
            for gate in data["gates"].as_array().into_iter().flatten() {
                if let Some(millis) = gate["millis"].as_u64() {
                    let name = text(&gate["name"]);
                    let status = match text(&gate["status"]) {
                        status if status == "fail" && gate["severity"] == "warn" => "warn".into(),
                        status => status,
                    };
                    let took = format!("{}.{}s", millis / 1000, millis % 1000 / 100);
                    let line = format!("# gate {name} {status} {took}");
                    lines.push(format!("{line} {}", text(&gate["summary"])));
                }
            }
            if data["status"].is_string() {
                lines.push(format!("# {}", text(&data["status"])));
            }
            lines
        }
        _ => Vec::new(),
    }
}
