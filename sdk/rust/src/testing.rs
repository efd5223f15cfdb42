//! A stand-in for the host, so that a plugin's logic can be tested natively.
//! Each test thread has its own.
//!
//! ```
//! use ralph_plugin::{config, log, testing::Host};
//! let (limit, record) = Host::new().config(r#"{"limit": 3}"#).run(|| {
//!     log::info("hello");
//!     config::<std::collections::HashMap<String, u32>>().unwrap()["limit"]
//! });
//! assert_eq!((limit, record.logs.len()), (3, 1));
//! ```

use crate::changes::DiffText;
use crate::log::Level;
use crate::notify;
use crate::process::{Command, Output, ProcessError};
use crate::state::StateError;
use crate::{ChangeKind, Ending, Event, Exit, FileChange, Iteration, Outcome, Role, Session, Task};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

type Process = Rc<RefCell<dyn FnMut(&Command) -> Result<Output, ProcessError>>>;

/// What the plugin under test sees of its host. Without further ado: an empty
/// configuration, no changes, and every program refused.
pub struct Host {
    pub(crate) config: String,
    pub(crate) prompt: String,
    pub(crate) files: Vec<FileChange>,
    diff: DiffText,
    process: Option<Process>,
    stop_after: Option<usize>,
    pub(crate) record: Record,
}

/// What the plugin did.
#[derive(Debug, Default)]
pub struct Record {
    /// Its log lines.
    pub logs: Vec<(Level, String)>,
    /// What it emitted, if it is an agent.
    pub events: Vec<Event>,
    /// The programs it wanted to run.
    pub commands: Vec<Command>,
    /// The values that it keeps, those that it was given included.
    pub state: BTreeMap<String, Vec<u8>>,
    /// What it told people: level, title and text.
    pub notifications: Vec<(notify::Level, String, String)>,
}

thread_local! {
    static HOST: RefCell<Host> = RefCell::new(Host::new());
}

impl Default for Host {
    fn default() -> Self {
        Host {
            config: "{}".into(),
            prompt: String::new(),
            files: Vec::new(),
            diff: DiffText {
                text: String::new(),
                omitted_bytes: 0,
            },
            process: None,
            stop_after: None,
            record: Record::default(),
        }
    }
}

impl Host {
    /// See [`Host`].
    pub fn new() -> Self {
        Host::default()
    }

    /// The plugin's configuration, one JSON object.
    pub fn config(mut self, json: impl Into<String>) -> Self {
        self.config = json.into();
        self
    }

    /// The prompt of the agent call.
    pub fn prompt(mut self, text: impl Into<String>) -> Self {
        self.prompt = text.into();
        self
    }

    /// Adds a modified file of one added line.
    pub fn changed(self, path: &str) -> Self {
        self.file(FileChange {
            path: path.into(),
            kind: ChangeKind::Modified,
            added_lines: 1,
            deleted_lines: 0,
        })
    }

    /// Adds a changed file.
    pub fn file(mut self, file: FileChange) -> Self {
        self.files.push(file);
        self
    }

    /// A value that it has kept from an earlier call.
    pub fn kept(mut self, key: &str, value: impl Into<Vec<u8>>) -> Self {
        self.record.state.insert(key.into(), value.into());
        self
    }

    /// The diff. Cut where the plugin asks for less (the real host cuts between files).
    pub fn diff(mut self, text: impl Into<String>) -> Self {
        self.diff.text = text.into();
        self
    }

    /// Answers for programs; [`output`] makes an answer.
    pub fn process(
        mut self,
        f: impl FnMut(&Command) -> Result<Output, ProcessError> + 'static,
    ) -> Self {
        self.process = Some(Rc::new(RefCell::new(f)));
        self
    }

    /// An agent is asked to stop once it has emitted this many events.
    pub fn stop_after(mut self, events: usize) -> Self {
        self.stop_after = Some(events);
        self
    }

    /// Runs `f` under this host.
    pub fn run<R>(self, f: impl FnOnce() -> R) -> (R, Record) {
        let before = HOST.replace(self);
        let result = f();
        (result, HOST.replace(before).record)
    }

    pub(crate) fn diff_within(&self, max_bytes: u64) -> DiffText {
        let max = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let kept = self
            .diff
            .text
            .floor_char_boundary(max.min(self.diff.text.len()));
        DiffText {
            text: self.diff.text[..kept].to_owned(),
            omitted_bytes: self.diff.omitted_bytes + (self.diff.text.len() - kept) as u64,
        }
    }
}

pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, StateError> {
    Ok(with(|h| h.record.state.get(key).cloned()))
}

pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), StateError> {
    with(|h| h.record.state.insert(key.into(), value.into()));
    Ok(())
}

