//! Shared by the tests of `ralph-config`.
#![allow(dead_code)]

use ralph_config::{Config, ConfigError, Loaded, Source, load};

pub fn source(name: &str, text: &str) -> Source {
    Source {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

pub fn loaded(text: &str) -> Loaded {
    load(&[source("ralph.toml", text)]).unwrap_or_else(|e| panic!("{e}\n---\n{text}"))
}

pub fn config(text: &str) -> Config {
    loaded(text).config
}

pub fn error(text: &str) -> ConfigError {
    load(&[source("ralph.toml", text)])
        .map(|l| l.config)
        .expect_err(text)
}

/// Every problem as it is shown.
pub fn lines(text: &str) -> Vec<String> {
    error(text).to_string().lines().map(str::to_owned).collect()
}

/// The text after `ralph.toml:` of the only problem.
pub fn only(text: &str) -> String {
    let all = lines(text);
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0].strip_prefix("ralph.toml:").unwrap().to_owned()
}
