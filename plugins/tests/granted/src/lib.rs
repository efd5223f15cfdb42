//! For ralph's own tests: a gate that does what its configuration says, one after another,
//! with whatever can be granted, and tells what came of it.

use std::fs;

use ralph_plugin::process::Command;
use ralph_plugin::{Error, Finding, Gate, Iteration, Verdict, config, notify, state};
use serde::Deserialize;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// Each a word and what it needs: `run PROGRAM ARG…`, `env NAME VALUE PROGRAM`, `read PATH`,
    /// `write PATH TEXT`, `names PATH`, `rename FROM TO`, `get KEY`, `set KEY VALUE`, `big KEY BYTES`,
    /// `delete KEY`, `keys PREFIX`, `count KEY`, `tell TITLE TEXT`.
    acts: Vec<Vec<String>>,
}

/// All of it.
pub struct Granted;

impl Gate for Granted {
    fn check(it: &Iteration) -> Result<Verdict, Error> {
        let acts = config::<Config>()?.acts;
        let told = acts.iter().map(|act| {
            let words: Vec<&str> = act.iter().map(String::as_str).collect();
            match act_out(it, &words) {
                Ok(said) => format!("{}: {said}", words.join(" ")),
                Err(why) => format!("{}: error: {why}", words.join(" ")),
            }
        });
        Ok(Verdict::pass("done").with(told.map(Finding::new)))
    }
}

fn act_out(it: &Iteration, words: &[&str]) -> Result<String, String> {
    let at = |path: &str| format!("{}/{path}", it.workspace);
    let io = |e: std::io::Error| e.kind().to_string();
    let state = |e| format!("{e:?}");
    match *words {
        ["run", program, ref args @ ..] => ran(Command::new(program).args(args.iter().copied())),
        ["env", name, value, program] => ran(Command::new(program).env(name, value)),
        ["read", path] => fs::read_to_string(at(path)).map_err(io),
        ["write", path, text] => fs::write(at(path), text).map(|()| "ok".into()).map_err(io),
        ["rename", from, to] => fs::rename(at(from), at(to))
            .map(|()| "ok".into())
            .map_err(io),
        ["names", path] => {
            let entries = fs::read_dir(at(path)).map_err(io)?.flatten();
            let mut names: Vec<_> = entries
                .map(|e| e.file_name().into_string().unwrap_or_default())
                .collect();
            names.sort();
            Ok(names.join(" "))
        }
        ["get", key] => Ok(match state::get(key).map_err(state)? {
            Some(value) => String::from_utf8_lossy(&value).into_owned(),
            None => "none".into(),
        }),
        ["set", key, value] => state::set(key, value).map(|()| "ok".into()).map_err(state),
        ["big", key, bytes] => {
            let size: usize = bytes.parse().map_err(|_| "no number")?;
            state::set(key, vec![b'x'; size])
                .map(|()| "ok".into())
                .map_err(state)
        }
        ["delete", key] => state::delete(key).map(|()| "ok".into()).map_err(state),
        ["keys", prefix] => Ok(state::keys(prefix).map_err(state)?.join(" ")),
        ["count", key] => {
            let before = state::get(key).map_err(state)?.unwrap_or_default();
            let next = String::from_utf8_lossy(&before).parse::<u32>().unwrap_or(0) + 1;
            state::set(key, next.to_string()).map_err(state)?;
            Ok(next.to_string())
        }
        ["tell", title, text] => notify::send(notify::Level::Warn, title, text)
            .map(|()| "ok".into())
            .map_err(|e| format!("{e:?}")),
        _ => Err("no such act".into()),
    }
}

fn ran(command: Command) -> Result<String, String> {
    match command.run() {
        Ok(output) => Ok(format!("{:?}", output.code)),
        Err(error) => Err(format!("{error:?}")),
    }
}

ralph_plugin::gate!(Granted);

ralph_plugin::manifest! {
    kinds: ["gate"],
    capabilities: {
        "process": ["touch *", "sh **"], "read": ["notes", "one.txt"], "write": ["two.txt"],
        "state": true, "notify": true
    }
}
