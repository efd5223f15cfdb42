//! Refuses work that changes too many files.

use ralph_plugin::{Error, Finding, Gate, Iteration, Verdict, changes, config};

#[derive(serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    max_files: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config { max_files: 20 }
    }
}

struct Plugin;

impl Gate for Plugin {
    fn check(_: &Iteration) -> Result<Verdict, Error> {
        let max = config::<Config>()?.max_files;
        let files = changes::files();
        let summary = format!("{} of at most {max} files changed", files.len());
        if files.len() <= max {
            return Ok(Verdict::pass(summary));
        }
        let rest = files.iter().skip(max).map(|file| {
            Finding::new("one file too many")
                .in_file(&file.path)
                .rule("max-files")
        });
        Ok(Verdict::fail(summary).with(rest))
    }
}

ralph_plugin::gate!(Plugin);
ralph_plugin::manifest! {
    kinds: ["gate"],
    capabilities: { "changes": true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_plugin::testing::{Host, iteration};

    #[test]
    fn one_file_more_than_allowed_fails() {
        let host = Host::new().config(r#"{"max_files": 1}"#);
        let (verdict, _) = host
            .changed("a")
            .changed("b")
            .run(|| Plugin::check(&iteration()));
        assert!(verdict.is_ok_and(|verdict| !verdict.passed()));
    }
}
