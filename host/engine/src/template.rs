//! A project's own prompt template: Jinja, filled in without any access to anything.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};
use serde_json::json;

use crate::claim::Tokens;
use crate::gates::Groups;
use crate::prompt::{self, Budget, Input};
use crate::types::Task;

/// Work that filling in may take, in the engine's units; a loop over a million items is more.
const FUEL: u64 = 1_000_000;
/// A prompt that comes of a template may be this big, in bytes.
const MAX: usize = 16 << 20;
/// The name in messages.
const NAME: &str = "prompt";

/// The variables of a template, and what they are. Parts of a prompt come with their
/// heading, as they stand in a prompt without a template, and are empty if there is nothing to say.
pub const VARIABLES: [(&str, &str); 20] = [
    (
        "header",
        "part: the text that opens every prompt ([files] prompt, else a built-in one)",
    ),
    (
        "task",
        "part: id, title, description and acceptance criteria of the task",
    ),
    (
        "checks",
        "part: which attempt it is and what will be checked",
    ),
    (
        "earlier",
        "part: what earlier attempts tried and what spoke against the last",
    ),
    ("feedback", "part: the feedback file"),
    ("agents", "part: the notes for agents"),
    ("specs", "part: the specifications"),
    ("progress", "part: the newest lines of the progress file"),
    (
        "ending",
        "part: how the agent says whether the task is done; put at the end if the template lacks it",
    ),
    ("id", "the task's id"),
    ("title", "the task's title, one line"),
    ("description", "the task's description"),
    ("acceptance", "list of its acceptance criteria"),
    ("attempt", "which attempt at it this is, from 1"),
    ("max_attempts", "how many there may be"),
    ("gates", "list of the gates' names"),
    (
        "notes",
        "list of what spoke against the last attempt, each with `from` and `text`",
    ),
    ("tried", "list of one line for each earlier attempt"),
    ("agent", "name of the agent that works"),
    (
        "done",
        "the line by which the agent claims the task done; empty if there is none",
    ),
];

/// A template whose every variable is known.
#[derive(Debug, Clone)]
pub struct Template {
    text: String,
    ends: bool,
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// Line in the template, from 1, if known.
    pub line: Option<usize>,
    /// What.
    pub message: String,
}

impl Template {
    /// Reads a template, and fills it in once with a made-up task.
    ///
    /// # Errors
    /// No valid Jinja, or a variable that isn't in [`VARIABLES`].
    pub fn parse(text: &str) -> Result<Template, TemplateError> {
        let env = environment();
        let compiled = env.template_from_named_str(NAME, text).map_err(error)?;
        let used = compiled.undeclared_variables(false);
        let known = |name: &str| VARIABLES.iter().any(|(v, _)| *v == name);
        let globals: Vec<&str> = env.globals().map(|(name, _)| name).collect();
        let mut unknown: Vec<&String> = used
            .iter()
            .filter(|name| !known(name) && !globals.contains(&name.as_str()))
            .collect();
        unknown.sort();
        if let Some(name) = unknown.first() {
            let line = text.lines().position(|l| l.contains(name.as_str()));
            let names: Vec<&str> = VARIABLES.iter().map(|(v, _)| *v).collect();
            return Err(TemplateError {
                line: line.map(|l| l + 1),
                message: format!(
                    "there is no variable `{name}`; there are {}",
                    names.join(", ")
                ),
            });
        }
        let template = Template {
            ends: used.contains("ending"),
            text: text.to_owned(),
        };
        template.fill(&Input {
            header: None,
            task: &Task {
                id: "T1".into(),
                title: "a task".into(),
                ..Task::default()
            },
            attempt: (1, 1),
            record: None,
            gates: &[],
            warning: &[],
            groups: &Groups::default(),
            warned: &[],
            agent: "agent",
            agents: None,
            specs: &[],
            progress: None,
            feedback: None,
            tokens: &Tokens::default(),
            budget: &Budget::default(),
        })?;
        Ok(template)
    }

