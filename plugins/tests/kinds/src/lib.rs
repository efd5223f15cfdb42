//! For ralph's own tests: tools, a notifier and a tracker in one component. The notifier
//! and the tracker keep what they are told in files of a directory that they are granted.

use std::fs;
use std::path::PathBuf;

use ralph_plugin::{
    Error, NewTask, Notice, Notifier, Task, Tool, Tools, Tracked, TrackedState, TrackedTask,
    Tracker, config,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// Where files are, as the guest sees it.
    dir: String,
    /// What to do instead: `fail`, `loop`, `bad-json`, `bad-schema`, `bad-name`.
    odd: String,
}

fn settings() -> Result<Config, Error> {
    config()
}

fn place(name: &str) -> Result<PathBuf, Error> {
    Ok(PathBuf::from(settings()?.dir).join(name))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed(error.to_string())
}

/// All of it.
pub struct Kinds;

impl Tools for Kinds {
    fn tools() -> Result<Vec<Tool>, Error> {
        let odd = settings()?.odd;
        if odd == "bad-schema" {
            let schema = json!({ "type": "object", "properties": { "a": { "pattern": "^a$" } } });
            return Ok(vec![Tool::new("add", "", &schema)]);
        }
        let number = json!({ "type": "integer", "minimum": -1000, "maximum": 1000 });
        let schema = json!({
            "type": "object",
            "properties": { "a": number, "b": number, "note": { "type": "string", "maxLength": 20 } },
            "required": ["a", "b"],
            "additionalProperties": false,
        });
        let name = if odd == "bad-name" { "a b" } else { "add" };
        Ok(vec![
            Tool::new(name, "Adds two numbers", &schema),
            Tool::new("fail", "Never answers", &json!({ "type": "object" })),
        ])
    }

    fn call(name: &str, arguments: Map<String, Value>) -> Result<Map<String, Value>, Error> {
        if name == "fail" {
            return Err(Error::failed("it never answers"));
        }
        let number = |key: &str| {
            arguments
                .get(key)
                .and_then(Value::as_i64)
                .unwrap_or_default()
        };
        let mut answer = Map::new();
        answer.insert("sum".to_owned(), json!(number("a") + number("b")));
        Ok(answer)
    }
}
ralph_plugin::tools!(Kinds);

impl Notifier for Kinds {
    fn notify(notice: &Notice) -> Result<(), Error> {
        match settings()?.odd.as_str() {
            "fail" => return Err(Error::failed("nobody is there")),
            "loop" => loop {
                std::hint::spin_loop();
            },
            _ => {}
        }
        let details: Value = serde_json::from_str(&notice.details).map_err(failed)?;
        let told = json!({
            "event": notice.event, "project": notice.project, "text": notice.text, "details": details,
        });
        fs::write(place("told.json")?, told.to_string()).map_err(failed)
    }
}
ralph_plugin::notifier!(Kinds);

#[derive(Serialize, Deserialize)]
struct Kept {
    id: String,
    title: String,
    state: String,
    #[serde(default)]
    acceptance: Vec<String>,
    #[serde(default)]
    depends_on: Vec<String>,
    /// Whatever was said of it, each attempt once.
    #[serde(default)]
    said: Vec<String>,
}

fn read() -> Result<Vec<Kept>, Error> {
    let bytes = fs::read(place("tasks.json")?).map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(failed)
}

fn write(tasks: &[Kept]) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(tasks).map_err(failed)?;
    fs::write(place("tasks.json")?, text).map_err(failed)
}

impl Tracker for Kinds {
    fn load() -> Result<Vec<TrackedTask>, Error> {
        if settings()?.odd == "fail" {
            return Err(Error::failed("the tracker is out of order"));
        }
        let entry = |kept: Kept| TrackedTask {
            state: match kept.state.as_str() {
                "done" => TrackedState::Done,
                "blocked" => TrackedState::Blocked,
                "in_progress" => TrackedState::InProgress,
                _ => TrackedState::Open,
            },
            task: Task {
                id: kept.id,
                title: kept.title,
                description: String::new(),
                acceptance: kept.acceptance,
                priority: None,
                depends_on: kept.depends_on,
            },
        };
        Ok(read()?.into_iter().map(entry).collect())
    }

    fn begin(task: &str) -> Result<(), Error> {
        let mut tasks = read()?;
        if let Some(kept) = tasks.iter_mut().find(|kept| kept.id == task) {
            kept.state = "in_progress".to_owned();
            write(&tasks)?;
        }
        Ok(())
    }

    fn apply(task: &str, outcome: &Tracked) -> Result<bool, Error> {
        let mut tasks = read()?;
        let Some(kept) = tasks.iter_mut().find(|kept| kept.id == task) else {
            return Ok(false);
        };
        let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let (state, said) = match outcome {
            Tracked::Open => ("open", None),
            Tracked::Done(done) => {
                let said = format!("done {} {}", or(&done.attempt), or(&done.commit));
                ("done", Some(said))
            }
            Tracked::Blocked(blocked) => {
                let said = format!("blocked {} {}", or(&blocked.attempt), or(&blocked.reason));
                ("blocked", Some(said))
            }
        };
        kept.state = state.to_owned();
        if let Some(said) = said
            && !kept.said.contains(&said)
        {
            kept.said.push(said);
        }
        write(&tasks)?;
        Ok(true)
    }

    fn add(new: &NewTask) -> Result<String, Error> {
        let mut tasks = read()?;
        let id = format!("K-{}", tasks.len() + 1);
        tasks.push(Kept {
            id: id.clone(),
            title: new.title.clone(),
            state: "open".to_owned(),
            acceptance: new.acceptance.clone(),
            depends_on: new.depends_on.clone(),
            said: Vec::new(),
        });
        write(&tasks)?;
        Ok(id)
    }
}
ralph_plugin::tracker!(Kinds);
