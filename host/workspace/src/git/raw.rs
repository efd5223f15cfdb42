//! What `git diff-tree` and `git diff-index` say with `--raw -z` and `--numstat -z`.

use std::collections::BTreeMap;

use super::GitError;

/// A side of a change: `(mode, object id)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blob {
    /// Octal digits, as git writes them.
    pub(super) mode: String,
    pub(super) oid: String,
}

impl Blob {
    /// A regular file, executable or not.
    pub(super) fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }

    /// A submodule or another repository.
    pub(super) fn is_gitlink(&self) -> bool {
        self.mode == "160000"
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawChange {
    pub(super) old: Option<Blob>,
    pub(super) new: Option<Blob>,
    /// The letter: A, D, M, T, R, U.
    pub(super) status: u8,
    pub(super) path: Vec<u8>,
    /// Where a renamed file came from.
    pub(super) from: Option<Vec<u8>>,
}

/// Added and deleted lines; none for a binary file.
pub(super) type Lines = BTreeMap<Vec<u8>, (u32, u32)>;

/// Reads `--raw -z`, followed by `--numstat -z` if that was asked for.
pub(super) fn parse(text: &[u8]) -> Result<(Vec<RawChange>, Lines), GitError> {
    let mut changes = Vec::new();
    let mut lines = Lines::new();
    let mut records = text
        .strip_suffix(b"\0")
        .unwrap_or(text)
        .split(|b| *b == 0)
        .peekable();
    if text.is_empty() {
        return Ok((changes, lines));
    }
    while let Some(record) = records.next() {
        let bad = || GitError::unreadable("diff-tree", record);
        if let Some(raw) = record.strip_prefix(b":") {
            let raw = std::str::from_utf8(raw).map_err(|_| bad())?;
            let mut fields = raw.split(' ');
            let mut field = || fields.next().ok_or_else(bad);
            let (old_mode, new_mode) = (field()?, field()?);
            let (old_oid, new_oid) = (field()?, field()?);
            let status = *field()?.as_bytes().first().ok_or_else(bad)?;
            let first = records.next().ok_or_else(bad)?.to_vec();
            let (from, path) = match status {
                b'R' | b'C' => (Some(first), records.next().ok_or_else(bad)?.to_vec()),
                _ => (None, first),
            };
            let (old, new) = (blob(old_mode, old_oid), blob(new_mode, new_oid));
            changes.push(RawChange {
                old,
                new,
                status,
                path,
                from,
            });
        } else {
            let mut fields = record.splitn(3, |b| *b == b'\t');
            let mut field = || fields.next().ok_or_else(bad);
            let (added, deleted, path) = (field()?, field()?, field()?);
            let path = if path.is_empty() {
                records.next().ok_or_else(bad)?;
                records.next().ok_or_else(bad)?
            } else {
                path
            };
            lines.insert(path.to_vec(), (count(added), count(deleted)));
        }
    }
    Ok((changes, lines))
}

fn blob(mode: &str, oid: &str) -> Option<Blob> {
    (mode != "000000").then(|| Blob {
        mode: mode.to_owned(),
        oid: oid.to_owned(),
    })
}

/// `-` stands for a binary file.
fn count(digits: &[u8]) -> u32 {
    std::str::from_utf8(digits)
        .ok()
        .and_then(|d| d.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn renames_binaries_and_tabs_in_names_are_read() {
        let text = b":100644 100644 aa bb R090\0old\0new\0:000000 100755 00 cc A\0b\tin\0\
            1\t2\t\0old\0new\0-\t-\tb\tin\0";
        let (changes, lines) = parse(text).unwrap();
        assert_eq!(changes[0].from.as_deref(), Some(&b"old"[..]));
        assert_eq!(changes[0].path, b"new");
        assert_eq!(changes[1].old, None);
        assert_eq!(changes[1].new.as_ref().unwrap().mode, "100755");
        assert_eq!(lines[&b"new"[..]], (1, 2));
        assert_eq!(lines[&b"b\tin"[..]], (0, 0));
    }

    #[test]
    fn a_cut_answer_is_an_error_and_no_panic() {
        for bad in [
            &b":100644 100644 aa"[..],
            b":1 2 3 4 M",
            b"1\t2",
            b"1\t2\t\0x",
            b":\xff",
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        assert!(parse(b"").unwrap().0.is_empty());
    }
}
