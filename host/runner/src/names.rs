//! Names of attempts and of the files that record them.

use ralph_workspace::sha256_hex;

/// A task id as a directory name: other characters than letters, digits, `_`, `.`, `-`
/// become `_`, and if that changed anything a piece of the id's hash follows, so
/// that two ids never share a directory.
pub fn task_dir(id: &str) -> String {
    let safe: String = id
        .chars()
        .take(80)
        .map(|c| {
            if c.is_ascii_alphanumeric() || "_.-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    if safe == id && !safe.starts_with('.') && !safe.is_empty() {
        return safe;
    }
    format!(
        "_{}-{}",
        safe.trim_start_matches('.'),
        &sha256_hex(id.as_bytes())[..8]
    )
}

/// Where one attempt's records are, relative to the root.
#[derive(Debug, Clone)]
pub struct Places {
    /// `.ralph/receipts/<task>/<attempt>`
    pub receipts: String,
    /// `.ralph/context/<task>/<attempt>`
    pub context: String,
    /// `.ralph/attempts/<task>/<attempt>.json`
    pub attempt: String,
    /// `.ralph/logs/<attempt>-<agent><suffix>.log`
    logs: String,
}

impl Places {
    /// Of one attempt.
    pub fn of(task: &str, attempt_id: &str) -> Places {
        let task = task_dir(task);
        Places {
            receipts: format!(".ralph/receipts/{task}/{attempt_id}"),
            context: format!(".ralph/context/{task}/{attempt_id}"),
            attempt: format!(".ralph/attempts/{task}/{attempt_id}.json"),
            logs: format!(".ralph/logs/{attempt_id}"),
        }
    }

    /// What names the attempt.
    pub fn attempt_id(&self) -> &str {
        self.receipts.rsplit('/').next().unwrap_or_default()
    }

    /// A record's name without what all of the attempt's records share.
    pub fn short(&self, path: &str) -> String {
        for (long, short) in self.spelled() {
            if let Some(rest) = path.strip_prefix(long) {
                return format!("{short}{rest}");
            }
        }
        path.to_owned()
    }

    /// The path that [`Places::short`] shortened.
    pub fn long(&self, short: &str) -> String {
        for (long, prefix) in self.spelled() {
            if let Some(rest) = short.strip_prefix(prefix) {
                return format!("{long}{rest}");
            }
        }
        short.to_owned()
    }

    fn spelled(&self) -> [(&str, &'static str); 4] {
        [
            (&self.receipts, "receipts"),
            (&self.context, "context"),
            (&self.attempt, "attempt"),
            (&self.logs, "log"),
        ]
    }

    /// Where what a replay needs is kept.
    pub fn tape(&self, name: &str) -> String {
        format!("{}/replay/{}.json", self.context, task_dir(name))
    }

    /// The raw log of one agent call.
    pub fn log(&self, agent: &str, suffix: &str) -> String {
        format!("{}-{}{suffix}.log", self.logs, task_dir(agent))
    }
}

/// A task's id as a part of a branch's name.
pub(crate) fn branch_name(id: &str) -> String {
    let id = task_dir(id).replace("..", "-");
    let id = id.trim_matches(['.', '-', '_']);
    id.trim_end_matches(".lock").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_leads_back_to_its_record() {
        let places = Places::of("a/b", "20260101-000000-iter0001");
        for path in [
            format!("{}/runner.json", places.receipts),
            format!("{}/prompt.md", places.context),
            places.attempt.clone(),
            places.log("codex", "-judge"),
            places.tape("gate tests"),
        ] {
            let short = places.short(&path);
            assert!(!short.contains("iter0001"), "{short}");
            assert_eq!(places.long(&short), path);
        }
    }

    #[test]
    fn no_task_id_leaves_its_directory_or_shares_another_ones() {
        assert_eq!(task_dir("US-1"), "US-1");
        let odd = [
            "..", ".", "", "a/b", "a b", "a_b", "../../x", "é", "\u{0}", ".git",
        ];
        let names: std::collections::BTreeSet<_> = odd.iter().map(|id| task_dir(id)).collect();
        assert_eq!(names.len(), odd.len());
        assert!(
            names
                .iter()
                .all(|n| !n.contains('/') && !n.starts_with('.') && !n.is_empty())
        );
    }
}
