//! `ralph trust`

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use ralph_runner::{Error, Project, Trust};
use serde_json::json;

use crate::args::TrustArgs;
use crate::out::{Out, note};

pub fn trust(dir: &Path, args: &TrustArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let trust = Trust::of(&project)?;
    if args.revoke {
        let was = trust.revoke()?;
        out.text(if was {
            "taken back"
        } else {
            "it had not been given"
        });
        return Ok(out.done(0, &json!({ "trusted": false })));
    }
    out.text(format!(
        "{} can run or reach:",
        out.bold(&project.ws.root().display().to_string())
    ));
    for power in &trust.powers {
        out.text(format!("  {}: {}", out.bold(&power.what), power.detail));
    }
    if trust.powers.is_empty() {
        out.text("  nothing");
    }
    out.text(format!("content hash {}", trust.digest));
    let accepted = trust.given || args.yes || (!out.json && ask());
    if accepted && !trust.given {
        trust.give(&project)?;
    }
    out.text(if accepted {
        "trusted"
    } else {
        "not trusted; nothing of it will run. `ralph trust --yes` accepts it."
    });
    let powers: Vec<_> = trust
        .powers
        .iter()
        .map(|p| json!({ "what": p.what, "detail": p.detail }))
        .collect();
    Ok(out.done(
        u8::from(!accepted),
        &json!({ "trusted": accepted, "digest": trust.digest, "powers": powers }),
    ))
}

fn ask() -> bool {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return false;
    }
    note("Accept this? [y/N]");
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