pub(crate) fn delete(key: &str) -> Result<(), StateError> {
    with(|h| h.record.state.remove(key));
    Ok(())
}

pub(crate) fn keys(prefix: &str) -> Result<Vec<String>, StateError> {
    let begins = |key: &&String| key.starts_with(prefix);
    Ok(with(|h| {
        h.record.state.keys().filter(begins).cloned().collect()
    }))
}

pub(crate) fn stop_asked() -> bool {
    with(|h| h.stop_after.is_some_and(|n| h.record.events.len() >= n))
}

pub(crate) fn with<R>(f: impl FnOnce(&mut Host) -> R) -> R {
    HOST.with_borrow_mut(f)
}

pub(crate) fn run(command: &Command) -> Result<Output, ProcessError> {
    let process = with(|h| {
        h.record.commands.push(command.clone());
        h.process.clone()
    });
    match process {
        Some(f) => (f.borrow_mut())(command),
        None => Err(ProcessError::Denied(format!(
            "the test grants no `{}`",
            command.program
        ))),
    }
}

/// What a program that ended by itself gives back.
pub fn output(code: i32, stdout: &str, stderr: &str) -> Output {
    Output {
        code: Some(code),
        timed_out: false,
        stdout: stdout.into(),
        stderr: stderr.into(),
        truncated: false,
    }
}

/// The first attempt at task `T1`, work of the agent `test`, in `/workspace`.
pub fn iteration() -> Iteration {
    Iteration {
        run_id: "run-1".into(),
        number: 1,
        attempt: 1,
        agent: "test".into(),
        role: Role::Work,
        workspace: "/workspace".into(),
        scratch: "/scratch".into(),
        task: Some(Task {
            id: "T1".into(),
            title: "The first task".into(),
            description: String::new(),
            acceptance: Vec::new(),
            priority: None,
            depends_on: Vec::new(),
        }),
    }
}

/// One whole agent call: feeds the pieces, then the exit. Gives all events, those
/// of the end included, and the outcome.
pub fn replay<S: Session>(pieces: &[&[u8]], exit: &Exit) -> (Vec<Event>, Outcome) {
    let mut session = S::start(&iteration());
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(session.feed(piece).events);
    }
    let Ending {
        events: late,
        outcome,
    } = session.finish(exit);
    events.extend(late);
    (events, outcome)
}

/// Streams up to this length are cut in two at each position, which is quadratic.
const SHORT: usize = 4096;

/// [`replay`]s a stream whole, and cut at every position: in two, or, if it has more
/// than 4 KiB, in pieces of 1 to 509 bytes, each length shifted byte by byte until
/// every position was a cut.
///
/// # Panics
/// If not all of them come to the same.
pub fn replay_cut_anywhere<S: Session>(stream: &[u8], exit: &Exit) -> (Vec<Event>, Outcome) {
    let whole = replay::<S>(&[stream], exit);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(replay::<S>(&bytes, exit), whole, "byte by byte");
    if stream.len() <= SHORT {
        for at in 0..=stream.len() {
            let pieces = [&stream[..at], &stream[at..]];
            assert_eq!(replay::<S>(&pieces, exit), whole, "cut at {at}");
        }
        return whole;
    }
    for length in [2, 7, 61, 509] {
        for shift in 0..length {
            let (head, rest) = stream.split_at(shift);
            let pieces: Vec<&[u8]> = std::iter::once(head).chain(rest.chunks(length)).collect();
            let told = replay::<S>(&pieces, exit);
            assert_eq!(told, whole, "pieces of {length} bytes, shifted by {shift}");
        }
    }
    whole
}

/// A recorded call: what the program printed, and how it ended. `end` is JSON with
/// `exit`, as ralph's own tests write it beside a recorded stream. Cut as in
/// [`replay_cut_anywhere`].
///
/// # Panics
/// If `end` can't be read, or if the cuts don't come to the same.
#[allow(clippy::expect_used)]
pub fn recorded<S: Session>(stream: &str, end: &str) -> (Vec<Event>, Outcome) {
    let end: serde_json::Value = serde_json::from_str(end).expect("JSON");
    let exit = &end["exit"];
    let number = |key: &str| exit[key].as_i64().and_then(|n| i32::try_from(n).ok());
    let collected = exit["collected"].as_array().into_iter().flatten();
    let exit = Exit {
        code: number("code"),
        signal: number("signal"),
        stderr_tail: exit["stderr_tail"].as_str().unwrap_or_default().into(),
        collected: collected
            .filter_map(|file| {
                let text = |at: usize| file[at].as_str().map(str::to_owned);
                Some((text(0)?, text(1)?.into_bytes()))
            })
            .collect(),
    };
    replay_cut_anywhere::<S>(stream.as_bytes(), &exit)
}
