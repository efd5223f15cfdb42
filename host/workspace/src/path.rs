//! Which paths are accepted, and which of them are ralph's own records.

/// Checks a path that is to be taken relative to the root, and gives it back
/// without `.` components and doubled slashes. `.` itself becomes `.`.
///
/// # Errors
/// The rule it breaks, in words.
pub(crate) fn normal(rel: &str) -> Result<String, &'static str> {
    if rel.is_empty() {
        return Err("it is empty");
    }
    if rel.contains('\0') {
        return Err("it has a NUL byte in it");
    }
    if rel.starts_with('/') {
        return Err("it is absolute");
    }
    let mut parts = Vec::new();
    for part in rel.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err("it has `..` in it"),
            other => parts.push(other),
        }
    }
    Ok(if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    })
}

/// Splits a normal path into its directory (`.` for the root) and its name.
pub(crate) fn split(normal: &str) -> (&str, &str) {
    normal.rsplit_once('/').unwrap_or((".", normal))
}

/// How the name of a half-written file begins, whose writer may have died.
pub(crate) const TEMP_PREFIX: &str = ".ralph-tmp-";

/// Is this the name of a file that was only being written, left by a death in mid-write?
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMP_PREFIX)
}

/// Who was writing the file of this name, if it is such a temporary one.
pub fn writer_of(name: &str) -> Option<u32> {
    let (pid, _) = name.strip_prefix(TEMP_PREFIX)?.split_once('-')?;
    pid.parse().ok()
}

/// Files directly below `.ralph/` that are ralph's own records.
pub(crate) const RECORD_FILES: &[&str] = &[
    "journal.jsonl",
    "state.json",
    "lock",
    "worker.json",
    "progress.md",
    ".gitignore",
];

/// Directories directly below `.ralph/` that are ralph's own records.
pub(crate) const RECORD_DIRS: &[&str] = &[
    "logs",
    "receipts",
    "attempts",
    "context",
    "tmp",
    "plugin-state",
    "prompt-edits",
    "worktrees",
];

/// Whether ralph itself writes this path (relative to the root) in the course
/// of a run. Such paths are in no snapshot, change, diff or commit, whatever
/// git's ignore rules say.
pub fn is_own_record(rel: &str) -> bool {
    is_own_record_bytes(rel.as_bytes())
}

/// The same for a path as git gives it.
pub(crate) fn is_own_record_bytes(rel: &[u8]) -> bool {
    let name = rel.rsplit(|b| *b == b'/').next().unwrap_or(rel);
    if name.starts_with(TEMP_PREFIX.as_bytes()) {
        return true;
    }
    let Some(below) = rel.strip_prefix(b".ralph/") else {
        return false;
    };
    match below.iter().position(|b| *b == b'/') {
        Some(slash) => {
            let first = below.get(..slash).unwrap_or_default();
            RECORD_DIRS.iter().any(|d| d.as_bytes() == first)
        }
        None => {
            RECORD_FILES.iter().any(|f| f.as_bytes() == below)
                || RECORD_DIRS.iter().any(|d| d.as_bytes() == below)
                || (below.starts_with(b"journal-") && below.ends_with(b".jsonl"))
        }
    }
}

/// Whether `path` is one of `list`, or lies below a directory of it.
pub(crate) fn is_listed(path: &[u8], list: &[String]) -> bool {
    list.iter().any(|entry| {
        let entry = entry
            .strip_prefix("./")
            .unwrap_or(entry)
            .trim_end_matches('/')
            .as_bytes();
        path.strip_prefix(entry)
            .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_records_are_told_from_what_the_user_keeps_below_dot_ralph() {
        for own in [
            ".ralph/journal.jsonl",
            ".ralph/journal-0001.jsonl",
            ".ralph/state.json",
            ".ralph/lock",
            ".ralph/logs/a/b.log",
            ".ralph/logs",
            ".ralph/tmp/x",
            ".ralph/.gitignore",
            "src/.ralph-tmp-12-3",
        ] {
            assert!(is_own_record(own), "{own}");
        }
        for other in [
            ".ralph/ralph.toml",
            ".ralph/PRD.md",
            ".ralph/logsy/a",
            ".ralph/journal-",
            ".ralph/sub/state.json",
            "state.json",
            "x/.ralph/state.json",
            ".ralph",
        ] {
            assert!(!is_own_record(other), "{other}");
        }
    }

    #[test]
    fn a_listed_directory_covers_what_is_below_it_and_no_neighbour() {
        let list = ["docs/".to_owned(), "./PRD.md".to_owned()];
        assert!(is_listed(b"docs/a/b", &list));
        assert!(is_listed(b"PRD.md", &list));
        assert!(!is_listed(b"docs2/a", &list));
        assert!(!is_listed(b"PRD.md2", &list));
    }
}
