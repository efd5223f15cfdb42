//! The script: what it looks like, and which of its steps fits a call.

use ralph_plugin::{Error, Iteration, Role};
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default)]
    step: Vec<Step>,
}

/// `[[step]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    #[serde(default)]
    role: For,
    task: Option<String>,
    attempt: Option<u32>,
    prompt_contains: Option<String>,
    #[serde(default)]
    pub say: String,
    #[serde(default)]
    pub edit: Vec<Edit>,
    pub answer: Option<String>,
    #[serde(default)]
    pub outcome: Ending,
    pub resets_at: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum For {
    #[default]
    Work,
    Judge,
    Review,
}

/// How the agent says it ended.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    #[default]
    Finished,
    Limited,
    Unauthenticated,
    Failed,
}

/// `[[step.edit]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    pub path: String,
    write: Option<String>,
    replace: Option<String>,
    with: Option<String>,
    append: Option<String>,
    #[serde(default)]
    delete: bool,
}

/// What an edit does.
#[derive(Debug, PartialEq, Eq)]
pub enum Action<'a> {
    Write(&'a str),
    Replace(&'a str, &'a str),
    Append(&'a str),
    Delete,
}

impl Edit {
    /// What it does, if it says exactly one thing.
    pub fn action(&self) -> Result<Action<'_>, String> {
        let mut found = Vec::new();
        found.extend(self.write.as_deref().map(Action::Write));
        found.extend(self.append.as_deref().map(Action::Append));
        found.extend(self.delete.then_some(Action::Delete));
        match (self.replace.as_deref(), self.with.as_deref()) {
            (Some(""), _) => return Err("`replace` is empty".into()),
            (Some(old), Some(new)) => found.push(Action::Replace(old, new)),
            (None, None) => {}
            _ => return Err("`replace` and `with` belong together".into()),
        }
        match (found.pop(), found.is_empty()) {
            (Some(action), true) => Ok(action),
            _ => {
                Err("give exactly one of `write`, `replace` and `with`, `append`, `delete`".into())
            }
        }
    }
}

impl Step {
    /// The final words.
    pub fn answer(&self) -> &str {
        self.answer.as_deref().unwrap_or(&self.say)
    }

    fn fits(&self, it: &Iteration) -> bool {
        let role = match it.role {
            Role::Work => For::Work,
            Role::Judge => For::Judge,
            Role::Review => For::Review,
        };
        let task = it.task.as_ref().map(|t| t.id.as_str());
        self.role == role
            && self.task.as_deref().is_none_or(|id| task == Some(id))
            && self.attempt.is_none_or(|n| n == it.attempt)
    }
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Says where it is wrong, with a line number.
    pub fn parse(text: &str) -> Result<Script, Error> {
        let script: Script = toml::from_str(text.trim_start_matches('\u{feff}')).map_err(|e| {
            let mut message = e.to_string();
            if ["answer", "outcome", "say"]
                .iter()
                .any(|k| message.contains(&format!("unknown field `{k}`")))
            {
                message.push_str("keys of a step stand above its `[[step.edit]]` tables\n");
            }
            Error::Failed(message)
        })?;
        for (n, step) in script.step.iter().enumerate() {
            for edit in &step.edit {
                edit.action().map_err(|why| {
                    Error::Failed(format!("step {}, edit of `{}`: {why}", n + 1, edit.path))
                })?;
            }
        }
        Ok(script)
    }

    /// The first step that fits the call, or why there is none.
    pub fn select(&self, it: &Iteration, prompt: &str) -> Result<&Step, String> {
        let mut but_for = None;
        for step in self.step.iter().filter(|s| s.fits(it)) {
            match &step.prompt_contains {
                Some(text) if !prompt.contains(text.as_str()) => but_for = Some(text),
                _ => return Ok(step),
            }
        }
        let role = match it.role {
            Role::Work => "work",
            Role::Judge => "judge",
            Role::Review => "review",
        };
        let task = it.task.as_ref().map_or("none", |t| t.id.as_str());
        let hint = but_for.map_or(String::new(), |text| {
            format!("; one would fit if the prompt held {text:?}")
        });
        Err(format!(
            "has no step for role {role}, task {task}, attempt {}{hint}",
            it.attempt
        ))
    }
}
