//! Tells people that a run has ended: on the desktop, through a program, to a
//! web address, through notifier components. What can't be delivered is tried three times and then logged;
//! it never changes what a run came to.

use std::process::Stdio;
use std::time::Duration;

use ralph_config::types::Notify;
use ralph_plugins::{Kind, Level, Notice};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::acting::Acting;
use crate::error::Error;
use crate::project::Project;

/// One try may take this long.
const LIMIT: Duration = Duration::from_secs(15);
/// Pauses before the second and the third try.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// What is told.
#[derive(Debug, Clone)]
pub struct Message {
    /// `complete`, `blocked`, …: the reason's word, as in `status`.
    pub event: String,
    /// The project's directory name.
    pub project: String,
    /// In one line.
    pub text: String,
    /// For programs: the run's summary.
    pub details: Value,
}

/// Delivers over all that is configured; what could not be delivered, for people.
pub async fn send(project: &Project, message: &Message) -> Vec<String> {
    let config = &project.config.notify;
    let mut failed = outside(config, message).await;
    if wanted(config, message) {
        for name in &config.plugins {
            let told = || plugin(project, name, message);
            failed.extend(tried(&format!("plugin {name}"), told).await);
        }
    }
    failed
}

/// Where plugins' own notifications go: all that is configured but notifier components.
#[derive(Debug, Clone)]
pub struct Outlet {
    config: Notify,
    project: String,
}

/// What `[notify] on` calls a plugin's own notification.
const BY_PLUGIN: &str = "plugin";

impl Outlet {
    /// That of a project.
    pub fn of(project: &Project) -> Outlet {
        let name = project.ws.root().file_name().unwrap_or_default();
        Outlet {
            config: project.config.notify.clone(),
            project: name.to_string_lossy().into_owned(),
        }
    }

    /// What could not be delivered, for people.
    pub(crate) async fn tell(&self, plugin: &str, level: Level, text: String) -> Vec<String> {
        let level = format!("{level:?}").to_lowercase();
        let message = Message {
            event: BY_PLUGIN.to_owned(),
            project: self.project.clone(),
            text,
            details: json!({ "plugin": plugin, "level": level }),
        };
        outside(&self.config, &message).await
    }
}

fn wanted(config: &Notify, message: &Message) -> bool {
    config.on.is_empty() || config.on.contains(&message.event)
}

/// One try. The call is given up with the time; a loop in it ends by its own limit.
async fn plugin(project: &Project, name: &str, message: &Message) -> Result<(), String> {
    let notice = Notice {
        event: message.event.clone(),
        project: message.project.clone(),
        text: message.text.clone(),
        details: message.details.to_string(),
    };
    let told = async {
        let host = crate::acting::host()?;
        let acting = Acting::new(project, host, Kind::Notifier, name, LIMIT).await?;
        let ctx = acting.context();
        Ok::<(), Error>(acting.plugin().notify(&ctx, &notice).await?)
    };
    told.await.map_err(|e| e.to_string())
}

async fn outside(config: &Notify, message: &Message) -> Vec<String> {
    let mut failed = Vec::new();
    if !wanted(config, message) {
        return failed;
    }
    if config.desktop {
        let argv = desktop(message);
        failed.extend(tried("desktop", || run(&argv, Vec::new())).await);
    }
    if !config.command.is_empty() {
        let fill = |word: &String| {
            word.replace("{event}", &message.event)
                .replace("{project}", &message.project)
                .replace("{text}", &message.text)
        };
        let argv: Vec<String> = config.command.iter().map(fill).collect();
        let body = payload(message).to_string().into_bytes();
        failed.extend(tried("command", || run(&argv, body.clone())).await);
    }
    if let Some(url) = &config.webhook {
        failed.extend(tried("webhook", || post(url, payload(message))).await);
    }
    failed
}

/// The JSON on a program's standard input and in a web request's body.
fn payload(message: &Message) -> Value {
    json!({
        "event": message.event, "project": message.project, "text": message.text,
        "details": message.details, "_schema": "ralph.notify.v1",
    })
}

