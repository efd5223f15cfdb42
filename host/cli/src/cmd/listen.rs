//! `ralph listen`: tools and commands over TCP.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use ralph_rpc::tcp::{Commands, Evaluated, Listen, Token, token_file};
use ralph_rpc::tools::Roots;
use ralph_runner::Error;
use serde_json::json;

use crate::args::{Args, Command, ListenArgs, PluginCommand};
use crate::out::{Kept, Out, note};

pub async fn listen(dir: &Path, args: ListenArgs, out: &Out) -> Result<ExitCode, Error> {
    ralph_process::withhold("RALPH_AUTH_TOKEN");
    let token = match &args.token_file {
        Some(path) => {
            // Who has it may call what no sandbox holds.
            ralph_runner::holding::keep(std::path::absolute(path).ok());
            Some(token_file(path).map_err(Error::Usage)?)
        }
        None => match std::env::var("RALPH_AUTH_TOKEN") {
            Ok(text) => Some(
                Token::new(text.trim())
                    .map_err(|e| Error::Usage(format!("RALPH_AUTH_TOKEN: {e}")))?,
            ),
            Err(_) => None,
        },
    };
    reachable(&args, token.is_some())?;
    let dirs = match args.root.as_slice() {
        [] => vec![dir.to_owned()],
        dirs => dirs.iter().map(|d| dir.join(d)).collect::<Vec<PathBuf>>(),
    };
    let roots = Roots::new(&dirs).map_err(Error::Usage)?;
    let open = Listen {
        commands: Arc::new(Line {
            roots: roots.clone(),
        }),
        roots,
        token,
        idle: args.timeout.get(),
        host: super::host()?,
        version: env!("CARGO_PKG_VERSION"),
    };
    let ports = [args.port, args.repl_port].map(|port| SocketAddr::new(args.host, port));
    let listening = open
        .open(ports)
        .await
        .map_err(|e| Error::Usage(e.to_string()))?;
    // Before anybody hears of it: whoever asks it to end then is heard.
    let signalled = super::bridge::signalled();
    let (tools, commands) = (listening.tools, listening.commands);
    out.text(format!(
        "tools on {tools}, commands on {commands}; ctrl-c ends"
    ));
    if out.json {
        out.line(&json!({ "tools": tools, "commands": commands }));
    }
    signalled.await;
    listening.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Others than this machine's programs are let in only if a person says so, and with a token.
fn reachable(args: &ListenArgs, token: bool) -> Result<(), Error> {
    let local = match args.host {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if local {
        if !token {
            note(
                "warning: every program of this machine, whoever's it is, may call tools here; RALPH_AUTH_TOKEN or --token-file asks for a token",
            );
        }
        return Ok(());
    }
    let host = args.host;
    if !args.allow_remote {
        return Err(Error::Usage(format!(
            "{host} can be reached from other machines; --allow-remote says that this is meant. Nothing is encrypted: put a tunnel in front"
        )));
    }
    if !token {
        return Err(Error::Usage(format!(
            "{host} can be reached from other machines: set RALPH_AUTH_TOKEN, or name a file with --token-file"
        )));
    }
    Ok(())
}

/// `ralph`'s own commands, in this process.
struct Line {
    roots: Roots,
}

#[async_trait::async_trait]
impl Commands for Line {
    async fn eval(&self, code: &str) -> Evaluated {
        let Some(words) = shlex::split(code) else {
            return Evaluated::usage("a quote is not closed");
        };
        let words = std::iter::once("ralph".to_owned()).chain(words);
        let mut args = match Args::try_parse_from(words) {
            Ok(args) => args,
            Err(e) if !e.use_stderr() => {
                return Evaluated {
                    output: e.to_string(),
                    error: None,
                    code: 0,
                };
            }
            Err(e) => return Evaluated::usage(e.to_string().trim()),
        };
        if let Some(why) = unfit(&args.command) {
            let name = args.command.name();
            return Evaluated::usage(format!("`{name}` can't be given here: {why}"));
        }
        let named = args.directory.as_ref().map(|d| d.to_string_lossy());
        match self.roots.directory(named.as_deref()) {
            Ok(dir) => args.directory = Some(dir),
            Err(e) => return Evaluated::usage(e.to_string()),
        }
        let kept = Kept::default();
        let out = Out::keep(args.command.name(), args.json, &kept);
        let code = Box::pin(crate::dispatch(args, &out)).await;
        let said = std::mem::take(&mut *kept.said());
        Evaluated {
            output: said.output,
            error: said.error,
            code: exit_code(code),
        }
    }
}

/// Why a command has no business there.
fn unfit(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::Run(_) | Command::Step(_) | Command::Supervise(_) => {
            "a run is started with the tools `run` and `step` on the other port"
        }
        Command::Attach(_) => "there is no terminal",
        Command::Watch(_)
        | Command::Tail(_)
        | Command::Bridge
        | Command::Listen(_)
        | Command::Serve(_)
        | Command::Mcp => "it has no end",
        Command::Audit(_) | Command::Token(_) => "it is for the service's operator, at a terminal",
        Command::Trust(_) => "what may run is accepted by a person, at a terminal",
        Command::Plugin(a) if matches!(a.command, PluginCommand::Kit(_)) => {
            "it builds and reads what lies anywhere; that is done at a terminal"
        }
        Command::Inject(a) if a.text == "-" => "there is no standard input",
        _ => return None,
    })
}

/// `ExitCode` doesn't tell its number.
fn exit_code(code: ExitCode) -> u8 {
    (0..=255).find(|n| ExitCode::from(*n) == code).unwrap_or(2)
}
