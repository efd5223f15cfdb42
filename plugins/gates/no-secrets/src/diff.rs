//! The added lines of a unified diff, each with its path and its line number.

/// Why a diff couldn't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub &'static str);

/// Calls `f` with path, line number and text (without its `+`) of every added line.
///
/// Lines are told apart by the hunk headers' counts, not by how they look: an
/// added line `++ b/x` isn't taken for a header.
///
/// # Errors
/// [`Unreadable`] if `diff` isn't empty and yet no unified diff.
pub fn added_lines(diff: &str, mut f: impl FnMut(&str, u32, &str)) -> Result<(), Unreadable> {
    let mut path = String::new();
    let mut line_number: u32 = 0;
    let (mut old_left, mut new_left) = (0u32, 0u32);
    let mut any_file = diff.trim().is_empty();
    for line in diff.split('\n') {
        if old_left > 0 || new_left > 0 {
            match line.as_bytes().first() {
                Some(b'+') => {
                    f(&path, line_number, line.get(1..).unwrap_or_default());
                    line_number = line_number.saturating_add(1);
                    new_left = new_left.saturating_sub(1);
                    continue;
                }
                Some(b'-') => {
                    old_left = old_left.saturating_sub(1);
                    continue;
                }
                // A tool may have taken the blank off an empty line.
                Some(b' ') | None => {
                    line_number = line_number.saturating_add(1);
                    old_left = old_left.saturating_sub(1);
                    new_left = new_left.saturating_sub(1);
                    continue;
                }
                Some(b'\\') => continue,
                Some(_) => return Err(Unreadable("a hunk ends before its header says so")),
            }
        }
        if line.starts_with("diff --git ") {
            any_file = true;
            path.clear();
        } else if let Some(name) = line.strip_prefix("+++ ") {
            any_file = true;
            path = file_name(name);
        } else if let Some(header) = line.strip_prefix("@@ ") {
            let Some((old, start, new)) = hunk(header) else {
                return Err(Unreadable("a hunk's header can't be read"));
            };
            (old_left, line_number, new_left) = (old, start, new);
        } else if line.starts_with("@@@") {
            return Err(Unreadable("it is a diff of a merge"));
        }
    }
    if any_file {
        Ok(())
    } else {
        Err(Unreadable("no file stands in it"))
    }
}

/// `-A,B +C,D @@ …` as (B, C, D).
fn hunk(header: &str) -> Option<(u32, u32, u32)> {
    let mut words = header.split(' ');
    let old = words.next()?.strip_prefix('-')?;
    let new = words.next()?.strip_prefix('+')?;
    let range = |text: &str| -> Option<(u32, u32)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let (_, old_count) = range(old)?;
    let (start, count) = range(new)?;
    Some((old_count, start, count))
}

/// What stands behind `+++ `: perhaps quoted as C does it, with `b/` in front.
fn file_name(name: &str) -> String {
    let name = name.trim_end_matches('\r');
    let name = match name.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => name.split('\t').next().unwrap_or(name).to_owned(),
    };
    name.strip_prefix("b/").map(str::to_owned).unwrap_or(name)
}

fn unquoted(quoted: &str) -> String {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.bytes().peekable();
    while let Some(b) = rest.next() {
        match b {
            b'"' => break,
            b'\\' => match rest.next() {
                Some(first @ b'0'..=b'7') => {
                    let mut value = u32::from(first - b'0');
                    for _ in 0..2 {
                        if let Some(digit) = rest.next_if(|b| matches!(b, b'0'..=b'7')) {
                            value = value * 8 + u32::from(digit - b'0');
                        }
                    }
                    bytes.push(u8::try_from(value).unwrap_or(b'?'));
                }
                Some(b'n') => bytes.push(b'\n'),
                Some(b't') => bytes.push(b'\t'),
                Some(b'r') => bytes.push(b'\r'),
                Some(b'a') => bytes.push(7),
                Some(b'b') => bytes.push(8),
                Some(b'v') => bytes.push(11),
                Some(b'f') => bytes.push(12),
                Some(other) => bytes.push(other),
                None => break,
            },
            b => bytes.push(b),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn added(diff: &str) -> Result<Vec<(String, u32, String)>, Unreadable> {
        let mut all = Vec::new();
        added_lines(diff, |path, line, text| {
            all.push((path.into(), line, text.into()))
        })?;
        Ok(all)
    }

    fn line(path: &str, line: u32, text: &str) -> (String, u32, String) {
        (path.into(), line, text.into())
    }

    #[test]
    fn added_lines_have_the_number_they_have_in_the_new_file() {
        let diff = "diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -10,3 +10,4 @@ fn f() {\n a\n-b\n+B\n+C\n c\n@@ -30 +31,2 @@\n d\n+e\n\\ No newline at end of file\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+only\n";
        assert_eq!(
            added(diff).unwrap(),
            [
                line("x.rs", 11, "B"),
                line("x.rs", 12, "C"),
                line("x.rs", 32, "e"),
                line("n", 1, "only")
            ]
        );
    }

    #[test]
    fn lines_that_look_like_headers_are_content_inside_a_hunk() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,4 @@\n--- a/y\n+++ b/y\n+@@ -1 +1 @@\n+diff --git a/z b/z\n c\n";
        assert_eq!(
            added(diff).unwrap(),
            [
                line("x", 1, "++ b/y"),
                line("x", 2, "@@ -1 +1 @@"),
                line("x", 3, "diff --git a/z b/z")
            ]
        );
    }

    #[test]
    fn a_context_line_that_lost_its_blank_counts() {
        assert_eq!(
            added("+++ b/x\n@@ -1,2 +1,3 @@\n\n+a\n b\n").unwrap(),
            [line("x", 2, "a")]
        );
    }

    #[test]
    fn quoted_names_are_read() {
        let diff = "diff --git \"a/\\303\\244 \\\"q\\\".rs\" x\n+++ \"b/\\303\\244 \\\"q\\\".rs\"\n@@ -0,0 +1 @@\n+a\n+++ b/with blank\t\n@@ -0,0 +1 @@\n+b\n";
        assert_eq!(
            added(diff).unwrap(),
            [line("ä \"q\".rs", 1, "a"), line("with blank", 1, "b")]
        );
    }

    #[test]
    fn binary_files_renames_and_deletions_add_nothing() {
        let diff = "diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\ndiff --git a/o b/p\nsimilarity index 100%\nrename from o\nrename to p\ndiff --git a/d b/d\n--- a/d\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
        assert_eq!(added(diff).unwrap(), []);
        assert_eq!(added("").unwrap(), []);
    }

    #[test]
    fn what_is_no_unified_diff_is_said_and_not_taken_for_clean() {
        for diff in [
            "hello\n",
            "diff --git a/x b/x\n@@ nonsense @@\n+a\n",
            "diff --cc x\n@@@ -1,1 -1,1 +1,2 @@@\n++a\n",
            "+++ b/x\n@@ -1,2 +1,9 @@\n+a\nxyz\n",
            "+++ b/x\n@@ -1 +99999999999999999999 @@\n+a\n",
        ] {
            assert!(added(diff).is_err(), "{diff}");
        }
    }
}
