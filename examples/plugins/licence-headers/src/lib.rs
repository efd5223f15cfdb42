//! Files that an iteration touched begin with the project's licence header.
//!
//! ```toml
//! config = { header = "SPDX-License-Identifier: Apache-2.0", extensions = ["rs", "sh"], lines = 5 }
//! ```

use std::io::{BufRead, BufReader};
use std::path::Path;

use ralph_plugin::{
    ChangeKind, Error, FileChange, Finding, Gate, Iteration, Verdict, changes, config,
};

#[derive(serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// Has to stand in one of the first lines.
    header: String,
    /// Of which files.
    extensions: Vec<String>,
    /// How many lines are looked at.
    lines: usize,
    /// Leave files alone that were there before.
    only_new: bool,
}

impl Default for Config {
    fn default() -> Self {
        let usual = [
            "c", "cc", "cpp", "go", "h", "java", "js", "kt", "py", "rs", "sh", "ts",
        ];
        Config {
            header: "SPDX-License-Identifier:".into(),
            extensions: usual.map(str::to_owned).to_vec(),
            lines: 10,
            only_new: false,
        }
    }
}

/// Of a line this much is read: a minified file has one that is very long.
const LINE_MAX: u64 = 4096;

struct LicenceHeaders;

impl Gate for LicenceHeaders {
    fn check(it: &Iteration) -> Result<Verdict, Error> {
        let config = config::<Config>()?;
        if config.header.is_empty() {
            return Err(Error::invalid_config("`header` is empty"));
        }
        let files = changes::files();
        let mut seen = 0;
        let mut findings = Vec::new();
        for file in files.iter().filter(|file| config.concerns(file)) {
            seen += 1;
            let path = Path::new(&it.workspace).join(&file.path);
            // Gone again meanwhile, or a link: nothing of this project's to be marked.
            let Ok(opened) = std::fs::File::open(&path) else {
                continue;
            };
            if !has(BufReader::new(opened), &config)? {
                let message = format!(
                    "`{}` doesn't stand in the first {} lines",
                    config.header, config.lines
                );
                findings.push(
                    Finding::new(message)
                        .at(&file.path, 1)
                        .rule("licence-header"),
                );
            }
        }
        Ok(match (seen, findings.len()) {
            (0, _) => Verdict::skip("no source file changed"),
            (_, 0) => Verdict::pass(format!("all of {seen} files have the licence header")),
            (_, bad) => Verdict::fail(format!("{bad} of {seen} files lack the licence header"))
                .with(findings),
        })
    }
}

impl Config {
    fn concerns(&self, file: &FileChange) -> bool {
        let kind = match file.kind {
            ChangeKind::Deleted => false,
            ChangeKind::Added => true,
            ChangeKind::Modified | ChangeKind::Renamed => !self.only_new,
        };
        let extension = Path::new(&file.path).extension();
        kind && extension.is_some_and(|e| self.extensions.iter().any(|wanted| e == wanted.as_str()))
    }
}

fn has(mut reader: impl BufRead, config: &Config) -> Result<bool, Error> {
    for _ in 0..config.lines {
        let mut line = Vec::new();
        let read = std::io::Read::take(&mut reader, LINE_MAX).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(false);
        }
        if String::from_utf8_lossy(&line).contains(&config.header) {
            return Ok(true);
        }
    }
    Ok(false)
}

ralph_plugin::gate!(LicenceHeaders);
ralph_plugin::manifest! {
    kinds: ["gate"],
    capabilities: { "changes": true, "read": ["."] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_lines_count_and_a_long_one_is_several() {
        let config = Config {
            lines: 2,
            ..Config::default()
        };
        let of = |text: &str| has(text.as_bytes(), &config);
        assert_eq!(of("#!/bin/sh\n# SPDX-License-Identifier: MIT\n"), Ok(true));
        assert_eq!(of("\n\n# SPDX-License-Identifier: MIT\n"), Ok(false));
        let long = "x".repeat(10_000) + "SPDX-License-Identifier: MIT";
        assert_eq!(of(&long), Ok(false));
        assert_eq!(of(""), Ok(false));
    }
}
