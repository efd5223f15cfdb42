//! The host that a component sees here: it tells what the input says, and runs nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use ralph_engine::types::{AgentEvent, DiffText, FileChange};
use ralph_plugins::{
    Command, HttpFault, HttpRequest, HttpResponse, Level, Notification, Output, ProcessError,
    Services, StateAsk, StateError, StateTold,
};
use ralph_runner::replay::tape::{self, Ran};

use crate::diff::cut;
use crate::input::{Given, Program, Request};

/// Log lines that are kept.
const LINES_MAX: usize = 10_000;

/// One call's host.
pub struct Stage {
    files: Vec<FileChange>,
    diff: DiffText,
    prompt: String,
    programs: Mutex<VecDeque<Expected>>,
    requests: Mutex<VecDeque<Request>>,
    state: Mutex<BTreeMap<String, Vec<u8>>>,
    seen: Mutex<Seen>,
}

/// What the component did.
#[derive(Debug, Default)]
pub struct Seen {
    /// Its log, one line each: level and text.
    pub log: Vec<(Level, String)>,
    /// What it emitted.
    pub events: Vec<AgentEvent>,
    /// Where it asked for something else than the input has.
    pub strayed: Vec<String>,
    /// The most memory that an instance had, in bytes.
    pub memory: u64,
}

enum Expected {
    Told(Program),
    Kept(Ran),
}

impl Stage {
    /// For one call.
    pub fn new(given: &Given) -> Stage {
        let mut programs: VecDeque<Expected> = given
            .input
            .programs
            .iter()
            .cloned()
            .map(Expected::Told)
            .collect();
        let mut diff = DiffText {
            text: given.input.diff.clone().unwrap_or_default(),
            omitted_bytes: 0,
        };
        if let Some(recorded) = &given.recorded {
            programs.extend(recorded.asked.runs.iter().cloned().map(Expected::Kept));
            let longest = recorded
                .asked
                .diffs
                .iter()
                .max_by_key(|(_, d)| d.text.len());
            if let Some((_, kept)) = longest {
                diff = kept.clone();
            }
        }
        let state = given.input.state.iter();
        let state = state.map(|(key, text)| (key.clone(), text.clone().into_bytes()));
        let state = state.collect();
        Stage {
            files: given.input.changes(),
            diff,
            prompt: given.input.prompt.clone().unwrap_or_default(),
            programs: Mutex::new(programs),
            requests: Mutex::new(given.input.requests.iter().cloned().collect()),
            state: Mutex::new(state),
            seen: Mutex::default(),
        }
    }

    /// What it did; to be asked when the call is over.
    pub fn seen(&self) -> Seen {
        let mut seen = std::mem::take(&mut *lock(&self.seen));
        for left in &*lock(&self.programs) {
            let program = match left {
                Expected::Told(p) => &p.program,
                Expected::Kept(ran) => &ran.program,
            };
            seen.strayed
                .push(format!("`{program}` was not run, and the input has it"));
        }
        for left in &*lock(&self.requests) {
            let url = &left.url;
            seen.strayed
                .push(format!("nothing was sent to {url}, and the input has it"));
        }
        seen
    }
}

#[async_trait]
impl Services for Stage {
    fn log(&self, _: &str, level: Level, message: &str) {
        let log = &mut lock(&self.seen).log;
        if log.len() < LINES_MAX {
            log.push((level, message.to_owned()));
        }
    }

    fn event(&self, event: AgentEvent) {
        lock(&self.seen).events.push(event);
    }

    fn prompt(&self) -> String {
        self.prompt.clone()
    }

    fn used(&self, memory: u64) {
        let mut seen = lock(&self.seen);
        seen.memory = seen.memory.max(memory);
    }

    async fn files(&self) -> Vec<FileChange> {
        self.files.clone()
    }

    async fn diff(&self, max_bytes: u64) -> DiffText {
        let mut diff = cut(&self.diff.text, max_bytes);
        diff.omitted_bytes += self.diff.omitted_bytes;
        diff
    }

