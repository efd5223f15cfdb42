//! What a run has kept of an agent's driver, as an input: the prompt, what the program printed, how
//! it ended. No program is needed to ask again.

use std::path::{Path, PathBuf};

use ralph_runner::replay::output::Pieces;
use ralph_runner::replay::tape::{AgentTape, Bytes};
use ralph_workspace::Workspace;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::input::{Exit, Input};
use crate::recorded::{attempt_dir, config, load};
use crate::{build, project};

/// What a program printed may have so many bytes; an input is a file that people read.
const OUTPUT_MAX: usize = 16 << 20;
const PROMPT_MAX: u64 = 16 << 20;
/// The agent that works on the task. Those of judges are `judge-1-agent`, …
const WORK: &str = "work";

/// That of an attempt of the project around `dir`: by its id, by its folder, or by a tape. Of several
/// calls it is `name`, or the one of the agent that works.
///
/// # Errors
/// There is none, or not all of it was kept.
pub fn find(dir: &Path, attempt: &str, name: Option<&str>) -> Result<Input, Error> {
    let given = dir.join(attempt);
    let tape = if given.is_file() {
        given
    } else {
        let mut folder = match given.is_dir() {
            true => given,
            false => attempt_dir(dir, attempt)?,
        };
        if folder.join("replay").is_dir() {
            folder.push("replay");
        }
        folder.join(format!("{}.json", name.unwrap_or(WORK)))
    };
    if !tape.is_file() {
        return Err(Error::Usage(format!(
            "{} isn't there: of that agent no call was kept{}",
            tape.display(),
            match name {
                Some(_) => "",
                None => "; --gate judge-1-agent or review-1-agent is that of a judge or reviewer",
            }
        )));
    }
    read(&std::path::absolute(&tape).map_err(|e| Error::io(&tape, e))?)
}

fn read(path: &Path) -> Result<Input, Error> {
    let lacks = |why: &str| Error::Usage(format!("{}: {why}", path.display()));
    let tape: AgentTape = load(path)?;
    if !tape.whole {
        return Err(lacks("its output was longer than what is kept of it"));
    }
    let Some(exit) = &tape.exit else {
        return Err(lacks("the host had ended its program, so it never ruled"));
    };
    let text = |bytes: &Bytes, what: &str| match bytes.get().map(String::from_utf8) {
        Some(Ok(text)) => Ok(text),
        _ => Err(lacks(&format!("{what} isn't UTF-8"))),
    };
    let mut collected = Vec::new();
    for (name, bytes) in &exit.collected {
        collected.push((name.clone(), text(bytes, name)?));
    }
    let exit = Exit {
        code: exit.code,
        signal: exit.signal,
        stderr: text(&exit.stderr_tail, "its standard error")?,
        collected,
    };
    let it = serde_json::to_value(&tape.given.it).unwrap_or_default();
    let it: Map<String, Value> = match it {
        Value::Object(all) => all
            .into_iter()
            // A case is the same on another machine.
            .filter(|(key, _)| key != "workspace" && key != "scratch")
            .collect(),
        _ => Map::new(),
    };
    Ok(Input {
        config: config(path, &tape.given.config)?,
        iteration: it,
        now: tape.given.now / 1_000_000_000,
        seed: tape.given.seed.clone(),
        prompt: Some(prompt(path)?),
        output: Some(output(path, &tape)?),
        exit: Some(exit),
        ..Input::default()
    })
}

/// It lies beside the folder of the tapes: `prompt.md`, or `judge-1.md` for `judge-1-agent.json`.
fn prompt(tape: &Path) -> Result<String, Error> {
    let stem = tape.file_stem().unwrap_or_default().to_string_lossy();
    let name = match stem.strip_suffix("-agent") {
        Some(question) => format!("{question}.md"),
        None => "prompt.md".to_owned(),
    };
    let context = tape.parent().and_then(Path::parent);
    let path = context.unwrap_or(Path::new(".")).join(name);
    let bytes = project::bytes(&path, PROMPT_MAX)?
        .ok_or_else(|| Error::Usage(format!("{} isn't there", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Pieces as they came, but that no character is cut.
fn output(path: &Path, tape: &AgentTape) -> Result<Vec<String>, Error> {
    let lacks = |why: String| Error::Usage(format!("{}: {why}", path.display()));
    let records = path.ancestors().find(|dir| dir.ends_with(".ralph"));
    let root: PathBuf = match records.and_then(Path::parent) {
        Some(root) => root.to_owned(),
        None => return Err(lacks("it lies in no project's .ralph/".into())),
    };
    let ws = Workspace::open(&root).map_err(|e| lacks(e.to_string()))?;
    let (mut pieces, mut rest, mut all) = (Vec::new(), Vec::new(), 0);
    for piece in Pieces::of(&ws, tape).map_err(lacks)? {
        let piece = piece.map_err(|e| lacks(format!("{}: {e}", tape.log)))?;
        all += piece.len();
        if all > OUTPUT_MAX {
            return Err(lacks(format!(
                "its program printed more than {} MiB, too much for an input",
                OUTPUT_MAX >> 20
            )));
        }
        rest.extend_from_slice(&piece);
        let whole = match std::str::from_utf8(&rest) {
            Ok(_) => rest.len(),
            Err(e) if e.error_len().is_none() => e.valid_up_to(),
            Err(_) => return Err(lacks(format!("{} isn't UTF-8", tape.log))),
        };
        let next = rest.split_off(whole);
        if !rest.is_empty() {
            pieces.push(String::from_utf8_lossy(&rest).into_owned());
        }
        rest = next;
    }
    if !rest.is_empty() {
        return Err(lacks(format!("{} isn't UTF-8", tape.log)));
    }
    Ok(pieces)
}

/// Keeps it in a case's folder.
///
/// # Errors
/// The disk refuses.
pub fn keep(input: &Input, case: &Path) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(input).unwrap_or_default();
    build::put(&case.join("input.json"), format!("{text}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use serde_json::json;

    fn pieces(log: &[u8], chunks: &[u32]) -> Result<Vec<String>, Error> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".ralph/context/T1/a/replay")).unwrap();
        std::fs::write(dir.path().join("log"), log).unwrap();
        let it = Input::default().iteration().unwrap();
        let given = json!({ "plugin": "", "config": "{}", "seed": "", "now": 0, "it": it });
        let tape = json!({
            "given": given, "launch": "", "log": "log", "from": 1, "chunks": chunks, "whole": true,
            "events": "", "exit": null, "outcome": null,
            "usage": { "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0 },
        });
        let tape: AgentTape = serde_json::from_value(tape).unwrap();
        let path = dir.path().join(".ralph/context/T1/a/replay/work.json");
        output(&path, &tape)
    }

    #[test]
    fn no_character_is_cut() {
        let log = "-a\u{e9}\u{1f600}b".as_bytes();
        let all = pieces(log, &[2, 1, 1, 1, 3]).unwrap();
        assert_eq!(all, ["a", "\u{e9}", "\u{1f600}b"]);
        assert_eq!(pieces(log, &[8]).unwrap().concat(), "a\u{e9}\u{1f600}b");
        assert_eq!(pieces(log, &[]).unwrap(), [""; 0]);
    }

    #[test]
    fn what_isn_t_text_or_isn_t_there_is_refused() {
        for (log, chunks) in [
            (&b"-a\xff"[..], &[2][..]),
            (b"-a\xc3", &[2]),
            (b"-a", &[2]),
            (b"-a", &[u32::MAX]),
        ] {
            assert!(pieces(log, chunks).is_err(), "{log:?}");
        }
    }
}