fn desktop(message: &Message) -> Vec<String> {
    let title = format!("ralph: {}", message.project);
    if cfg!(target_os = "macos") {
        // Handed over as arguments: nothing in them is AppleScript.
        let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
        ["osascript", "-e", script, &title, &message.text]
            .map(str::to_owned)
            .to_vec()
    } else {
        [
            "notify-send",
            "--app-name=ralph",
            "--",
            &title,
            &message.text,
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

async fn tried<F: Future<Output = Result<(), String>>>(
    what: &str,
    once: impl Fn() -> F,
) -> Option<String> {
    let mut pauses = PAUSES.iter();
    loop {
        let result = match tokio::time::timeout(LIMIT, once()).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {} s", LIMIT.as_secs())),
        };
        let Err(why) = result else { return None };
        match pauses.next() {
            Some(pause) => tokio::time::sleep(*pause).await,
            None => return Some(format!("{what}: {why}")),
        }
    }
}

async fn run(argv: &[String], input: Vec<u8>) -> Result<(), String> {
    use tokio::io::AsyncWriteExt;
    let Some((program, args)) = argv.split_first() else {
        return Ok(());
    };
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| format!("{program}: {e}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        // One that reads nothing is none the worse.
        let _ = pipe.write_all(&input).await;
    }
    let status = child.wait().await.map_err(|e| format!("{program}: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{program}: {status}"))
    }
}

async fn post(url: &str, body: Value) -> Result<(), String> {
    let url = url.to_owned();
    let sent = tokio::task::spawn_blocking(move || {
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder()
                .timeout_global(Some(LIMIT))
                .max_redirects(0)
                .user_agent(concat!("ralph/", env!("CARGO_PKG_VERSION")))
                .build(),
        );
        agent
            .post(&url)
            .header("content-type", "application/json")
            .send(body.to_string())
            .map(drop)
            .map_err(|e| e.to_string())
    });
    sent.await.map_err(|e| e.to_string())?
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn message() -> Message {
        Message {
            event: "complete".into(),
            project: "x".into(),
            text: "3 of 3 tasks done; $(touch pwned) \"quoted\"".into(),
            details: json!({ "done": 3 }),
        }
    }

    #[tokio::test]
    async fn a_program_gets_the_text_as_one_argument_and_json_on_its_input() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let script = format!("cat >{0}; printf '%s' \"$1\" >{0}.arg", out.display());
        let config = Notify {
            command: ["sh", "-c", &script, "sh", "{event}: {text}"]
                .map(str::to_owned)
                .to_vec(),
            ..Notify::default()
        };
        assert_eq!(outside(&config, &message()).await, Vec::<String>::new());
        let json: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        assert_eq!(json["details"]["done"], 3);
        let arg = std::fs::read_to_string(out.with_extension("arg")).unwrap();
        assert_eq!(arg, format!("complete: {}", message().text));
    }

    #[tokio::test]
    async fn only_what_is_wanted_is_told() {
        let config = Notify {
            command: vec!["/nowhere/at/all".into()],
            on: vec!["blocked".into()],
            ..Notify::default()
        };
        assert_eq!(outside(&config, &message()).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_web_address_that_fails_once_is_tried_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let mut bodies = Vec::new();
            for answer in ["503 Service Unavailable", "200 OK"] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut text = String::new();
                let mut buffer = [0; 4096];
                while !text.contains("ralph.notify.v1") {
                    let n = stream.read(&mut buffer).unwrap();
                    text.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
                }
                bodies.push(text);
                let head =
                    format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                stream.write_all(head.as_bytes()).unwrap();
            }
            bodies
        });
        let config = Notify {
            webhook: Some(format!("http://127.0.0.1:{port}/hook")),
            ..Notify::default()
        };
        assert_eq!(outside(&config, &message()).await, Vec::<String>::new());
        let bodies = server.join().unwrap();
        assert!(bodies[1].starts_with("POST /hook"));
    }
}