    async fn run(&self, command: Command) -> Result<Output, ProcessError> {
        let next = lock(&self.programs).pop_front();
        match next {
            Some(Expected::Told(p)) if fits(&p, &command) => told(p),
            Some(Expected::Kept(ran)) if ran.command == tape::command_hash(&command) => ran.again(),
            other => {
                let shown = shown(&command);
                let why = match &other {
                    None => format!("it runs `{shown}`, and the input has no further program"),
                    Some(Expected::Told(p)) => format!(
                        "it runs `{shown}`, and the next program of the input is `{} {}`",
                        p.program,
                        p.args.clone().unwrap_or_default().join(" ")
                    ),
                    Some(Expected::Kept(ran)) => format!(
                        "it runs `{shown}` otherwise than it did when `{}` was recorded",
                        ran.program
                    ),
                };
                lock(&self.seen).strayed.push(why.clone());
                Err(ProcessError::Failed(why))
            }
        }
    }

    async fn state(&self, _: &str, ask: StateAsk) -> Result<StateTold, StateError> {
        let mut state = lock(&self.state);
        Ok(match ask {
            StateAsk::Get(key) => StateTold::Value(state.get(&key).cloned()),
            StateAsk::Keys(prefix) => {
                let keys = state.keys().filter(|key| key.starts_with(&prefix));
                StateTold::Keys(keys.cloned().collect())
            }
            StateAsk::Set(key, value) => {
                state.insert(key, value);
                StateTold::Done
            }
            StateAsk::Delete(key) => {
                state.remove(&key);
                StateTold::Done
            }
        })
    }

    async fn http(
        &self,
        _: &str,
        request: HttpRequest,
        max: u64,
    ) -> Result<HttpResponse, HttpFault> {
        let next = lock(&self.requests).pop_front();
        let asked = format!("{} {}", request.method, request.url);
        let why = match next {
            Some(expected) if matches(&expected, &request) => return answered(expected, max),
            Some(other) => format!(
                "it sends {asked}, and the next request of the input is to {}",
                other.url
            ),
            None => format!("it sends {asked}, and the input has no further request"),
        };
        lock(&self.seen).strayed.push(why.clone());
        Err(HttpFault::Failed(why))
    }

    async fn notify(&self, plugin: &str, what: Notification) -> Result<(), String> {
        let said = format!("tells people: {}: {}", what.title, what.text);
        self.log(plugin, what.level, &said);
        Ok(())
    }
}

fn fits(p: &Program, command: &Command) -> bool {
    p.program == command.program && p.args.as_ref().is_none_or(|args| *args == command.args)
}

fn matches(expected: &Request, request: &HttpRequest) -> bool {
    let method = expected.method.as_ref();
    let sent = expected.sent.as_ref();
    expected.url == request.url
        && method.is_none_or(|method| *method == request.method)
        && sent.is_none_or(|sent| sent.as_bytes() == request.body)
}

fn answered(expected: Request, max: u64) -> Result<HttpResponse, HttpFault> {
    match expected.error.as_deref() {
        Some("timeout") => return Err(HttpFault::Timeout),
        Some(why) => return Err(HttpFault::Failed(why.to_owned())),
        None if expected.body.len() as u64 > max => return Err(HttpFault::TooLarge(max)),
        None => {}
    }
    let headers = expected.headers.into_iter();
    Ok(HttpResponse {
        status: expected.status,
        headers: headers
            .map(|(name, value)| (name, value.into_bytes()))
            .collect(),
        body: expected.body.into_bytes(),
    })
}

fn told(p: Program) -> Result<Output, ProcessError> {
    match p.error {
        None => Ok(Output {
            code: p.code,
            timed_out: p.timed_out,
            stdout: p.stdout.into_bytes(),
            stderr: p.stderr.into_bytes(),
            truncated: false,
        }),
        Some((kind, why)) => Err(match kind.as_str() {
            "denied" => ProcessError::Denied(why),
            "not-found" => ProcessError::NotFound(why),
            _ => ProcessError::Failed(why),
        }),
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(&command.program).chain(&command.args);
    words.cloned().collect::<Vec<_>>().join(" ")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
