//! Where in the JSON objects of a program its words, tools and numbers are.

use crate::output::ended;
use ralph_plugin::dialect::Dialect;
use ralph_plugin::json_lines::{tool_line, u64_at};
use ralph_plugin::{Error, Event, Exit, Outcome, Usage, limits};
use serde::Deserialize;
use serde_json::{Map, Value};

/// JSON pointers.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fields {
    /// A piece of what the agent says.
    text: Option<String>,
    /// Its final words.
    #[serde(rename = "final")]
    last: Option<String>,
    /// What it thinks.
    thinking: Option<String>,
    /// A tool it uses.
    tool_use: Option<String>,
    /// What a tool gave.
    tool_result: Option<String>,
    /// Anything a person may want to know, e.g. the session's id.
    notice: Option<String>,
    /// Why it failed, whatever its exit code.
    failed: Option<String>,
    input_tokens: Option<String>,
    output_tokens: Option<String>,
    cached_tokens: Option<String>,
    cost_usd: Option<String>,
}

/// Pointers for some of the objects only.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What stands where; all of it must be so.
    #[serde(default)]
    when: Map<String, Value>,
    fields: Fields,
}

/// What the numbers of an object count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// The whole call so far.
    #[default]
    Whole,
    /// What came since the last one.
    Each,
}

impl Fields {
    fn all(&self) -> [(&'static str, &Option<String>); 11] {
        [
            ("text", &self.text),
            ("final", &self.last),
            ("thinking", &self.thinking),
            ("tool_use", &self.tool_use),
            ("tool_result", &self.tool_result),
            ("notice", &self.notice),
            ("failed", &self.failed),
            ("input_tokens", &self.input_tokens),
            ("output_tokens", &self.output_tokens),
            ("cached_tokens", &self.cached_tokens),
            ("cost_usd", &self.cost_usd),
        ]
    }
}

/// All of the mapping.
#[derive(Debug, Default, Clone)]
pub struct Mapping {
    /// For every object, then those of the rules which fit it.
    rules: Vec<Rule>,
    counts: Counts,
}

impl Mapping {
    pub fn new(fields: &Fields, rules: &[Rule], counts: Counts) -> Self {
        let always = Rule {
            when: Map::new(),
            fields: fields.clone(),
        };
        Mapping {
            rules: std::iter::once(always)
                .chain(rules.iter().cloned())
                .collect(),
            counts,
        }
    }

    /// Says nothing at all?
    pub fn is_empty(&self) -> bool {
        let mut fields = self.rules.iter().flat_map(|rule| rule.fields.all());
        fields.all(|(_, pointer)| pointer.is_none())
    }

    /// Does it say where the words are?
    pub fn has_words(&self) -> bool {
        let mut rules = self.rules.iter().map(|rule| &rule.fields);
        rules.any(|f| f.text.is_some() || f.last.is_some())
    }

    /// # Errors
    /// The first pointer that is none, by its key below `config`.
    pub fn check(&self, key: &dyn Fn(&str) -> String) -> Result<(), Error> {
        for (n, rule) in self.rules.iter().enumerate() {
            let table = match n {
                0 => "config.fields".to_owned(),
                n => format!("config.rules[{}].fields", n - 1),
            };
            let fields = rule.fields.all().into_iter();
            let named =
                fields.filter_map(|(name, p)| Some((format!("{table}.{name}"), p.as_ref()?)));
            let when = rule
                .when
                .keys()
                .map(|p| (format!("config.rules[{}].when", n.saturating_sub(1)), p));
            for (name, pointer) in named.chain(when) {
                if !pointer.starts_with('/') {
                    return Err(Error::InvalidConfig(format!(
                        "{}: `{pointer}` is no JSON pointer; it must begin with `/`",
                        key(&name)
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Reads objects by the mapping.
#[derive(Default)]
pub struct Mapped {
    mapping: Mapping,
    last_text: String,
    last: Option<String>,
    failed: Option<String>,
    usage: Option<Usage>,
}

impl Mapped {
    pub fn new(mapping: Mapping) -> Self {
        Mapped {
            mapping,
            ..Mapped::default()
        }
    }

    fn read(&mut self, fields: &Fields, object: &Value, out: &mut Vec<Event>) {
        let words = |pointer: &Option<String>| words_at(object, pointer);
        if let Some(text) = words(&fields.thinking) {
            out.push(Event::Thinking(text));
        }
        if let Some(text) = words(&fields.text) {
            out.push(Event::Text(text.clone()));
            self.last_text = text;
        }
        if let Some(text) = words(&fields.last) {
            self.last = Some(text);
        }
        if let Some(tool) = words(&fields.tool_use) {
            out.push(Event::ToolUse(tool_line(&tool, &Value::Null)));
        }
        if let Some(text) = words(&fields.tool_result) {
            out.push(Event::ToolResult(text));
        }
        if let Some(text) = words(&fields.notice) {
            out.push(Event::Notice(text));
        }
        if let Some(text) = words(&fields.failed) {
            self.failed = Some(text);
        }
        self.count(fields, object, out);
    }

    fn count(&mut self, fields: &Fields, object: &Value, out: &mut Vec<Event>) {
        let number = |pointer: &Option<String>| u64_at(object, pointer.as_ref()?);
        let cost = fields
            .cost_usd
            .as_ref()
            .and_then(|p| object.pointer(p)?.as_f64());
        let new = [
            number(&fields.input_tokens),
            number(&fields.output_tokens),
            number(&fields.cached_tokens),
        ];
        if new.iter().all(Option::is_none) && cost.is_none() {
            return;
        }
        let usage = self.usage.get_or_insert(Usage {
            input_tokens: 0,
            output_tokens: 0,
            cached_tokens: 0,
            cost_usd: None,
        });
        let each = self.mapping.counts == Counts::Each;
        let counters = [
            &mut usage.input_tokens,
            &mut usage.output_tokens,
            &mut usage.cached_tokens,
        ];
        for (old, new) in counters.into_iter().zip(new) {
            match new {
                Some(more) if each => *old = old.saturating_add(more),
                Some(whole) => *old = whole,
                None => {}
            }
        }
        if let Some(new) = cost {
            let before = usage.cost_usd.filter(|_| each).unwrap_or(0.0);
            usage.cost_usd = Some(before + new);
        }
        out.push(Event::Usage(*usage));
    }
}

/// A string is itself, anything else its JSON; what is empty or null is nothing.
fn words_at(object: &Value, pointer: &Option<String>) -> Option<String> {
    let words = match object.pointer(pointer.as_ref()?)? {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(words).filter(|w| !w.is_empty())
}

impl Dialect for Mapped {
    fn object(&mut self, object: &Value, out: &mut Vec<Event>) {
        let rules = std::mem::take(&mut self.mapping.rules);
        for rule in &rules {
            let fits = |(at, value): (&String, &Value)| object.pointer(at) == Some(value);
            if rule.when.iter().all(fits) {
                self.read(&rule.fields, object, out);
            }
        }
        self.mapping.rules = rules;
    }

    fn end(self, exit: &Exit, _: &mut Vec<Event>) -> Outcome {
        let outcome = ended(exit, self.last.as_deref().unwrap_or(&self.last_text));
        match (outcome, self.failed) {
            (Outcome::Finished(_) | Outcome::Failed(_), Some(why)) => {
                match limits::limit_message(&why).or_else(|| limits::unreachable(&why)) {
                    Some(limit) => Outcome::Limited(limit),
                    None => Outcome::Failed(why),
                }
            }
            (outcome, _) => outcome,
        }
    }
}
