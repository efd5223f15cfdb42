//! GitHub issues as tasks.
//!
//! - The id of issue 12 is `GH-12`.
//! - Closed is done; the label [`BLOCKED`] makes it blocked; everything else is open.
//! - Criteria are the boxes below "Acceptance criteria", else all boxes of the text.
//! - `Depends on: #3` (or `Blocked by #3`) at the start of a line names what has to be closed first.
//! - Labels like `P1`, `priority:high`, `priority/2` are the priority. Among equals, the milestone
//!   with the lower number comes first, then the lower issue number.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::super::file::Entry;
use super::body;
use crate::text;
use crate::types::{Task, TaskState};

/// The label of a blocked task.
pub const BLOCKED: &str = "ralph:blocked";

/// What an id begins with.
const PREFIX: &str = "GH-";

/// An issue, as far as it matters here.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs, reason = "named as gh names them")]
pub struct Issue {
    pub number: u64,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub body: Option<String>,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub labels: Vec<Label>,
    #[serde(default)]
    pub milestone: Option<Milestone>,
    #[serde(default)]
    pub comments: Vec<Comment>,
}

/// A label.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs, reason = "named as gh names them")]
pub struct Label {
    pub name: String,
}

/// A milestone.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs, reason = "named as gh names them")]
pub struct Milestone {
    #[serde(default)]
    pub number: u64,
}

/// What somebody wrote below an issue.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs, reason = "named as gh names them")]
pub struct Comment {
    #[serde(default)]
    pub body: String,
}

impl Issue {
    /// Reads what `gh issue list` or `gh issue view` prints.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn many(json: &[u8]) -> Result<Vec<Issue>, String> {
        super::many(json)
    }

    /// Closed, or a merged pull request that something depends on.
    pub fn is_closed(&self) -> bool {
        !self.state.eq_ignore_ascii_case("open")
    }

    /// Does it have this label? Case makes no difference to GitHub.
    pub fn has(&self, label: &str) -> bool {
        self.labels
            .iter()
            .any(|l| l.name.to_lowercase() == label.to_lowercase())
    }

    /// One of the tasks: no pull request, the label if one is wanted, none of the others.
    pub fn is_task(&self, label: &str, exclude: &[String]) -> bool {
        !self.url.contains("/pull/")
            && (label.is_empty() || self.has(label))
            && !exclude.iter().any(|l| self.has(l))
    }

    fn priority(&self) -> Option<i32> {
        self.labels.iter().filter_map(|l| priority(&l.name)).min()
    }

    /// Numbers it depends on, and what names nothing of this repository.
    fn depends(&self) -> (BTreeSet<u64>, Vec<String>) {
        let (mut numbers, mut odd) = (BTreeSet::new(), Vec::new());
        for word in body::read(self.body.as_deref().unwrap_or_default()).depends {
            match word.strip_prefix('#').map_or_else(|| number(&word), digits) {
                Some(n) => drop(numbers.insert(n)),
                None => odd.push(word),
            }
        }
        (numbers, odd)
    }
}

/// The id of an issue.
pub fn id(number: u64) -> String {
    format!("{PREFIX}{number}")
}

/// The issue that an id names.
pub fn number(id: &str) -> Option<u64> {
    let head = id.get(..PREFIX.len())?;
    head.eq_ignore_ascii_case(PREFIX)
        .then(|| digits(&id[PREFIX.len()..]))?
}

fn digits(text: &str) -> Option<u64> {
    let fine = text.bytes().all(|b| b.is_ascii_digit()) && text.len() <= 12;
    text.parse().ok().filter(|n| fine && *n > 0)
}

fn priority(label: &str) -> Option<i32> {
    let label = label.to_lowercase();
    let word = label
        .strip_prefix("priority")
        .or_else(|| label.strip_prefix("prio"))
        .map(|w| w.trim_start_matches([':', '/', '-', '=', ' ', '_']));
    match word.unwrap_or(&label) {
        "critical" | "urgent" | "blocker" if word.is_some() => Some(0),
        "high" if word.is_some() => Some(1),
        "medium" | "normal" if word.is_some() => Some(2),
        "low" if word.is_some() => Some(3),
        text => {
            let number = text.strip_prefix('p').or(word)?;
            let one = number.len() == 1 && number.bytes().all(|b| b.is_ascii_digit());
            number.parse().ok().filter(|_| one)
        }
    }
}

