//! What is known of one run.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::link::Said;
use crate::log::{Log, clean};

/// A request: its method and parameters.
pub type Ask = (&'static str, Value);

/// One task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// open, `in_progress`, blocked, done
    pub state: String,
    /// Attempts that counted.
    pub attempts: u64,
    /// It is worked on.
    pub working: bool,
    /// This run takes it up no more.
    pub skipped: bool,
}

/// One gate of an iteration that is on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// The task that it rules on.
    pub task: String,
    /// running, pass, fail, skip; warn, where a failure refuses nothing
    pub status: String,
    /// How long it took.
    pub millis: Option<u64>,
    /// What it says.
    pub summary: String,
}

/// A run.
#[derive(Debug, Default)]
pub struct Run {
    /// Its socket.
    pub path: PathBuf,
    /// All that it told of itself, by field.
    fields: serde_json::Map<String, Value>,
    /// Its tasks.
    pub tasks: Vec<Task>,
    /// The one that is marked in the list.
    pub marked: usize,
    /// What its agents said.
    pub log: Log,
    /// Nothing more comes from it.
    pub closed: bool,
    /// The newest event's number when the status was told.
    since: u64,
    asked: HashMap<u64, &'static str>,
    /// What is to be told to a person once.
    pub told: Option<String>,
}

impl Run {
    /// One that was just found, and what it is asked first.
    pub fn new(path: PathBuf) -> (Run, Vec<Ask>) {
        let run = Run {
            path,
            ..Run::default()
        };
        (run, vec![("get_status", json!({}))])
    }

    /// A field as text without control characters; empty if there is none.
    pub fn text(&self, field: &str) -> String {
        clean(
            self.fields
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default(),
        )
    }

    /// A field as a number.
    pub fn number(&self, field: &str) -> u64 {
        let value = self.fields.get(field);
        value.and_then(Value::as_u64).unwrap_or_default()
    }

    /// A field that is true.
    pub fn is(&self, field: &str) -> bool {
        self.fields.get(field).and_then(Value::as_bool) == Some(true)
    }

    /// Has it come to its end?
    pub fn over(&self) -> bool {
        let status = self.text("status");
        self.closed || matches!(status.as_str(), "completed" | "stopped" | "failed")
    }

    /// Its gates.
    pub fn gates(&self) -> Vec<Gate> {
        let all = self.fields.get("gates").and_then(Value::as_array);
        let text = |gate: &Value, key: &str| clean(gate[key].as_str().unwrap_or_default());
        all.into_iter()
            .flatten()
            .map(|gate| Gate {
                name: text(gate, "name"),
                task: text(gate, "task"),
                status: match (text(gate, "status"), text(gate, "severity").as_str()) {
                    (status, "warn") if status == "fail" => "warn".into(),
                    (status, _) => status,
                },
                millis: gate["millis"].as_u64(),
                summary: text(gate, "summary"),
            })
            .collect()
    }

    /// Tokens in and out, and dollars where known.
    pub fn spent(&self) -> (u64, u64, Option<f64>) {
        let usage = self.fields.get("usage").unwrap_or(&Value::Null);
        let count = |key: &str| usage[key].as_u64().unwrap_or_default();
        (
            count("input_tokens"),
            count("output_tokens"),
            usage["cost_usd"].as_f64(),
        )
    }

    /// Seconds since its process took it up; to its end, once it has ended.
    pub fn age(&self, now: Timestamp) -> u64 {
        let Ok(begun) = self.text("started_at").parse::<Timestamp>() else {
            return 0;
        };
        let updated = self.text("updated_at").parse::<Timestamp>().ok();
        let until = updated.filter(|_| self.over()).unwrap_or(now);
        u64::try_from(until.duration_since(begun).as_secs()).unwrap_or(0)
    }

    /// The task that is marked.
    pub fn marked(&self) -> Option<&Task> {
        self.tasks.get(self.marked)
    }

    /// A request was sent.
    pub fn asked(&mut self, id: u64, method: &'static str) {
        self.asked.insert(id, method);
    }

    /// Takes in what it says; what is to be asked now.
    pub fn said(&mut self, said: Said) -> Vec<Ask> {
        match said {
            Said::Closed => {
                if !self.over() {
                    let text =
                        "— the connection broke off: the run was killed, or its machine is gone";
                    self.log.push("", text, true);
                }
                self.closed = true;
                Vec::new()
            }
            Said::Event(event) => self.event(&event),
            Said::Answer { id, result } => {
                let method = self.asked.remove(&id).unwrap_or_default();
                match result {
                    Ok(result) => self.answer(method, result),
                    Err(message) => {
                        self.told = Some(format!("{method}: {}", clean(&message)));
                        Vec::new()
                    }
                }
            }
        }
    }

