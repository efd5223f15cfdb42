//! What to start, and how the prompt gets there.

use crate::mapping::{Counts, Fields, Mapping, Rule};
use ralph_plugin::{Error, Iteration, Launch, PromptBy, Sandbox};
use serde::Deserialize;

/// The plugin's configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(default)]
    argv: Vec<String>,
    #[serde(default)]
    prompt: PromptBy,
    model: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    /// What and where in the output.
    #[serde(default)]
    pub format: Format,
    /// For [`Format::JsonLines`].
    #[serde(default)]
    pub fields: Fields,
    #[serde(default)]
    pub rules: Vec<Rule>,
    #[serde(default)]
    pub counts: Counts,
    #[serde(default)]
    pty: bool,
    // Other drivers have a use for these.
    #[serde(default, rename = "effort")]
    _effort: Option<String>,
    #[serde(default, rename = "sandbox")]
    _sandbox: Sandbox,
}

/// How to read the output.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// As words.
    #[default]
    Text,
    /// One JSON object per line.
    JsonLines,
}

/// The longest prompt that is passed as an argument.
const MAX_ARGUMENT: usize = 100 * 1024;

/// Builds the command line.
pub fn launch(config: &Config, it: &Iteration, prompt: &str) -> Result<Launch, Error> {
    let key = |name: &str| format!("`agents.{}.{name}`", it.agent);
    let invalid = |message: String| Err(Error::InvalidConfig(message));
    if config.argv.first().is_none_or(String::is_empty) {
        return invalid(format!(
            "{}: the program and its arguments are missing, e.g. argv = [\"my-agent\", \"--yes\"]",
            key("argv")
        ));
    }
    check_fields(config, &key)?;

    let words = || config.argv.iter().chain(&config.args);
    let holds = |placeholder: &str| words().any(|w| w.contains(placeholder));
    if holds("{model}") && config.model.is_none() {
        return invalid(format!(
            "{}: {{model}} stands in `argv`, so it must be set",
            key("model")
        ));
    }
    match config.prompt {
        PromptBy::Argument if prompt.len() > MAX_ARGUMENT => {
            return invalid(format!(
                "{}: the prompt has {} KiB, an argument may have 100; set it to \"stdin\" or \"file\"",
                key("prompt"),
                prompt.len() / 1024
            ));
        }
        PromptBy::Argument if prompt.contains('\0') => {
            return invalid(format!(
                "{}: the prompt holds a NUL byte, which no argument can; set it to \"stdin\" or \"file\"",
                key("prompt")
            ));
        }
        PromptBy::Stdin | PromptBy::File if holds("{prompt}") => {
            return invalid(format!(
                "{}: {{prompt}} stands in `argv`, so it must be \"argument\"",
                key("prompt")
            ));
        }
        PromptBy::File if !holds("{prompt_file}") => {
            return invalid(format!(
                "{}: with \"file\", {{prompt_file}} must stand in `argv` or `args`",
                key("prompt")
            ));
        }
        _ => {}
    }

    let prompt_file = format!("{}/prompt.md", it.scratch.trim_end_matches('/'));
    let values = [
        ("{prompt_file}", prompt_file.as_str()),
        ("{prompt}", prompt),
        ("{workspace}", it.workspace.as_str()),
        ("{model}", config.model.as_deref().unwrap_or_default()),
        ("{task_id}", it.task.as_ref().map_or("", |t| t.id.as_str())),
    ];
    let mut filled = words().map(|w| fill(w, &values));
    let program = filled.next().unwrap_or_default();
    let mut launch = Launch::new(program).args(filled);
    match config.prompt {
        PromptBy::Stdin => launch.stdin = Some(prompt.into()),
        PromptBy::Argument if !holds("{prompt}") => launch.args.push(prompt.into()),
        PromptBy::Argument | PromptBy::File => {}
    }
    launch.pty = config.pty;
    Ok(launch)
}

fn check_fields(config: &Config, key: &dyn Fn(&str) -> String) -> Result<(), Error> {
    let mapping = config.mapping();
    mapping.check(key)?;
    match config.format {
        Format::JsonLines if !mapping.has_words() => Err(Error::InvalidConfig(format!(
            "{}: with format = \"json-lines\", say where the words are, e.g. text = \"/message/text\"",
            key("config.fields")
        ))),
        Format::Text if !mapping.is_empty() => Err(Error::InvalidConfig(format!(
            "{}: has no effect without format = \"json-lines\"",
            key("config.fields")
        ))),
        _ => Ok(()),
    }
}

impl Config {
    /// Where in the objects things are.
    pub fn mapping(&self) -> Mapping {
        Mapping::new(&self.fields, &self.rules, self.counts)
    }
}

/// Replaces in one pass: what a value holds is never replaced again.
fn fill(word: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(brace) = rest.find('{') {
        out.push_str(&rest[..brace]);
        rest = &rest[brace..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                out.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}
