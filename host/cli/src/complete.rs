//! What the shell offers behind the cursor. The script that `ralph completions` prints calls
//! `ralph -- WORDS` with [`VAR`] set; the library knows commands and options, here are the names.
//!
//! Names are listed and nothing else is done: no program runs, nothing is written, no network is
//! used. Whatever goes wrong is no name, and never a word in a person's prompt.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use clap::CommandFactory;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use ralph_config::types::TaskSource;
use ralph_engine::tasks::TaskFile;
use ralph_engine::text::one_line;
use ralph_rpc::socket;
use ralph_runner::registry::agent_names;
use ralph_runner::{Project, status};

use crate::args::Args;

/// Set by the script, to the shell's name.
const VAR: &str = "RALPH_COMPLETE";
/// Names that aren't there by then aren't waited for; a build without optimisations needs longer.
const PATIENCE: Duration = Duration::from_millis(match cfg!(debug_assertions) {
    true => 20_000,
    false => 500,
});
/// A task file of more bytes isn't read for that.
const FILE_MAX: u64 = 4 << 20;
/// Of a kind so many are offered.
const NAMES_MAX: usize = 1000;
/// Of a title so many bytes are shown.
const TITLE_MAX: usize = 60;

/// Was it the shell that asked? Then it has its answer.
pub fn answered() -> bool {
    let asked = std::env::var_os(VAR).is_some_and(|shell| !shell.is_empty())
        && std::env::args_os()
            .nth(1)
            .is_some_and(|first| first == "--");
    if asked {
        if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stderr(&nowhere);
        }
        let dir = std::env::current_dir().ok();
        // An error is no offer.
        let _ = CompleteEnv::with_factory(Args::command)
            .var(VAR)
            .try_complete(std::env::args_os(), dir.as_deref());
    }
    asked
}

/// The script that has a shell ask.
///
/// # Errors
/// There is none for that shell.
pub fn script(shell: clap_complete::Shell) -> io::Result<Vec<u8>> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let shell = shells
        .completer(&name)
        .ok_or_else(|| io::Error::other(format!("no completions for {name}")))?;
    let mut script = Vec::new();
    shell.write_registration(VAR, "ralph", "ralph", "ralph", &mut script)?;
    let script = String::from_utf8_lossy(&script);
    // A `ralph` that isn't found is nothing that a shell should speak of in the midst of a line.
    let words = match shell.name() {
        "bash" => "\"${words[@]}\"",
        "fish" => "(commandline --current-token)",
        // Zsh's says so itself.
        _ => return Ok(script.into_owned().into_bytes()),
    };
    let silent = script.replace(words, &format!("{words} 2>/dev/null"));
    Ok(silent.into_bytes())
}

/// Tasks of the project at hand.
pub fn tasks() -> ArgValueCandidates {
    listed(|project| {
        let state = status::state(project).ok();
        if project.config.tasks.source != TaskSource::File {
            // Its tracker would be a program's to ask: those that were tried.
            let tried = state.map(|s| s.tasks.into_keys().collect::<Vec<_>>());
            return offered(tried.unwrap_or_default());
        }
        let ids = state.map(|s| s.ids).unwrap_or_default();
        let read = || {
            let path = project.task_path().ok()?;
            let bytes = project.ws.read(&path, FILE_MAX).ok()??;
            TaskFile::parse_known(&path, &bytes, &ids).ok()
        };
        let Some(file) = read() else {
            return Vec::new();
        };
        let entries = file.list().entries().iter();
        let named = entries.map(|e| (e.task.id.clone(), one_line(&e.task.title, TITLE_MAX)));
        with_help(named)
    })
}

/// Agents that may work.
pub fn agents() -> ArgValueCandidates {
    listed(|project| offered(agent_names(&project.config)))
}

/// Modes that may be laid over the configuration.
pub fn modes() -> ArgValueCandidates {
    listed(|project| offered(project.config.mode_names().into_iter().map(str::to_owned)))
}

/// Plugins of the configuration.
pub fn plugins() -> ArgValueCandidates {
    listed(|project| offered(project.config.plugins.keys().cloned()))
}

