//! Iterations in `state.json`, kept as they are written: a run's start reads that file, and has no use for what
//! stands in them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::Error;

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HistoryEntry(Box<RawValue>);

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    attempt_id: Cow<'a, str>,
}

impl HistoryEntry {
    /// Written as the rest of the file is, two steps in.
    pub(crate) fn new(entry: &Value) -> Result<HistoryEntry, Error> {
        let text = format!("{entry:#}").replace('\n', "\n    ");
        let text = RawValue::from_string(text).map_err(|e| Error::Internal(e.to_string()))?;
        Ok(HistoryEntry(text))
    }

    /// What stands in it.
    pub fn value(&self) -> Value {
        // JSON it is, or it would not have been read.
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }

    pub(crate) fn is_of(&self, attempt_id: &str) -> bool {
        let named = serde_json::from_str::<Named<'_>>(self.0.get());
        named.is_ok_and(|named| named.attempt_id == attempt_id)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;
    use crate::records::StateFile;

    #[test]
    fn a_file_with_them_looks_as_if_they_were_written_with_it_and_each_attempt_is_there_once() {
        let mut file = StateFile::default();
        let entry = |attempt: &str, gates: &[&str]| {
            let gates: Vec<_> = gates.iter().map(|name| json!({ "name": name })).collect();
            json!({ "attempt_id": attempt, "title": "two\nlines \"quoted\"", "gates": gates })
        };
        let all = [entry("a", &[]), entry("b\u{e9}\"", &["x", "y"])];
        for e in all.iter().chain(&all) {
            file.remember(e).unwrap();
        }
        for _ in 0..2 {
            let text = serde_json::to_string_pretty(&file).unwrap();
            let plain: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(plain["history"], json!(all));
            assert_eq!(text, format!("{plain:#}"));
            file = serde_json::from_str(&text).unwrap();
        }
        assert_eq!(file.history[1].value(), all[1]);
    }
}
