//! What `git status --porcelain=v2 -z --branch` says.

use super::GitError;
use super::raw::Blob;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) head: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) entries: Vec<Entry>,
}

/// A path that isn't as in HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// From the top of the work tree; without the closing `/` of a nested repository.
    pub(super) path: Vec<u8>,
    /// The index differs from HEAD.
    pub(super) staged: bool,
    /// The working tree differs from the index.
    pub(super) unstaged: bool,
    /// git knows nothing of it.
    pub(super) untracked: bool,
    /// A repository of its own: a submodule, or one that git doesn't know of.
    pub(super) nested: bool,
    /// In conflict.
    pub(super) unmerged: bool,
    /// What HEAD has; not known of a path in conflict.
    pub(super) head: Option<Blob>,
}

pub(super) fn parse(text: &[u8]) -> Result<Status, GitError> {
    let mut status = Status::default();
    let mut records = text.split(|b| *b == 0).filter(|r| !r.is_empty());
    while let Some(record) = records.next() {
        let bad = || GitError::unreadable("status", record);
        match record.first() {
            Some(b'#') => header(record, &mut status),
            Some(b'?') => {
                let path = record.get(2..).ok_or_else(bad)?;
                let nested = path.last() == Some(&b'/');
                let path = path.strip_suffix(b"/").unwrap_or(path).to_vec();
                status.entries.push(Entry {
                    path,
                    staged: false,
                    unstaged: true,
                    untracked: true,
                    nested,
                    unmerged: false,
                    head: None,
                });
            }
            Some(b'1') => status.entries.push(tracked(record, 8).ok_or_else(bad)?),
            Some(b'2') => {
                // Not asked for, but a rename would still be understood: the second path went.
                status.entries.push(tracked(record, 9).ok_or_else(bad)?);
                let from = records.next().ok_or_else(bad)?;
                status.entries.push(Entry {
                    path: from.to_vec(),
                    staged: true,
                    unstaged: true,
                    untracked: false,
                    nested: false,
                    unmerged: false,
                    head: None,
                });
            }
            Some(b'u') => {
                let mut entry = tracked(record, 10).ok_or_else(bad)?;
                entry.unmerged = true;
                entry.unstaged = true;
                status.entries.push(entry);
            }
            Some(b'!') => {}
            _ => return Err(bad()),
        }
    }
    Ok(status)
}

fn header(record: &[u8], status: &mut Status) {
    let text = String::from_utf8_lossy(record);
    if let Some(oid) = text.strip_prefix("# branch.oid ") {
        status.head = (oid != "(initial)").then(|| oid.to_owned());
    } else if let Some(name) = text.strip_prefix("# branch.head ") {
        status.branch = (name != "(detached)").then(|| name.to_owned());
    }
}

/// `<type> <XY> … <path>` with `before` fields before the path.
fn tracked(record: &[u8], before: usize) -> Option<Entry> {
    let mut fields = record.splitn(before + 1, |b| *b == b' ');
    let &[x, y] = fields.nth(1)? else { return None };
    let nested = fields.next()?.first() == Some(&b'S');
    let [mode, _, _, oid] = [
        fields.next()?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
    ];
    let path = fields.nth(before - 7)?.to_vec();
    let known = record.first() != Some(&b'u') && mode != b"000000";
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(Entry {
        path,
        staged: x != b'.',
        unstaged: y != b'.',
        untracked: false,
        nested,
        unmerged: false,
        head: known.then(|| Blob {
            mode: text(mode),
            oid: text(oid),
        }),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_with_spaces_newlines_and_leading_dashes_come_out_whole() {
        let text = b"# branch.oid 1111111111111111111111111111111111111111\0# branch.head a b\0\
            1 .M N... 100644 100644 100644 aa bb -x y\nz\0\
            u UD N... 100644 100644 100644 000000 a b c both ways\0\
            1 MD N... 100644 100644 000000 aa bb gone\0\
            ? nested repo/\0? \"q\"\0";
        let status = parse(text).unwrap();
        assert_eq!(status.branch.as_deref(), Some("a b"));
        let paths: Vec<_> = status
            .entries
            .iter()
            .map(|e| String::from_utf8_lossy(&e.path).into_owned())
            .collect();
        assert_eq!(
            paths,
            ["-x y\nz", "both ways", "gone", "nested repo", "\"q\""]
        );
        assert!(status.entries[1].unmerged);
        assert!(status.entries[2].staged && status.entries[2].unstaged);
        assert!(status.entries[3].nested);
    }

    #[test]
    fn an_empty_repository_and_a_detached_head_are_told_apart() {
        let empty = parse(b"# branch.oid (initial)\0# branch.head main\0").unwrap();
        assert_eq!((empty.head, empty.branch.as_deref()), (None, Some("main")));
        let detached = parse(b"# branch.oid abc\0# branch.head (detached)\0").unwrap();
        assert_eq!(
            (detached.head.as_deref(), detached.branch),
            (Some("abc"), None)
        );
    }

    #[test]
    fn what_is_not_porcelain_is_an_error_and_no_panic() {
        for bad in [&b"1 .M"[..], b"x y", b"1 M N... a b c d e f", b"?"] {
            assert!(parse(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
