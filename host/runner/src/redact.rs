//! What is written down or shown holds no secret of this process's environment
//! ([`ralph_process::secrets`]). What programs print is clean when it comes in;
//! the rest is cleaned here, before it goes anywhere.

use std::borrow::Cow;

use ralph_engine::Fact;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Without secrets, and whether there was one.
pub(crate) fn noting<T: Serialize + DeserializeOwned>(value: T) -> (T, bool) {
    let secrets = ralph_process::secrets();
    if secrets.is_empty() {
        return (value, false);
    }
    let Ok(json) = serde_json::to_vec(&value) else {
        return (value, false);
    };
    match secrets.bytes(&json) {
        Cow::Borrowed(_) => (value, false),
        Cow::Owned(clean) => match serde_json::from_slice(&clean) {
            Ok(clean) => (clean, true),
            // The secret was no text, but a number or a name of ours.
            Err(_) => (value, false),
        },
    }
}

/// Without secrets.
pub(crate) fn clean<T: Serialize + DeserializeOwned>(value: T) -> T {
    noting(value).0
}

/// Facts as they are journaled. Those that name items of the task file have to
/// fit that file, which is a person's own.
pub(crate) fn facts(facts: Vec<Fact>) -> Vec<Fact> {
    let fits_a_file = |fact: &Fact| matches!(fact, Fact::IdsAssigned { .. });
    facts
        .into_iter()
        .map(|fact| match fits_a_file(&fact) {
            true => fact,
            false => clean(fact),
        })
        .collect()
}

/// Without secrets.
pub(crate) fn text(text: String) -> String {
    match ralph_process::secrets().text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}