/// Numbers that open tasks depend on and that aren't among the issues: they have to be asked for.
pub fn unknown(issues: &BTreeMap<u64, Issue>) -> BTreeSet<u64> {
    let open = issues.values().filter(|i| !i.is_closed());
    open.flat_map(|i| i.depends().0)
        .filter(|n| !issues.contains_key(n))
        .collect()
}

/// The tasks, in their order, and what a person should know. `others` are those asked for because
/// of [`unknown`]; `None` is an issue that isn't there. A task that waits for one that is open and no
/// task here finds it among the entries, as in progress: somebody else's.
pub fn entries(
    issues: &BTreeMap<u64, Issue>,
    others: &BTreeMap<u64, Option<Issue>>,
) -> (Vec<Entry>, Vec<String>) {
    let mut warnings = Vec::new();
    let mut waited: BTreeSet<u64> = BTreeSet::new();
    let mut sorted: Vec<&Issue> = issues.values().collect();
    sorted.sort_by_key(|i| {
        let milestone = i.milestone.as_ref().map_or(u64::MAX, |m| m.number);
        (i.priority().unwrap_or(i32::MAX), milestone, i.number)
    });
    let mut entries = Vec::with_capacity(sorted.len());
    for issue in sorted {
        let mut depends_on = Vec::new();
        if !issue.is_closed() {
            let (numbers, odd) = issue.depends();
            for word in odd {
                let word = text::one_line(&word, 80);
                warnings.push(format!(
                    "{} depends on `{word}`, which is no issue here; that is left out",
                    id(issue.number)
                ));
            }
            for n in numbers {
                let closed = |i: &Issue| i.is_closed();
                let other = others.get(&n).and_then(Option::as_ref);
                if issues.get(&n).or(other).is_none_or(|i| !closed(i)) && !issues.contains_key(&n) {
                    waited.insert(n);
                }
                if issues.contains_key(&n) || waited.contains(&n) {
                    depends_on.push(id(n));
                }
            }
        }
        let state = match (issue.is_closed(), issue.has(BLOCKED)) {
            (true, _) => TaskState::Done,
            (false, true) => TaskState::Blocked,
            (false, false) => TaskState::Open,
        };
        entries.push(entry(issue, state, depends_on));
    }
    for n in waited {
        let gone = Issue {
            number: n,
            title: "there is no such issue".to_owned(),
            ..Issue::default()
        };
        let issue = others.get(&n).and_then(Option::as_ref).unwrap_or(&gone);
        entries.push(entry(issue, TaskState::InProgress, Vec::new()));
    }
    for (entry, line) in entries.iter_mut().zip(1..) {
        entry.line = line;
    }
    (entries, warnings)
}

