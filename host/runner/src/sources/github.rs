//! GitHub issues, through `gh`.
//!
//! With a label, `gh issue list` asks GitHub's search, whose index lags behind; what an issue's fields
//! say doesn't. So an issue's state is read from the issue, never concluded from the list it stands in,
//! and those that this process has written to are asked for by number if a list lacks them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ralph_config::types::Tasks as Table;
use ralph_engine::prompt;
use ralph_engine::tasks::tracker::github::{self, BLOCKED, Issue};
use ralph_engine::tasks::{Ids, NewTask, TaskList};
use ralph_engine::text;
use ralph_engine::types::TaskState;
use ralph_workspace::Workspace;

use super::gh::{ALL_FIELDS, FEW_FIELDS, FIELDS, Gh};
use super::held::Held;
use super::{Claimed, Outcome, Source, Tasks};
use crate::error::Error;
use crate::names::Places;

/// So many issues that others wait for are asked for one by one.
const ASKED_MAX: usize = 100;
/// A reason in a comment is cut to this many bytes.
const REASON_MAX: usize = 2000;

/// The issues of one repository.
pub struct GithubSource {
    gh: Gh,
    table: Table,
    /// Numbers of issues that this process has written to.
    touched: Mutex<BTreeSet<u64>>,
}

impl GithubSource {
    /// `gh` runs in the root of `ws`.
    pub fn new(ws: &Workspace, table: &Table) -> GithubSource {
        GithubSource {
            gh: Gh::new(ws, table, describe(table)),
            table: table.clone(),
            touched: Mutex::default(),
        }
    }

    fn touched(&self) -> std::sync::MutexGuard<'_, BTreeSet<u64>> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn done(
        &self,
        seen: &Issue,
        commit: Option<&str>,
        attempt: Option<&str>,
    ) -> Result<(), Error> {
        let number = seen.number.to_string();
        self.unmark(seen).await?;
        let mark = attempt.map(|a| marker("done", a));
        let told = mark.as_ref().is_some_and(|m| says(seen, m));
        let work = match (commit, attempt) {
            (Some(commit), _) => format!("Done by ralph in {commit}."),
            (None, Some(_)) => "Done by ralph; there is no commit of its own.".to_owned(),
            (None, None) => "Marked as done with `ralph task done`.".to_owned(),
        };
        let comment = format!("{work}{}", mark.unwrap_or_default());
        if seen.is_closed() {
            // By somebody else meanwhile, who can't have said where the work is.
            if attempt.is_some() && !told {
                self.gh
                    .must(&["issue", "comment", &number, "--body", &comment])
                    .await?;
            }
        } else if told {
            self.gh.must(&["issue", "close", &number]).await?;
        } else {
            self.gh
                .must(&["issue", "close", &number, "--comment", &comment])
                .await?;
        }
        Ok(())
    }

    async fn blocked(
        &self,
        seen: &Issue,
        reason: Option<&str>,
        attempt: Option<&str>,
    ) -> Result<(), Error> {
        let number = seen.number.to_string();
        let mark = attempt.map(|a| marker("blocked", a));
        let told = mark.as_ref().is_some_and(|m| says(seen, m));
        if seen.is_closed() {
            self.gh.must(&["issue", "reopen", &number]).await?;
        }
        if !seen.has(BLOCKED) {
            let add = ["issue", "edit", &number, "--add-label", BLOCKED];
            let said = self.gh.run(&add).await?;
            if !said.ok && said.complains(&["not found"]) {
                self.gh.make_label().await?;
                self.gh.must(&add).await?;
            } else if !said.ok {
                return Err(self.gh.program.failed(&add, &said));
            }
        }
        if let Some(reason) = reason.filter(|_| !told) {
            // Quoted, so that no name in it calls anybody.
            let quoted = prompt::fenced(&text::head(reason, REASON_MAX));
            let comment = format!(
                "Blocked by ralph:\n\n{quoted}\n\nTake the label `{BLOCKED}` off when it may be tried again.{}",
                mark.unwrap_or_default()
            );
            self.gh
                .must(&["issue", "comment", &number, "--body", &comment])
                .await?;
        }
        Ok(())
    }

    async fn unmark(&self, seen: &Issue) -> Result<(), Error> {
        if seen.has(BLOCKED) {
            let number = seen.number.to_string();
            self.gh
                .must(&["issue", "edit", &number, "--remove-label", BLOCKED])
                .await?;
        }
        Ok(())
    }

    fn warnings(&self, open: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.table.label.is_empty() {
            warnings.push(
                "without [tasks] label every open issue is a task, whoever wrote it".to_owned(),
            );
        }
        if open >= usize::try_from(self.table.limit).unwrap_or(usize::MAX) {
            let limit = self.table.limit;
            warnings.push(format!(
                "only the newest {limit} open issues were read; [tasks] limit says how many"
            ));
        }
        warnings
    }
}

#[async_trait]
impl Source for GithubSource {
    fn describe(&self) -> String {
        describe(&self.table)
    }

    fn file(&self) -> Option<&str> {
        None
    }

    fn own(&self) -> Vec<String> {
        Vec::new()
    }

