//! `ralph serve`, `audit`, `token`: the service, and what its operator does beside it.

use std::process::ExitCode;

use anstyle::AnsiColor;
use ralph_engine::text::{head, one_line, shown as visible};
use ralph_runner::Error;
use ralph_serve::audit::chain;
use ralph_serve::auth::{Keys, Role};
use ralph_serve::service::Service;
use ralph_serve::settings::Settings;
use serde_json::{Value, json};

use crate::args::{AuditArgs, AuditCommand, ServeArgs, ServeFile, TokenArgs, TokenCommand};
use crate::out::{Out, note};

fn settings(file: ServeFile) -> Result<Settings, Error> {
    let path = file.config.map_or_else(Settings::place, Ok)?;
    Settings::read(&path)
}

pub async fn serve(args: ServeArgs, out: &Out) -> Result<ExitCode, Error> {
    let mut settings = settings(args.file)?;
    if let Some(listen) = args.listen {
        settings.serve.listen = listen;
        settings.reachable().map_err(Error::Usage)?;
    }
    ralph_runner::host_soon();
    let service = Service::open(settings, env!("CARGO_PKG_VERSION")).await?;
    // Before anybody hears of it: whoever asks it to end then is heard.
    let signalled = super::bridge::signalled();
    let addr = service.addr();
    out.text(format!("{}; ctrl-c ends", service.url()));
    if out.json {
        out.line(&json!({ "listen": addr }));
    }
    let signalled = async {
        signalled.await;
    };
    service.run(signalled).await;
    Ok(ExitCode::SUCCESS)
}

pub fn audit(args: AuditArgs, out: &Out) -> Result<ExitCode, Error> {
    let dir = settings(args.file)?.data()?;
    let mut newest = std::collections::VecDeque::new();
    let mut all = Vec::new();
    let keep = match &args.command {
        AuditCommand::Tail { newest } => *newest as usize,
        AuditCommand::Verify | AuditCommand::Export => 0,
    };
    let export = matches!(args.command, AuditCommand::Export);
    let verified = chain::each(&dir, |line, read| {
        if export {
            all.extend_from_slice(line);
            all.push(b'\n');
        } else if keep > 0 {
            newest.push_back(read.value.clone());
            if newest.len() > keep {
                newest.pop_front();
            }
        }
    });
    let verified = verified.map_err(|source| Error::Io {
        path: dir.join(chain::FILE).display().to_string(),
        source,
    })?;
    if let Some((line, what)) = &verified.problem {
        let shown = verified.file.display();
        let bad = out.paint(AnsiColor::Red, "BAD");
        let said = format!("{bad} {shown}:{line}: {what}");
        match (export, out.json) {
            // Its output is the audit and nothing else.
            (true, false) => note(&said),
            _ => out.text(said),
        }
        return Ok(out.done(1, &verified));
    }
    match args.command {
        AuditCommand::Verify => {
            let (lines, head) = (verified.lines, &verified.head);
            out.text(format!("whole: {lines} lines, the last one is {head}"));
            Ok(out.done(0, &verified))
        }
        AuditCommand::Tail { .. } => {
            for event in &newest {
                out.text(shown(event));
            }
            Ok(out.done(0, &json!({ "events": newest })))
        }
        AuditCommand::Export => {
            out.raw(&all);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn shown(event: &Value) -> String {
    let text = |key: &str| head(&visible(event[key].as_str().unwrap_or("-")), 60);
    let subject = match event["run_id"].as_str() {
        Some(_) => text("run_id"),
        None => text("prompt_path"),
    };
    format!(
        "{:>6} {} {:<22} {:<8} {} {} {}",
        event["seq"],
        text("at"),
        text("type"),
        text("stage"),
        text("actor"),
        text("workspace"),
        subject,
    )
}

pub fn token(args: TokenArgs, out: &Out) -> Result<ExitCode, Error> {
    let settings = settings(args.file)?;
    let TokenCommand::Mint {
        workspace,
        role,
        actor,
        ttl,
    } = args.command;
    if workspace != "*" && !settings.workspaces.contains_key(workspace.as_str()) {
        return Err(Error::Usage(format!(
            "serve.toml has no [workspaces.{}]",
            one_line(&workspace, 64)
        )));
    }
    let role = match role.as_str() {
        "admin" => Role::Admin,
        "operator" => Role::Operator,
        _ => Role::Observer,
    };
    let token = Keys::read(&settings)?.mint(&actor, &workspace, role, ttl.get().as_secs())?;
    out.text(&token);
    Ok(out.done(0, &json!({ "token": token })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_in_a_line_of_the_audit_is_shown() {
        let said = shown(&json!({
            "seq": 7, "at": "t", "type": "prompt.edited", "stage": "intent", "actor": "a\u{1b}[2Jb",
            "workspace": "site", "prompt_path": "prompts/a\u{202e}lmay.b\n",
        }));
        assert!(
            said.contains("a\\u{1b}[2Jb") && said.contains("a\\u{202e}lmay.b\\u{a}"),
            "{said}"
        );
        assert!(!said.contains(['\u{1b}', '\u{202e}', '\n']), "{said}");
    }
}