fn entry(issue: &Issue, state: TaskState, depends_on: Vec<String>) -> Entry {
    let body = body::read(issue.body.as_deref().unwrap_or_default());
    let title = text::one_line(&text::strip_escapes(&issue.title), 500);
    Entry {
        task: Task {
            id: id(issue.number),
            title: if title.is_empty() {
                id(issue.number)
            } else {
                title
            },
            description: body.text,
            acceptance: body.acceptance,
            priority: issue.priority(),
            depends_on,
        },
        state,
        line: 0,
        notes: String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tasks::{Selection, TaskList};

    fn issues(json: &str) -> BTreeMap<u64, Issue> {
        let many = Issue::many(json.as_bytes()).unwrap();
        many.into_iter().map(|i| (i.number, i)).collect()
    }

    fn ids(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|e| e.task.id.as_str()).collect()
    }

    #[test]
    fn the_order_is_priority_then_milestone_then_number() {
        let all = issues(
            r#"[{"number":9,"title":"i","state":"OPEN","milestone":{"number":2,"title":"v2"}},
                {"number":8,"title":"h","state":"OPEN","milestone":null,"labels":[{"name":"Priority: High"}]},
                {"number":7,"title":"g","state":"OPEN"},
                {"number":6,"title":"f","state":"OPEN","labels":[{"name":"p0"},{"name":"bug"}]},
                {"number":5,"title":"e","state":"OPEN","milestone":{"number":2}}]"#,
        );
        let (entries, _) = entries(&all, &BTreeMap::new());
        assert_eq!(ids(&entries), ["GH-6", "GH-8", "GH-5", "GH-9", "GH-7"]);
        assert_eq!(entries[1].task.priority, Some(1));
    }

    #[test]
    fn labels_that_only_look_like_a_priority_are_none() {
        for (label, want) in [
            ("P2", Some(2)),
            ("priority/3", Some(3)),
            ("prio-low", Some(3)),
            ("priority", None),
            ("high", None),
            ("p10", None),
            ("python", None),
            ("7", None),
        ] {
            assert_eq!(priority(label), want, "{label}");
        }
    }

    #[test]
    fn a_dependency_waits_unless_it_is_closed() {
        let all = issues(
            r#"[{"number":1,"title":"a","state":"OPEN","body":"Depends on: #2, #3, #4, #5, other/repo#6"},
                {"number":2,"title":"b","state":"CLOSED"}]"#,
        );
        assert_eq!(unknown(&all), BTreeSet::from([3, 4, 5]));
        let other = |n: u64, state: &str| {
            let issue = Issue {
                number: n,
                title: "x".into(),
                state: state.into(),
                ..Issue::default()
            };
            (n, Some(issue))
        };
        let others = BTreeMap::from([other(3, "OPEN"), other(4, "CLOSED"), (5, None)]);
        let (entries, warnings) = entries(&all, &others);
        assert_eq!(ids(&entries), ["GH-1", "GH-2", "GH-3", "GH-5"]);
        assert_eq!(entries[0].task.depends_on, ["GH-2", "GH-3", "GH-5"]);
        assert!(warnings[0].contains("other/repo#6"), "{warnings:?}");
        let list = TaskList::of("x", entries, warnings).unwrap();
        let Selection::Nothing { open } = list.next(&|_| false) else {
            panic!("GH-1 waits")
        };
        assert!(open[0].1.contains("GH-3"), "{open:?}");
    }

    #[test]
    fn a_circle_is_named_and_no_issue_at_all_is_an_error() {
        let all = issues(
            r#"[{"number":1,"title":"a","state":"OPEN","body":"Depends on: #2"},
                {"number":2,"title":"b","state":"OPEN","body":"Depends on: #1"}]"#,
        );
        let (entries, _) = entries(&all, &BTreeMap::new());
        let error = TaskList::of("x", entries, Vec::new()).unwrap_err();
        assert!(error.contains("GH-1 → GH-2 → GH-1"), "{error}");
        assert!(TaskList::of("x", Vec::new(), Vec::new()).is_err());
    }

    #[test]
    fn labels_decide_what_is_a_task_and_pull_requests_never_are() {
        let all = issues(
            r#"[{"number":1,"state":"OPEN","labels":[{"name":"Ready"}],"url":"https://github.com/o/r/issues/1"},
                {"number":2,"state":"OPEN","labels":[{"name":"ready"},{"name":"later"}]},
                {"number":3,"state":"OPEN","labels":[{"name":"ready"}],"url":"https://github.com/o/r/pull/3"},
                {"number":4,"state":"OPEN"}]"#,
        );
        let tasks: Vec<u64> = all
            .values()
            .filter(|i| i.is_task("ready", &["later".to_owned()]))
            .map(|i| i.number)
            .collect();
        assert_eq!(tasks, [1]);
    }

    #[test]
    fn ids_name_numbers_and_nothing_else() {
        assert_eq!(number("GH-12"), Some(12));
        assert_eq!(number("gh-12"), Some(12));
        for odd in [
            "12",
            "GH-",
            "GH-0",
            "GH--1",
            "GH-+1",
            "GH-1 ",
            "é",
            "GH-9999999999999",
        ] {
            assert_eq!(number(odd), None, "{odd}");
        }
    }

    #[test]
    fn what_is_no_json_is_said() {
        for odd in ["", "<html>", "[{\"title\":\"x\"}]", "[1]"] {
            assert!(Issue::many(odd.as_bytes()).is_err(), "{odd}");
        }
        assert!(Issue::many(b"null").unwrap().is_empty());
        assert_eq!(Issue::many(b"{\"number\":3}").unwrap()[0].number, 3);
    }
}