    async fn load(&self, ids: &Ids) -> Result<Tasks, Error> {
        let open = self.gh.issues("open", FIELDS).await?;
        let mut warnings = self.warnings(open.len());
        let mut issues: BTreeMap<u64, Issue> = open.into_iter().map(|i| (i.number, i)).collect();
        for issue in self.gh.issues("closed", FEW_FIELDS).await? {
            // Closed between the two questions, if it is in both.
            issues.insert(issue.number, issue);
        }
        let mut missing = self.touched().clone();
        missing.retain(|n| !issues.contains_key(n));
        for number in missing {
            if let Some(issue) = self.gh.view(number, FIELDS).await? {
                issues.insert(number, issue);
            }
        }
        issues.retain(|_, i| i.is_task(&self.table.label, &self.table.exclude_labels));
        let mut others = BTreeMap::new();
        for number in github::unknown(&issues).into_iter().take(ASKED_MAX) {
            others.insert(number, self.gh.view(number, FEW_FIELDS).await?);
        }
        let (entries, more) = github::entries(&issues, &others);
        warnings.extend(more);
        if entries.is_empty() {
            let which = match self.table.label.is_empty() {
                true => "there is no issue, open or closed".to_owned(),
                false => format!(
                    "there is no issue with the label `{}`, open or closed",
                    self.table.label
                ),
            };
            return Err(self
                .gh
                .program
                .setup(which, "see [tasks] repo and label in ralph.toml"));
        }
        let list = TaskList::of(&self.describe(), entries, warnings)
            .map_err(|why| self.gh.program.setup(why, "mend the issues"))?;
        Ok(Tasks {
            list: Arc::new(list),
            ids: ids.clone(),
        })
    }

    async fn apply(&self, _ids: &Ids, id: &str, outcome: &Outcome) -> Result<bool, Error> {
        let Some(number) = github::number(id) else {
            return Ok(false);
        };
        self.touched().insert(number);
        let Some(seen) = self.gh.view(number, ALL_FIELDS).await? else {
            self.touched().remove(&number);
            return Ok(false);
        };
        match outcome {
            Outcome::Open => {
                if seen.is_closed() {
                    self.gh
                        .must(&["issue", "reopen", &number.to_string()])
                        .await?;
                }
                self.unmark(&seen).await?;
            }
            Outcome::Done { commit, attempt } => {
                self.done(&seen, commit.as_deref(), attempt.as_deref())
                    .await?;
            }
            Outcome::Blocked { reason, attempt } => {
                self.blocked(&seen, reason.as_deref(), attempt.as_deref())
                    .await?;
            }
        }
        Ok(true)
    }

    async fn add(&self, ids: &Ids, new: &NewTask, after: Option<&str>) -> Result<String, Error> {
        super::plain(new, after)?;
        let mut body = String::new();
        for id in &new.depends_on {
            let Some(number) = github::number(id) else {
                return Err(Error::Usage(format!(
                    "`{id}` is no issue; one is called GH-12"
                )));
            };
            body.push_str(&format!("Depends on: #{number}\n"));
        }
        if !new.depends_on.is_empty() {
            let tasks = self.load(ids).await?.list;
            if let Some(id) = new.depends_on.iter().find(|id| tasks.get(id).is_none()) {
                return Err(Error::Usage(format!("there is no task `{id}`")));
            }
        }
        if !new.acceptance.is_empty() {
            body.push_str("\n## Acceptance criteria\n\n");
        }
        for criterion in &new.acceptance {
            body.push_str(&format!("- [ ] {criterion}\n"));
        }
        let mut args = vec![
            "issue",
            "create",
            "--title",
            &new.title,
            "--body",
            body.trim(),
        ];
        if !self.table.label.is_empty() {
            args.extend(["--label", &self.table.label]);
        }
        let said = self.gh.must(&args).await?;
        let out = String::from_utf8_lossy(&said.out);
        // The issue's address is the last it prints.
        let last = out.trim().rsplit('/').next().unwrap_or_default();
        let id = format!("GH-{last}");
        let Some(number) = github::number(&id) else {
            return Err(self
                .gh
                .program
                .garbage(&args, "no address of an issue", &said.out));
        };
        self.touched().insert(number);
        Ok(id)
    }

    async fn begin(&self, _id: &str, _places: &Places) -> Result<(), Error> {
        Ok(())
    }

    /// Closed by the agent is a claim, and is taken back if the work isn't accepted. A label that
    /// somebody put on meanwhile is left for the next choice.
    async fn claimed(&self, _ids: &Ids, id: &str, _places: &Places) -> Result<Claimed, Error> {
        let seen = match github::number(id) {
            Some(number) => self.gh.view(number, "number,state").await?,
            None => None,
        };
        Ok(Claimed {
            state: match seen.is_some_and(|i| i.is_closed()) {
                true => TaskState::Done,
                false => TaskState::Open,
            },
            problems: Vec::new(),
        })
    }

    fn beside(self: Arc<Self>, _ws: &Workspace) -> Arc<dyn Source> {
        Arc::new(Held::new(self))
    }
}

fn describe(table: &Table) -> String {
    let of = match table.repo.as_str() {
        "" => String::new(),
        repo => format!(" of {repo}"),
    };
    let with = match table.label.as_str() {
        "" => String::new(),
        label => format!(" with the label {label}"),
    };
    format!("GitHub issues{of}{with}")
}

/// What tells a comment of ours: nobody sees it.
fn marker(what: &str, attempt: &str) -> String {
    format!("\n\n<!-- ralph:{what}:{attempt} -->")
}

fn says(issue: &Issue, marker: &str) -> bool {
    issue
        .comments
        .iter()
        .any(|c| c.body.contains(marker.trim()))
}