    /// Writes the prompt.
    ///
    /// # Errors
    /// It can't be filled in with these values, takes too long or gets longer than 16 MiB.
    pub fn fill(&self, input: &Input<'_>) -> Result<String, TemplateError> {
        let env = environment();
        let parts: BTreeMap<&str, String> = prompt::parts(input).into_iter().collect();
        let task = input.task;
        let mut values = json!({
            "id": task.id,
            "title": crate::text::one_line(&task.title, 500),
            "description": task.description.trim(),
            "acceptance": task.acceptance,
            "attempt": input.attempt.0,
            "max_attempts": input.attempt.1,
            "gates": input.gates,
            "notes": input.record.map(|r| r.notes.as_slice()).unwrap_or_default(),
            "tried": input.record.map(|r| r.earlier.as_slice()).unwrap_or_default(),
            "agent": input.agent,
            "done": input.tokens.done.first().map(String::as_str).unwrap_or_default(),
        });
        for (name, part) in &parts {
            values[*name] = part.as_str().into();
        }
        let values: Value = Serde(&values).into();
        let mut out = Bounded(Vec::new());
        env.template_from_named_str(NAME, &self.text)
            .and_then(|t| t.render_captured_to(values, &mut out).map(drop))
            .map_err(error)?;
        let mut text = String::from_utf8_lossy(&out.0).into_owned();
        if !self.ends {
            text.truncate(text.trim_end().len());
            text.push_str("\n\n");
            text.push_str(&parts["ending"]);
        }
        Ok(text)
    }
}

fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_fuel(Some(FUEL));
    if let Ok(syntax) = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
    {
        env.set_syntax(syntax);
    }
    env
}

fn error(e: minijinja::Error) -> TemplateError {
    TemplateError {
        line: e.line(),
        message: e
            .detail()
            .map_or_else(|| e.kind().to_string(), |d| format!("{}: {d}", e.kind())),
    }
}

/// Takes so much and no more.
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > MAX {
            return Err(std::io::Error::other("the prompt gets too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::state::{Note, TaskRecord};

    fn filled(text: &str) -> String {
        let task = Task {
            id: "T7".into(),
            title: "add {{ id }}".into(),
            acceptance: vec!["a".into(), "b".into()],
            ..Task::default()
        };
        let record = TaskRecord {
            attempts: 1,
            notes: vec![Note {
                from: "gate tests".into(),
                text: "3 is not 4".into(),
            }],
            earlier: vec!["attempt 1: gate failed: tests".into()],
        };
        let input = Input {
            header: Some("Be brief."),
            task: &task,
            attempt: (2, 3),
            record: Some(&record),
            gates: &["tests".into()],
            warning: &[],
            groups: &Groups::default(),
            warned: &[],
            agent: "claude",
            agents: None,
            specs: &[],
            progress: None,
            feedback: None,
            tokens: &Tokens::default(),
            budget: &Budget::default(),
        };
        Template::parse(text).unwrap().fill(&input).unwrap()
    }

    #[test]
    fn values_are_put_in_as_they_are_and_the_ending_is_never_missing() {
        let text = filled(
            "{{ header }}\n{{ id }} {{ attempt }}/{{ max_attempts }}: {{ title }}\n{% for a in acceptance %}\n* {{ a }}\n{% endfor %}\n{% for n in notes %}\n{{ n.from }}: {{ n.text }}\n{% endfor %}\n",
        );
        assert!(
            text.starts_with("Be brief.\nT7 2/3: add {{ id }}\n* a\n* b\ngate tests: 3 is not 4\n"),
            "{text}"
        );
        assert!(text.contains("EXIT_SIGNAL: true"), "{text}");
        let own = filled("{{ task }}{{ ending }}!");
        assert!(
            own.ends_with('!') && own.matches("EXIT_SIGNAL: true").count() == 1,
            "{own}"
        );
    }

    #[test]
    fn every_documented_variable_is_there_and_no_other() {
        for (name, _) in VARIABLES {
            Template::parse(&format!("{{% if {name} %}}x{{% endif %}}")).unwrap();
        }
        let error = Template::parse("one\n{{ titel }}").unwrap_err();
        assert_eq!(error.line, Some(2));
        assert!(error.message.contains("`titel`"), "{error}");
    }

    #[test]
    fn a_broken_or_endless_template_is_an_error_with_its_line() {
        assert_eq!(Template::parse("a\n{% for %}").unwrap_err().line, Some(2));
        let endless =
            "{% for a in range(9999) %}{% for b in range(9999) %}xxxxxxxxx{% endfor %}{% endfor %}";
        assert!(Template::parse(endless).is_err());
        assert!(Template::parse("{% include 'x' %}").is_err());
    }
}