    fn event(&mut self, event: &Value) -> Vec<Ask> {
        let data = &event["data"];
        match event["type"].as_str().unwrap_or_default() {
            "output" => {
                let text = |key: &str| data[key].as_str().unwrap_or_default();
                self.log.push(text("task"), text("line"), false);
                Vec::new()
            }
            "state_change" => {
                if let Some(at) = event.get("timestamp") {
                    self.fields.insert("updated_at".into(), at.clone());
                }
                self.take(data)
            }
            "missed" => {
                let text = format!("— {} events were lost here", data["count"]);
                self.log.push("", &text, true);
                // What they told of is asked anew.
                vec![("get_status", json!({}))]
            }
            _ => Vec::new(),
        }
    }

    /// Fields that are new or otherwise now.
    fn take(&mut self, data: &Value) -> Vec<Ask> {
        let Value::Object(data) = data else {
            return Vec::new();
        };
        let before = (self.text("current_story"), self.text("phase"));
        let (ended, first) = (self.over(), self.fields.is_empty());
        for (key, value) in data {
            self.fields.insert(key.clone(), value.clone());
        }
        let story = self.text("current_story");
        let phase = self.text("phase");
        if !first && !phase.is_empty() && before != (story.clone(), phase.clone()) {
            let title = self.text("current_title");
            self.log
                .push(&story, &format!("— {story} {title} · {phase}"), true);
        }
        if self.over() && !ended && !first && !self.text("status").is_empty() {
            let text = format!("— the run is over: {}", self.text("status"));
            self.log.push("", &text, true);
            // They can't be asked for any more.
            let complete = self.text("status") == "completed";
            for task in &mut self.tasks {
                task.working = false;
                if complete {
                    task.state = "done".into();
                }
            }
        }
        let told = [
            "done",
            "total",
            "working",
            "skipped",
            "iteration",
            "end_reason",
        ];
        if !self.over() && told.iter().any(|key| data.contains_key(*key)) {
            return vec![("list_tasks", json!({}))];
        }
        Vec::new()
    }

    fn answer(&mut self, method: &'static str, result: Value) -> Vec<Ask> {
        let said = |key: &str| clean(result[key].as_str().unwrap_or_default()).replace('_', " ");
        match method {
            "get_status" => {
                let first = self.fields.is_empty();
                self.since = result["event_seq"].as_u64().unwrap_or_default();
                let mut asks = self.take(&result);
                if first {
                    asks.insert(0, ("get_log", json!({ "since": 0 })));
                }
                asks
            }
            "get_log" => {
                if let Some(gone) = result["gone"].as_u64().filter(|n| *n > 0) {
                    self.log
                        .push("", &format!("— {gone} earlier events are gone"), true);
                }
                for line in result["lines"].as_array().into_iter().flatten() {
                    // What is newer comes by the subscription.
                    if line["seq"].as_u64() <= Some(self.since) {
                        let text = |key: &str| line[key].as_str().unwrap_or_default();
                        self.log.push(text("task"), text("line"), false);
                    }
                }
                vec![("subscribe", json!({ "events": ["*"], "since": self.since }))]
            }
            "list_tasks" => {
                self.tasks = result["tasks"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(task)
                    .collect();
                self.marked = self.marked.min(self.tasks.len().saturating_sub(1));
                Vec::new()
            }
            "set_interactive_mode" => {
                let on = result["interactive_mode"].clone();
                self.fields.insert("interactive_mode".into(), on);
                Vec::new()
            }
            "write_pty" => {
                if result["status"] == "ignored" {
                    self.told = Some(format!("not typed: {}", said("reason")));
                }
                Vec::new()
            }
            "subscribe" => Vec::new(),
            "skip_task" => {
                self.told = Some(format!("{}: {}", said("id"), said("status")));
                Vec::new()
            }
            "checkpoint" => {
                self.told = Some(format!("saved up to line {}", result["sequence"]));
                Vec::new()
            }
            _ => {
                self.told = Some(said("status"));
                Vec::new()
            }
        }
    }
}

fn task(value: &Value) -> Task {
    let text = |key: &str| clean(value[key].as_str().unwrap_or_default());
    Task {
        id: text("id"),
        title: text("title"),
        state: text("state"),
        attempts: value["attempts"].as_u64().unwrap_or_default(),
        working: value["working"] == true,
        skipped: value["skipped"] == true,
    }
}
