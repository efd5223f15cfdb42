//! What a prompt-set has to look like: `schema/prompt-set.schema.json`, checked on the
//! canonical form, which is JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use ralph_engine::arguments::Schema;
use serde_json::Value;

use crate::error::PromptError;

/// The schema's text.
pub const SCHEMA: &str = include_str!("../schema/prompt-set.schema.json");

/// Does the name say that this is a prompt-set?
pub fn named(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        ["yaml", "yml", "json"]
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

fn schema() -> Result<&'static Schema, PromptError> {
    static PARSED: OnceLock<Result<Schema, String>> = OnceLock::new();
    PARSED
        .get_or_init(|| Schema::parse(SCHEMA))
        .as_ref()
        .map_err(|why| PromptError::Component(why.clone()))
}

/// Is this canonical form a prompt-set's?
///
/// # Errors
/// [`PromptError::Invalid`] with the first place that isn't as it has to be.
pub fn check(path: &str, canonical: &[u8]) -> Result<(), PromptError> {
    let wrong =
        |what: &str| PromptError::Invalid(format!("{path}: this isn't a prompt-set: {what}"));
    let value: Value = serde_json::from_slice(canonical)
        .map_err(|e| wrong(&format!("its canonical form is no JSON: {e}")))?;
    schema()?
        .check(&value)
        .map_err(|why| match why.strip_prefix("the arguments") {
            Some(rest) => wrong(&format!("the document{rest}")),
            None => wrong(&why),
        })?;
    let prompts = value.get("prompts").and_then(Value::as_array);
    let prompts = prompts.map(Vec::as_slice).unwrap_or_default();
    let mut needs = BTreeMap::new();
    for prompt in prompts {
        let text = |key: &str| prompt.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = text("id");
        if text("text").trim().is_empty() {
            return Err(wrong(&format!("the text of the prompt {id:?} is blank")));
        }
        let of = prompt.get("depends_on").and_then(Value::as_array);
        let of: Vec<&str> = of.into_iter().flatten().filter_map(Value::as_str).collect();
        if needs.insert(id, of).is_some() {
            return Err(wrong(&format!("the prompt {id:?} stands twice")));
        }
    }
    order(needs).map_err(|why| wrong(&why))
}

/// Is there an order in which each prompt comes after those that it depends on?
fn order(mut needs: BTreeMap<&str, Vec<&str>>) -> Result<(), String> {
    for (id, of) in &needs {
        if let Some(unknown) = of.iter().find(|other| !needs.contains_key(*other)) {
            return Err(format!(
                "the prompt {id:?} depends on {unknown:?}, which isn't there"
            ));
        }
        if of.contains(id) {
            return Err(format!("the prompt {id:?} depends on itself"));
        }
    }
    loop {
        let ready: BTreeSet<&str> = needs
            .iter()
            .filter(|(_, of)| of.is_empty())
            .map(|(id, _)| *id)
            .collect();
        if ready.is_empty() {
            break;
        }
        needs.retain(|id, _| !ready.contains(id));
        for of in needs.values_mut() {
            of.retain(|other| !ready.contains(other));
        }
    }
    match needs.keys().next() {
        None => Ok(()),
        Some(id) => Err(format!(
            "the prompt {id:?} waits for itself: what it depends on depends on it"
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_prompt_set_passes_with_fields_of_others_at_its_top() {
        let whole = r#"{"council":"x","description":"d","id":"a","meta":{"x":1},"prompts":[{"depends_on":["q"],"done_when":["tests pass"],"id":"p","text":"Do it."},{"id":"q","text":"First."}],"type":"prompt-set","version":"1.0"}"#;
        check("a.yaml", whole.as_bytes()).unwrap();
    }

    #[test]
    fn what_is_none_is_refused_with_its_place() {
        for (text, place) in [
            ("[]", "the document"),
            (
                r#"{"id":"a","type":"prompt-set","version":"1"}"#,
                "`prompts` is missing",
            ),
            (
                r#"{"id":"a","type":"task","version":"1","prompts":[]}"#,
                "`type`",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":1,"prompts":[{"id":"p","text":"x"}]}"#,
                "`version`",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":"1","prompts":[]}"#,
                "`prompts`",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":"1","prompts":[{"id":"p"}]}"#,
                "`prompts`[0].text is missing",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":"1","prompts":[{"id":"p","text":"x","done_whn":[]}]}"#,
                "done_whn isn't known",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":"1","prompts":[{"id":"p","text":"x"},{"id":"p","text":"y"}]}"#,
                "stands twice",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":"1","prompts":[{"id":"p","text":" \n"}]}"#,
                "the text of the prompt \"p\" is blank",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":"1","prompts":[{"id":"p","text":"x","depends_on":["q"]}]}"#,
                "depends on \"q\", which isn't there",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":"1","prompts":[{"id":"p","text":"x","depends_on":["p"]}]}"#,
                "depends on itself",
            ),
            (
                r#"{"id":"a","type":"prompt-set","version":"1","prompts":[{"id":"p","text":"x","depends_on":["q"]},{"id":"q","text":"x","depends_on":["r"]},{"id":"r","text":"x","depends_on":["p"]}]}"#,
                "waits for itself",
            ),
        ] {
            let error = check("a.yaml", text.as_bytes()).unwrap_err().to_string();
            assert!(
                error.contains(place) && error.starts_with("a.yaml:"),
                "{text}: {error}"
            );
        }
    }
}
