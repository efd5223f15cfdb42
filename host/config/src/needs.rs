//! Files that a configuration names and that must be there before anything runs.

use crate::error::ConfigError;
use crate::load::Loaded;
use crate::types::TaskSource;

/// Asks `exists` about every file the configuration names (paths relative to the project's root)
/// and reports those that aren't there, each at its place in the configuration.
///
/// Asked about are `files.tasks`, `files.prompt`, `files.template`, `files.specs`, the prompts of
/// modes, the prompts of a judge and a review that are
/// enabled, and the sources of plugins. The other `files` may come into being later.
pub fn missing_files(loaded: &Loaded, exists: &dyn Fn(&str) -> bool) -> Option<ConfigError> {
    let config = &loaded.config;
    let mut named: Vec<(Vec<&str>, &str)> = Vec::new();
    for (key, path) in [
        ("tasks", &config.files.tasks),
        ("prompt", &config.files.prompt),
        ("template", &config.files.template),
        ("specs", &config.files.specs),
    ] {
        // With another source of tasks there need be no task file.
        let wanted = key != "tasks" || config.tasks.source == TaskSource::File;
        let path = path.as_deref().filter(|_| wanted);
        named.extend(path.map(|p| (vec!["files", key], p)));
    }
    for (table, judge) in [("judge", &config.judge), ("review", &config.review)] {
        let path = judge.prompt.as_deref().filter(|_| judge.enabled);
        named.extend(path.map(|p| (vec![table, "prompt"], p)));
    }
    for (name, mode) in &config.modes {
        let path = mode.prompt.as_deref();
        named.extend(path.map(|p| (vec!["modes", name.as_str(), "prompt"], p)));
    }
    for (name, plugin) in config.plugins.iter().filter(|(_, p)| p.is_file()) {
        named.push((vec!["plugins", name, "source"], &plugin.source));
    }
    let missing = named.into_iter().filter(|(_, path)| !exists(path));
    let errors = missing.map(|(at, path)| {
        let hint = Some("the path is relative to the project's root".to_owned());
        loaded.origins.error(
            &at,
            format!("there is no file {}", crate::show::name(path)),
            hint,
        )
    });
    ConfigError::join(errors.collect())
}
