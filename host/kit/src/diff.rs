//! Unified diffs of git's: which paths changed, and less of one.

use ralph_engine::types::{ChangeKind, DiffText, FileChange};

/// The changed paths in a diff of git's.
pub(crate) fn changed(diff: &str) -> Vec<FileChange> {
    let mut files: Vec<FileChange> = Vec::new();
    let mut in_hunk = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            in_hunk = false;
            files.push(FileChange {
                path: header_path(names),
                kind: ChangeKind::Modified,
                added_lines: 0,
                deleted_lines: 0,
            });
            continue;
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        match (in_hunk, line.as_bytes().first()) {
            (true, Some(b'+')) => file.added_lines += 1,
            (true, Some(b'-')) => file.deleted_lines += 1,
            (_, Some(b'@')) => in_hunk = true,
            (false, _) => {
                if line.starts_with("new file mode") {
                    file.kind = ChangeKind::Added;
                } else if line.starts_with("deleted file mode") {
                    file.kind = ChangeKind::Deleted;
                } else if let Some(to) = line.strip_prefix("rename to ") {
                    file.kind = ChangeKind::Renamed;
                    file.path = to.to_owned();
                } else if let Some(to) = line.strip_prefix("+++ b/") {
                    // git ends a name that has blanks with a tab.
                    file.path = to.trim_end_matches('\t').to_owned();
                }
            }
            _ => {}
        }
    }
    files
}

/// `a/x b/x` has the same name twice, unless it is renamed, which a later line tells.
fn header_path(names: &str) -> String {
    let half = names.len() / 2;
    match (names.get(..half), names.get(half + 1..)) {
        (Some(a), Some(b)) if a.strip_prefix("a/") == b.strip_prefix("b/") => {
            a.trim_start_matches("a/").to_owned()
        }
        _ => names
            .rsplit_once(" b/")
            .map_or(names, |(_, b)| b)
            .to_owned(),
    }
}

/// As much of a diff as was asked for: whole files, as the host leaves them out.
pub(crate) fn cut(diff: &str, max: u64) -> DiffText {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    if diff.len() <= max {
        return DiffText {
            text: diff.to_owned(),
            omitted_bytes: 0,
        };
    }
    let mut starts: Vec<usize> = diff
        .match_indices("diff --git ")
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || diff.as_bytes().get(at - 1) == Some(&b'\n'))
        .collect();
    starts.push(diff.len());
    let (mut text, mut omitted) = (String::new(), 0);
    for pair in starts.windows(2) {
        let file = diff.get(pair[0]..pair[1]).unwrap_or_default();
        if omitted == 0 && text.len() + file.len() <= max {
            text.push_str(file);
        } else {
            omitted += file.len() as u64;
        }
    }
    DiffText {
        text,
        omitted_bytes: omitted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a b.rs b/src/a b.rs\nnew file mode 100644\n--- /dev/null\n+++ b/src/a b.rs\t\n@@ -0,0 +1,2 @@\n+one\n++++ two\ndiff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\n@@ -1 +1 @@\n---- x\n+y\ndiff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n";

    #[test]
    fn changed_paths_are_read_from_a_diff() {
        let mut told: Vec<_> = changed(DIFF)
            .into_iter()
            .map(|f| (f.path, f.kind, f.added_lines, f.deleted_lines))
            .collect();
        told.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(
            told,
            [
                ("new".to_owned(), ChangeKind::Renamed, 1, 1),
                ("src/a b.rs".to_owned(), ChangeKind::Added, 2, 0),
                ("x.png".to_owned(), ChangeKind::Modified, 0, 0),
            ]
        );
    }

    #[test]
    fn a_diff_that_is_too_long_loses_whole_files_at_its_end() {
        let whole = cut(DIFF, 1 << 20);
        assert_eq!((whole.text.as_str(), whole.omitted_bytes), (DIFF, 0));
        let less = cut(DIFF, 200);
        assert!(less.text.ends_with("+one\n++++ two\n"), "{}", less.text);
        assert_eq!(
            less.text.len() as u64 + less.omitted_bytes,
            DIFF.len() as u64
        );
        assert_eq!(cut(DIFF, 0).text, "");
    }
}
