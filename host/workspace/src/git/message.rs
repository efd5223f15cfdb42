//! The commit message and the trailer by which a commit is found again.

use super::run::Cmd;
use super::snapshot::check_oid;
use super::{Git, GitError};

/// The key of the trailer.
pub(super) const TRAILER: &str = "Ralph-Attempt";
/// So many commits are asked for at once.
const CHUNK: usize = 500;
/// Commits looked at, at most.
const NEWEST: &str = "-50";

impl Git {
    /// A commit reachable from HEAD, one of the newest 50, that carries
    /// `Ralph-Attempt: <attempt>` and isn't reachable from `since`.
    ///
    /// # Errors
    /// What git says, e.g. of a `since` that it doesn't have.
    pub async fn find_commit(
        &self,
        attempt: &str,
        since: Option<&str>,
    ) -> Result<Option<String>, GitError> {
        if self.head().await?.oid.is_none() {
            return Ok(None);
        }
        let mut cmd = Cmd::read("log").config("log.showSignature=false").args([
            NEWEST,
            "--no-color",
            "--no-decorate",
            &format!("--format=%H %(trailers:key={TRAILER},valueonly,unfold,separator=%x1f)"),
            "HEAD",
        ]);
        if let Some(since) = since {
            check_oid(since)?;
            cmd = cmd.arg(format!("^{since}"));
        }
        let out = self.runner().run(cmd.arg("--")).await?.ok()?;
        let wanted = one_line(attempt);
        Ok(String::from_utf8_lossy(&out)
            .lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(_, values)| values.split('\x1f').any(|v| v.trim() == wanted))
            .map(|(oid, _)| oid.to_owned()))
    }
}

impl Git {
    /// For each commit the values of its `Ralph-Attempt` lines; `None` where there
    /// is no such commit in the repository, reachable or not.
    ///
    /// # Errors
    /// An id that is none, and what git says.
    pub async fn attempts_of(
        &self,
        commits: &[String],
    ) -> Result<Vec<Option<Vec<String>>>, GitError> {
        let mut all = Vec::with_capacity(commits.len());
        for some in commits.chunks(CHUNK) {
            let mut list = String::new();
            for oid in some {
                check_oid(oid)?;
                list.push_str(oid);
                list.push('\n');
            }
            let cmd = Cmd::read("cat-file")
                .arg("--batch")
                .stdin(list.into_bytes());
            let out = self.runner().run(cmd).await?.ok()?;
            let mut rest = out.as_slice();
            for _ in some {
                let (found, left) = one_object(rest)?;
                all.push(found);
                rest = left;
            }
        }
        Ok(all)
    }
}

/// What `cat-file --batch` says of one object, and what follows it.
fn one_object(text: &[u8]) -> Result<(Option<Vec<String>>, &[u8]), GitError> {
    let bad = || GitError::unreadable("cat-file", &text[..text.len().min(100)]);
    let end = text.iter().position(|b| *b == b'\n').ok_or_else(bad)?;
    let head = String::from_utf8_lossy(&text[..end]).into_owned();
    let rest = &text[end + 1..];
    let mut words = head.split(' ').skip(1);
    let kind = words.next().unwrap_or_default();
    let Some(size) = words.next().and_then(|s| s.parse::<usize>().ok()) else {
        return Ok((None, rest));
    };
    let (object, rest) = rest.split_at_checked(size).ok_or_else(bad)?;
    let rest = rest.strip_prefix(b"\n").ok_or_else(bad)?;
    if kind != "commit" {
        return Ok((None, rest));
    }
    let object = String::from_utf8_lossy(object);
    let message = object.split_once("\n\n").map_or("", |(_, m)| m);
    let values = message
        .lines()
        .filter_map(|l| l.strip_prefix(TRAILER)?.strip_prefix(':'))
        .map(|v| v.trim().to_owned())
        .collect();
    Ok((Some(values), rest))
}

/// The message with the trailer in its last paragraph.
pub(super) fn with_trailer(message: &str, attempt: &str) -> String {
    let message = message.replace('\0', " ");
    let message = match message.trim_end() {
        "" => "ralph: finish a task",
        other => other,
    };
    let last = message.rsplit("\n\n").next().unwrap_or(message);
    let joins = last.len() < message.len() && last.lines().all(is_trailer);
    let gap = if joins { "\n" } else { "\n\n" };
    format!("{message}{gap}{TRAILER}: {}\n", one_line(attempt))
}

fn is_trailer(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(key, value)| {
        !key.is_empty()
            && !value.trim().is_empty()
            && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// A trailer's value is one line.
fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control() || c.is_whitespace())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn objects_that_are_missing_or_no_commits_are_told_from_commits() {
        let text = b"aa commit 27\ntree x\n\ns\n\nRalph-Attempt: a\nbb missing\ncc blob 2\nhi\n";
        let (found, rest) = one_object(text).unwrap();
        assert_eq!(found, Some(vec!["a".to_owned()]));
        let (missing, rest) = one_object(rest).unwrap();
        assert_eq!(missing, None);
        assert_eq!(one_object(rest).unwrap(), (None, &b""[..]));
        assert!(one_object(b"aa commit 900\ncut").is_err());
    }

    #[test]
    fn the_trailer_is_a_paragraph_of_its_own_or_joins_other_trailers() {
        let t = |m| with_trailer(m, "a\n1");
        assert_eq!(t("subject"), "subject\n\nRalph-Attempt: a 1\n");
        assert_eq!(t("fix: it\n"), "fix: it\n\nRalph-Attempt: a 1\n");
        assert_eq!(
            t("s\n\nbody: yes no\nmore"),
            "s\n\nbody: yes no\nmore\n\nRalph-Attempt: a 1\n"
        );
        assert_eq!(
            t("s\n\nFixes: #1\n"),
            "s\n\nFixes: #1\nRalph-Attempt: a 1\n"
        );
        assert_eq!(t(" \n\0"), "ralph: finish a task\n\nRalph-Attempt: a 1\n");
    }
}