/// The same, and those that are built in.
pub fn components() -> ArgValueCandidates {
    listed(|project| {
        let own = project.config.plugins.keys().cloned();
        let built_in = ralph_plugins::builtins().iter().map(|b| b.name.to_owned());
        offered(own.chain(built_in))
    })
}

/// Runs that are on, in any project.
pub fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        in_time(|| {
            let live = |path: &PathBuf| UnixStream::connect(path).is_ok();
            let all = socket::all().into_iter().filter(live);
            offered(all.map(|path| socket::name(&path)))
        })
    })
}

/// Names out of the project that the words speak of.
fn listed(names: fn(&Project) -> Vec<CompletionCandidate>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        in_time(move || {
            let dir = directory(std::env::args_os());
            let project = dir.and_then(|dir| Project::open(&dir).ok());
            project.map_or_else(Vec::new, |project| names(&project))
        })
    })
}

/// A disk may be slow, a run suspended: the shell isn't kept waiting.
fn in_time(
    names: impl FnOnce() -> Vec<CompletionCandidate> + Send + 'static,
) -> Vec<CompletionCandidate> {
    let (send, came) = channel();
    // It ends with the process.
    let looks = std::thread::Builder::new().spawn(move || send.send(names()));
    match looks {
        Ok(_) => came.recv_timeout(PATIENCE).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

/// The last `-C` among the words, or where one is.
fn directory(words: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let mut dir = std::env::current_dir().ok()?;
    let mut words = words.skip_while(|word| word != "--").skip(1);
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        let named = match &*word {
            "-C" | "--directory" => words.next(),
            "--" => break,
            word => (word
                .strip_prefix("--directory=")
                .or(word.strip_prefix("-C")))
            .map(OsString::from),
        };
        if let Some(named) = named.filter(|d| !d.is_empty()) {
            dir = dir.join(named);
        }
    }
    Some(dir)
}

fn offered(names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    with_help(names.into_iter().map(|name| (name, String::new())))
}

fn with_help(names: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let plain = names.filter(|(name, _)| is_plain(name)).take(NAMES_MAX);
    plain
        .enumerate()
        .map(|(at, (name, help))| {
            let help = (!help.is_empty()).then(|| help.into());
            CompletionCandidate::new(name)
                .help(help)
                .display_order(Some(at))
        })
        .collect()
}

/// A repository may name things as it likes; bash puts them into the line as they are. One that would
/// be more than a word there isn't offered.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-:/@+,%#=".contains(c);
    name.starts_with(char::is_alphanumeric) && name.len() <= 128 && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_read_as_more_than_a_word_is_not_offered() {
        for name in ["T1", "US-1.2", "issue#12", "a/b:c", "Überschrift"] {
            assert!(is_plain(name), "{name}");
        }
        let long = "x".repeat(129);
        for name in [
            "",
            "-n",
            "~root",
            "a b",
            "$(reboot)",
            "`x`",
            "a;b",
            "a&b",
            "a|b",
            "a>b",
            "*",
            "a?",
            "[a]",
            "{a,b}",
            "!x",
            "a'b",
            "a\"b",
            "a\\b",
            "a\nb",
            "\u{1b}[31m",
            "#a",
            "=ls",
            "\u{202e}a",
            &long,
        ] {
            assert!(!is_plain(name), "{name:?}");
        }
    }

    #[test]
    fn the_words_may_name_another_directory() {
        let of = |words: &[&str]| {
            let here = std::env::current_dir().unwrap_or_default();
            let all = ["ralph", "--", "ralph"].iter().chain(words);
            let dir = directory(all.map(OsString::from)).unwrap_or_default();
            dir.strip_prefix(&here).map(PathBuf::from).unwrap_or(dir)
        };
        assert_eq!(of(&["task", "show", ""]), PathBuf::new());
        for words in [
            &["-C", "a", "show"][..],
            &["-Ca", "show"],
            &["--directory", "a"],
            &["show", "--directory=a"],
        ] {
            assert_eq!(of(words), PathBuf::from("a"), "{words:?}");
        }
        assert_eq!(of(&["-C", "/x", "show"]), PathBuf::from("/x"));
        assert_eq!(of(&["-C"]), PathBuf::new());
    }
}
