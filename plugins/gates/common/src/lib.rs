//! Patterns for paths below the project's root, as the built-in gates and the host
//! (`[[gates]] when`) take them in their configuration. The rule, which is that of `.gitignore` but for the
//! braces and the last two points:
//!
//! * `*` and `?` stand for any characters but `/`; `[ab]`, `[a-z]`, `[!a]` for one;
//!   `{a,b}` for one of those; `\` takes the next character as it is.
//! * `**` as a whole part of the path stands for any number of parts: `src/**` is
//!   everything below `src`, `**/tests/**` everything below any `tests`.
//! * A pattern with a `/` anywhere but at its end counts from the root: `src/*.rs`,
//!   `/README.md`. One without counts at any depth: `*.md`, `Cargo.lock`.
//! * A `/` at the end means everything below directories of that name: `/docs/`, `generated/`.
//! * A pattern means files, never what is below a directory of that name unless it
//!   ends in `/` or `/**`.
//! * There is no `!` in front: say it with the gate's other list.
//!
//! Upper and lower case differ. [`pattern`] does the matching.

pub mod braces;
pub mod pattern;

use pattern::Pattern;

/// A list of patterns out of a configuration.
#[derive(Debug, Default)]
pub struct PathGlobs(Vec<(String, Vec<Pattern>)>);

impl PathGlobs {
    /// # Errors
    /// The pattern, and what is wrong with it.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        let compiled = |pattern: &S| {
            let pattern = pattern.as_ref();
            match compile(pattern) {
                Ok(alternatives) => Ok((pattern.to_owned(), alternatives)),
                Err(why) => Err(format!("the pattern `{pattern}` {why}")),
            }
        };
        patterns
            .iter()
            .map(compiled)
            .collect::<Result<_, _>>()
            .map(PathGlobs)
    }

    /// True if there is no pattern at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The patterns, as they were written.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(pattern, _)| pattern.as_str())
    }

    /// The first pattern that means `path`.
    pub fn find(&self, path: &str) -> Option<&str> {
        let names: Vec<&str> = path.split('/').collect();
        let means = |alternatives: &[Pattern]| alternatives.iter().any(|p| p.matches(&names));
        self.0
            .iter()
            .find(|(_, alternatives)| means(alternatives))
            .map(|(pattern, _)| pattern.as_str())
    }
}

fn compile(pattern: &str) -> Result<Vec<Pattern>, &'static str> {
    if pattern.trim().is_empty() {
        return Err("is empty");
    }
    if pattern.starts_with('!') {
        return Err("begins with `!`, which has no meaning here; use the other list");
    }
    braces::expand(pattern)?
        .iter()
        .map(|p| anchored(p).and_then(|p| Pattern::new(&p)))
        .collect()
}

/// The pattern as it must read if all patterns count from the root.
fn anchored(pattern: &str) -> Result<String, &'static str> {
    let from_root = pattern
        .strip_prefix("./")
        .or_else(|| pattern.strip_prefix('/'));
    let body = from_root.unwrap_or(pattern);
    if body.is_empty() {
        return Err("names nothing; `**` is everything");
    }
    let any_depth = from_root.is_none() && !body.strip_suffix('/').unwrap_or(body).contains('/');
    let below = if body.ends_with('/') { "**" } else { "" };
    Ok(format!(
        "{}{body}{below}",
        if any_depth { "**/" } else { "" }
    ))
}

#[cfg(test)]
mod tests;
