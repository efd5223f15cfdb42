//! Issues of Beads, through `bd`.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use ralph_config::types::Tasks as Table;
use ralph_engine::tasks::tracker::beads::{self, Bead};
use ralph_engine::tasks::{Ids, NewTask, TaskList};
use ralph_engine::text;
use ralph_engine::types::TaskState;
use ralph_workspace::Workspace;

use super::held::Held;
use super::program::{Program, Said};
use super::{Claimed, Outcome, Source, Tasks};
use crate::error::Error;
use crate::names::Places;

/// Where bd keeps what it knows.
const DIR: &str = ".beads";
/// So many issues are asked for in one call.
const AT_ONCE: usize = 50;
/// A reason is cut to this many bytes.
const REASON_MAX: usize = 2000;

/// The issues that `bd` finds in the project.
pub struct BeadsSource {
    bd: Program,
}

impl BeadsSource {
    /// `bd` runs in the root of `ws`.
    pub fn new(ws: &Workspace, table: &Table) -> BeadsSource {
        BeadsSource {
            bd: Program {
                name: "bd",
                source: NAME.to_owned(),
                install: "install Beads (https://github.com/steveyegge/beads), or set [tasks] source",
                env: &[
                    "BEADS_DIR",
                    "BEADS_DB",
                    "BD_ACTOR",
                    "BEADS_ACTOR",
                    "BEADS_NO_DAEMON",
                ],
                set: &[("NO_COLOR", "1")],
                ws: ws.clone(),
                timeout: table.timeout,
            },
        }
    }

    async fn run(&self, args: &[&str]) -> Result<Said, Error> {
        let said = self.bd.run(args).await?;
        let lost = ["no beads database", "no .beads", "bd init", "not a beads"];
        if !said.ok && said.complains(&lost) {
            let words = text::one_line(&said.err, 300);
            return Err(self
                .bd
                .setup(words, "begin with `bd init` in the project's root"));
        }
        Ok(said)
    }

    async fn must(&self, args: &[&str]) -> Result<Said, Error> {
        let said = self.run(args).await?;
        match said.ok {
            true => Ok(said),
            false => Err(self.bd.failed(args, &said)),
        }
    }

    fn read(&self, args: &[&str], said: &Said) -> Result<Vec<Bead>, Error> {
        Bead::many(&said.out).map_err(|why| self.bd.garbage(args, &why, &said.out))
    }

    /// All issues, closed ones too.
    async fn all(&self) -> Result<Vec<Bead>, Error> {
        let args = ["list", "--all", "--limit", "0", "--json"];
        let said = self.run(&args).await?;
        if said.ok {
            return self.read(&args, &said);
        }
        if !said.complains(&["unknown flag"]) {
            return Err(self.bd.failed(&args, &said));
        }
        // Before it had `--all`, it listed all.
        let args = ["list", "--limit", "0", "--json"];
        let said = self.must(&args).await?;
        self.read(&args, &said)
    }

    /// One issue; none if there is no such.
    async fn show(&self, id: &str) -> Result<Option<Bead>, Error> {
        if !beads::is_id(id) {
            return Ok(None);
        }
        let args = ["show", id, "--json"];
        let said = self.run(&args).await?;
        let gone = said.complains(&["not found", "no issue"]);
        if !said.ok || said.out.trim_ascii().is_empty() {
            return match gone {
                true => Ok(None),
                false => Err(self.bd.failed(&args, &said)),
            };
        }
        Ok(self.read(&args, &said)?.into_iter().find(|b| b.id == id))
    }

    async fn status(&self, id: &str, status: &str) -> Result<(), Error> {
        self.must(&["update", id, "--status", status, "--json"])
            .await?;
        Ok(())
    }

    async fn blocked(
        &self,
        seen: &Bead,
        reason: Option<&str>,
        attempt: Option<&str>,
    ) -> Result<(), Error> {
        if seen.status != "blocked" {
            self.status(&seen.id, "blocked").await?;
        }
        let Some(reason) = reason else { return Ok(()) };
        let by = attempt.map_or_else(String::new, |a| format!(" (attempt {a})"));
        let comment = format!("ralph: blocked{by}: {}", text::head(reason, REASON_MAX));
        let told = attempt.is_some() && seen.comments.iter().flatten().any(|c| c.text == comment);
        if !told {
            self.must(&["comments", "add", &seen.id, &comment]).await?;
        }
        Ok(())
    }
}

