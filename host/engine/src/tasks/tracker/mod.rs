//! Tasks that a tracker keeps, read from what its program prints. Pure: the runner runs it.
//!
//! - [`github`]: issues, as `gh issue list --json` prints them
//! - [`beads`]: issues, as `bd list --json` prints them
//! - `body`: what the text of an issue says

pub mod beads;
mod body;
pub mod github;

/// An array of `T`, also if it is one object or `null`.
fn many<T: serde::de::DeserializeOwned>(json: &[u8]) -> Result<Vec<T>, String> {
    let value: serde_json::Value =
        serde_json::from_slice(json).map_err(|e| format!("it isn't JSON: {e}"))?;
    let items = match value {
        serde_json::Value::Array(items) => items,
        serde_json::Value::Null => Vec::new(),
        one => vec![one],
    };
    items
        .into_iter()
        .map(|item| serde_json::from_value(item).map_err(|e| format!("it isn't an issue: {e}")))
        .collect()
}
