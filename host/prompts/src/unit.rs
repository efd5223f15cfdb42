//! What a prompt-set has to look like: `schema/prompt-set.schema.json`, checked on the
//! canonical form, which is JSON.

use std::sync::OnceLock;

use ralph_engine::arguments::Schema;
use serde_json::Value;

use crate::error::PromptError;

/// The schema's text.
pub const SCHEMA: &str = include_str!("../schema/prompt-set.schema.json");

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
    let mut seen = std::collections::BTreeSet::new();
    let prompts = value.get("prompts").and_then(Value::as_array);
    for prompt in prompts.into_iter().flatten() {
        let id = prompt.get("id").and_then(Value::as_str).unwrap_or_default();
        if !seen.insert(id) {
            return Err(wrong(&format!("the prompt {id:?} stands twice")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_prompt_set_passes_with_fields_of_others_at_its_top() {
        let whole = r#"{"council":"x","description":"d","id":"a","meta":{"x":1},"prompts":[{"depends_on":[],"done_when":["tests pass"],"id":"p","text":"Do it."}],"type":"prompt-set","version":"1.0"}"#;
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
        ] {
            let error = check("a.yaml", text.as_bytes()).unwrap_err().to_string();
            assert!(
                error.contains(place) && error.starts_with("a.yaml:"),
                "{text}: {error}"
            );
        }
    }
}