const NAME: &str = "Beads issues";

#[async_trait]
impl Source for BeadsSource {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    fn file(&self) -> Option<&str> {
        None
    }

    fn own(&self) -> Vec<String> {
        vec![DIR.to_owned()]
    }

    async fn load(&self, ids: &Ids) -> Result<Tasks, Error> {
        let mut all = self.all().await?;
        let lacking: Vec<String> = all
            .iter()
            .filter(|b| b.lacks_links() && beads::is_id(&b.id))
            .map(|b| b.id.clone())
            .collect();
        for some in lacking.chunks(AT_ONCE) {
            let mut args = vec!["show"];
            args.extend(some.iter().map(String::as_str));
            args.push("--json");
            let said = self.must(&args).await?;
            for shown in self.read(&args, &said)? {
                if let Some(bead) = all.iter_mut().find(|b| b.id == shown.id) {
                    bead.dependencies = shown.dependencies;
                }
            }
        }
        let args = ["ready", "--limit", "0", "--json"];
        let said = self.must(&args).await?;
        let ready: BTreeSet<String> = self.read(&args, &said)?.into_iter().map(|b| b.id).collect();
        let (entries, warnings) = beads::entries(&all, &ready);
        if entries.is_empty() {
            let advice = "`bd create` or `ralph task add` makes one";
            return Err(self
                .bd
                .setup("there is no issue that is a task".to_owned(), advice));
        }
        let list = TaskList::of(NAME, entries, warnings)
            .map_err(|why| self.bd.setup(why, "mend the issues"))?;
        Ok(Tasks {
            list: Arc::new(list),
            ids: ids.clone(),
        })
    }

    async fn apply(&self, _ids: &Ids, id: &str, outcome: &Outcome) -> Result<bool, Error> {
        let Some(seen) = self.show(id).await? else {
            return Ok(false);
        };
        match outcome {
            Outcome::Open => {
                if seen.status != "open" {
                    self.status(id, "open").await?;
                }
            }
            Outcome::Done { commit, attempt } if !seen.is_closed() => {
                let reason = match (commit, attempt) {
                    (Some(commit), _) => format!("done by ralph in {commit}"),
                    (None, Some(_)) => "done by ralph; there is no commit of its own".to_owned(),
                    (None, None) => "marked as done with ralph task done".to_owned(),
                };
                self.must(&["close", id, "--reason", &reason, "--json"])
                    .await?;
            }
            Outcome::Done { .. } => {}
            Outcome::Blocked { reason, attempt } => {
                self.blocked(&seen, reason.as_deref(), attempt.as_deref())
                    .await?;
            }
        }
        Ok(true)
    }

    async fn add(&self, _ids: &Ids, new: &NewTask, after: Option<&str>) -> Result<String, Error> {
        super::plain(new, after)?;
        for id in &new.depends_on {
            if self.show(id).await?.is_none() {
                return Err(Error::Usage(format!("there is no task `{id}`")));
            }
        }
        let criteria = new.acceptance.join("\n");
        let depends = new.depends_on.join(",");
        let mut args = vec!["create", "--json"];
        for (option, value) in [("--acceptance", &criteria), ("--deps", &depends)] {
            if !value.is_empty() {
                args.extend([option, value]);
            }
        }
        args.extend(["--", &new.title]);
        let said = self.must(&args).await?;
        match self.read(&args, &said)?.into_iter().next() {
            Some(bead) if beads::is_id(&bead.id) => Ok(bead.id),
            _ => Err(self.bd.garbage(&args, "no issue", &said.out)),
        }
    }

    /// Others see that somebody is at it.
    async fn begin(&self, id: &str, _places: &Places) -> Result<(), Error> {
        if beads::is_id(id) {
            self.status(id, "in_progress").await?;
        }
        Ok(())
    }

    async fn claimed(&self, _ids: &Ids, id: &str, _places: &Places) -> Result<Claimed, Error> {
        let seen = self.show(id).await?;
        Ok(Claimed {
            state: match seen.map(|b| b.state()) {
                // Somebody's word meanwhile; the next choice will heed it.
                Some(TaskState::Blocked) | None => TaskState::Open,
                Some(state) => state,
            },
            problems: Vec::new(),
        })
    }

    fn beside(self: Arc<Self>, _ws: &Workspace) -> Arc<dyn Source> {
        Arc::new(Held::new(self))
    }
}
