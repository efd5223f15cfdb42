//! `ralph attach`: runs that are on, in a terminal.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};

use ralph_rpc::socket;
use ralph_runner::Error;
use ralph_tui::{Left, Message, Options};
use ralph_workspace::find_root;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::AttachArgs;
use crate::out::Out;

pub async fn attach(dir: &Path, args: AttachArgs, out: &Out) -> Result<ExitCode, Error> {
    let both = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let dumb = std::env::var_os("TERM").is_none_or(|t| t == "dumb");
    if out.json || !both || dumb {
        let text = "attach draws on a terminal, and here is none that could; `ralph tail` follows a run in plain lines or, with --json, objects";
        return Err(Error::Usage(text.into()));
    }
    // Who names runs doesn't mean that of this directory.
    let root = find_root(dir).ok().filter(|_| args.run.is_empty());
    let own = root.as_ref().map(|root| socket::candidates(root));
    let options = Options {
        project: root.map(|root| root.to_string_lossy().into_owned()),
        side: args.all || args.run.len() > 1,
        task: args.task,
        color: crate::out::color(&std::io::stdout()),
        find: {
            let names = args.run.clone();
            Box::new(move || sockets(own.as_deref().unwrap_or_default(), &names))
        },
    };
    let (send, came) = channel();
    for kind in [
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::interrupt(),
    ] {
        tell(kind, send.clone());
    }
    let left = tokio::task::spawn_blocking(move || ralph_tui::attach(options, send, &came));
    let left = left.await.map_err(|e| Error::Internal(e.to_string()))?;
    match left {
        Ok(Left::Detached) => Ok(ExitCode::SUCCESS),
        Ok(Left::Signal(signal)) => Ok(ExitCode::from(
            u8::try_from(signal).unwrap_or_default().saturating_add(128),
        )),
        Ok(Left::NoRun) if args.run.is_empty() => Err(Error::Steer("no run is on".into())),
        Ok(Left::NoRun) => Err(Error::Steer(format!(
            "no run of that name is on: {}; `ralph ps` lists those that are",
            args.run.join(", ")
        ))),
        Err(source) => Err(Error::Io {
            path: "the terminal".into(),
            source,
        }),
    }
}

/// All there are of these names, or all; those of this project first.
fn sockets(own: &[PathBuf], names: &[String]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = own.iter().filter(|p| p.exists()).cloned().collect();
    for path in socket::all() {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all.retain(|path| names.is_empty() || names.contains(&socket::name(path)));
    all
}

fn tell(kind: SignalKind, send: Sender<Message>) {
    let Ok(mut came) = signal(kind) else { return };
    tokio::spawn(async move {
        if came.recv().await.is_some() {
            let _ = send.send(Message::Signal(kind.as_raw_value()));
        }
    });
}
