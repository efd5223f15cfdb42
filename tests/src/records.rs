//! What a run leaves below `.ralph/`.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// One line of the journal.
pub type Fact = Value;

/// Reads a journal and recomputes its chain: sequence numbers from 1, each line
/// with the SHA-256 of the line before, 64 zeros on the first. Panics at the
/// first line that doesn't fit.
pub fn chain_is_whole(journal: &str) -> Vec<Fact> {
    let mut before = "0".repeat(64);
    let mut facts = Vec::new();
    assert!(journal.ends_with('\n'), "the last line is unfinished");
    for (i, line) in journal.lines().enumerate() {
        let fact: Value =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("line {}: {e}: {line}", i + 1));
        assert_eq!(fact["seq"], i as u64 + 1, "line {}", i + 1);
        assert_eq!(fact["prev"], before.as_str(), "line {}", i + 1);
        before = Sha256::digest(line)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        facts.push(fact);
    }
    facts
}
