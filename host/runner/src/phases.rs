//! What is done in each phase of an iteration. Each function carries out one
//! effect and answers with the fact that came of it.

use std::sync::Arc;

use ralph_engine::Fact;
use ralph_engine::claim;
use ralph_engine::decide::Ruling;
use ralph_engine::fact::{Claim, IterationResult};
use ralph_engine::state::Current;
use ralph_engine::types::{AgentOutcome, Iteration, Role};
use ralph_workspace::Commit;

use crate::agent::{self, AgentCall};
use crate::clock;
use crate::deciding;
use crate::error::Error;
use crate::holding::is_protected;
use crate::journal::Syncing;
use crate::names::{Places, branch_name};
use crate::records::Finished;
use crate::run::{Loop, snapshot};
use crate::services::Looked;

impl Loop {
    pub(crate) fn current(&self) -> Result<&Current, Error> {
        self.state
            .current
            .as_ref()
            .ok_or_else(|| Error::Internal("no iteration is on".into()))
    }

    pub(crate) fn iteration(&self, role: Role, agent: &str) -> Result<Iteration, Error> {
        let c = self.current()?;
        Ok(Iteration {
            run_id: self
                .state
                .run
                .as_ref()
                .map(|r| r.id.clone())
                .unwrap_or_default(),
            number: c.number,
            attempt: c.attempt,
            agent: agent.to_owned(),
            role,
            workspace: self.s.project.ws.root().to_string_lossy().into_owned(),
            scratch: String::new(),
            task: Some(c.task.clone()),
        })
    }

    pub(crate) fn seed(&self) -> String {
        self.state
            .current
            .as_ref()
            .and_then(|c| c.prepared.as_ref())
            .map(|p| p.attempt_id.clone())
            .unwrap_or_default()
    }

    pub(crate) async fn prepare(&mut self) -> Result<Fact, Error> {
        let ahead = std::mem::take(&mut self.ahead);
        let c = self.current()?;
        let mut attempt_id = format!("{}-iter{:04}", clock::compact(), c.number);
        if let Some(worker) = &self.s.worker {
            attempt_id = format!("{attempt_id}-{worker}");
        }
        let places = Places::of(&c.task.id, &attempt_id);
        let begin = || self.s.source.begin(&c.task.id, &places);
        // What a tracker writes into the workspace is in the snapshot; a file's copy never is.
        let tracker = self.s.rules.mark_last;
        if tracker {
            self.unless_forced(begin()).await?;
        }
        let prompt_path = format!("{}/prompt.md", places.context);
        // While git looks at the files, what doesn't depend on them is done.
        let agent = self.s.worker_agent(&c.agent);
        let (now, prompt, (), (), begun) = tokio::join!(
            ahead.or_now(&self.s.git),
            self.canonical_prompt(c, &prompt_path, &attempt_id),
            agent.bound.plugin.warm(),
            agent.foresee(&self.s.project.ws),
            async {
                match tracker {
                    true => Ok(()),
                    false => begin().await,
                }
            },
        );
        begun?;
        let (now, (text, algorithm, fingerprint)) = (now?, prompt?);
        let base = match self.state.base.as_ref().filter(|b| b.task == c.task.id) {
            // What decides here what runs is as a person left it before this run, or the
            // run would have ended; the work is still measured against the older tree.
            Some(base) => {
                let mut base = snapshot(&base.snapshot)?;
                base.protected.clone_from(&now.protected);
                serde_json::to_value(&base).map_err(|e| Error::Internal(e.to_string()))?
            }
            None => serde_json::to_value(&now).map_err(|e| Error::Internal(e.to_string()))?,
        };
        let ws = &self.s.project.ws;
        ws.write_relaxed(&prompt_path, text.as_bytes())?;
        Ok(Fact::Prepared {
            attempt_id,
            fingerprint,
            algorithm,
            base,
            start_tree: now.tree,
        })
    }

    pub(crate) async fn run_agent(&mut self, announced: Syncing) -> Result<Vec<Fact>, Error> {
        let places = self.places()?;
        let ws = &self.s.project.ws;
        let prompt_path = format!("{}/prompt.md", places.context);
        let mut text = ws.read(&prompt_path, 64 << 20)?.unwrap_or_default();
        if self.taken_up {
            // A power cut may have taken what was written just before it.
            let c = self.current()?;
            let p = c.prepared.as_ref();
            let (_, now) = self.fingerprint(&self.seed(), &prompt_path, &text).await?;
            if p.is_some_and(|p| p.fingerprint != now) {
                text = self.whole_prompt(c)?.into_bytes();
                ws.write_relaxed(&prompt_path, &text)?;
            }
        }
        let prompt = String::from_utf8_lossy(&text).into_owned();
        let agent = self.s.worker_agent(&self.current()?.agent);
        let done = agent::call(AgentCall {
            agent,
            it: self.iteration(Role::Work, &agent.name)?,
            prompt: &prompt,
            seed: &self.seed(),
            log: &places.log(&agent.name, agent::suffix(Role::Work)),
            log_size: self.s.project.config.files.log_size.bytes(),
            tape: &places.tape("work"),
            ws,
            bus: &self.bus,
            stopping: &self.stopping,
            announced,
        })
        .await?;
        let claim = match &done.outcome {
            AgentOutcome::Finished { text } => claim::read(text, &self.s.words.tokens),
            _ => Claim::None,
        };
        let limit = self.limit_met(&agent.name, &done.outcome, false);
        let ended = Fact::AgentEnded {
            outcome: done.outcome,
            usage: done.usage,
            claim,
            code: done.code,
            plugin: agent.bound.plugin.digest().to_owned(),
            millis: done.millis,
            sandbox: done.sandbox,
            session: done.session,
        };
        let mut facts = vec![ended];
        facts.extend(limit);
        facts.push(clock::fact());
        Ok(facts)
    }

    pub(crate) async fn read_changes(&mut self) -> Result<Fact, Error> {
        let places = self.places()?;
        let c = self.current()?;
        let asking = self.s.source.claimed(&self.state.ids, &c.task.id, &places);
        let claimed = self.unless_forced(asking).await?;
        let base = snapshot(
            &c.prepared
                .as_ref()
                .map(|p| p.base.clone())
                .unwrap_or_default(),
        )?;
        let now = self.s.git.snapshot().await?;
        let changes = self.s.git.changes(&base, &now, &self.ignore()).await?;
        let fact = Fact::ChangesSeen {
            now: serde_json::to_value(&now).map_err(|e| Error::Internal(e.to_string()))?,
            tree: now.tree.clone(),
            files: u32::try_from(
                changes
                    .files
                    .iter()
                    .filter(|f| self.is_work(&f.path))
                    .count(),
            )
            .unwrap_or(u32::MAX),
            file_state: claimed.state,
            problems: claimed.problems,
            tampered: changes
                .protected
                .into_iter()
                .filter(|p| {
                    decides(p, self.taken_up)
                        || !self.taken_up && is_protected(&self.s.project.config.sandbox, p)
                })
                .collect(),
            rigged: deciding::rigged(&self.s.deciding, &changes.files, &self.current()?.task),
        };
        let files = Arc::new(changes.files);
        self.looked = Some(Arc::new(Looked {
            base,
            now,
            ignore: self.ignore(),
            files,
        }));
        Ok(fact)
    }

    /// Ralph's own records, the progress file wherever it is, are nobody's work; gates
    /// see changes to them all the same.
    fn is_work(&self, path: &str) -> bool {
        !path.starts_with(".ralph/")
            && !path.starts_with(".git/")
            && path != self.s.project.config.files.progress
    }

    /// What the iteration changed; looked at again after a resume.
    pub(crate) async fn looked(&mut self) -> Result<Arc<Looked>, Error> {
        if let Some(looked) = &self.looked {
            return Ok(looked.clone());
        }
        let c = self.current()?;
        let (Some(prepared), Some(seen)) = (&c.prepared, &c.seen) else {
            return Err(Error::Internal("the changes were not seen".into()));
        };
        let (base, now) = (snapshot(&prepared.base)?, snapshot(&seen.now)?);
        let files = Arc::new(self.s.git.changes(&base, &now, &self.ignore()).await?.files);
        let looked = Arc::new(Looked {
            base,
            now,
            ignore: self.ignore(),
            files,
        });
        self.looked = Some(looked.clone());
        Ok(looked)
    }

    pub(crate) async fn commit(&mut self) -> Result<Fact, Error> {
        let looked = self.looked().await?;
        let c = self.current()?;
        let attempt = self.seed();
        let title = ralph_engine::text::one_line(&c.task.title, 200);
        let subject = self
            .s
            .project
            .config
            .git
            .commit_message
            .replace("{task_id}", &c.task.id)
            .replace("{iteration}", &c.number.to_string())
            .replace("{agent}", &c.agent)
            .replace("{title}", &title);
        let message = format!(
            "{}\n\nRalph-Task: {}\nRalph-Agent: {}",
            subject.trim(),
            c.task.id,
            c.agent
        );
        // A worker's task file is not the project's.
        let extra = match self.s.worker {
            Some(_) => Vec::new(),
            None => self
                .s
                .source
                .file()
                .map(str::to_owned)
                .into_iter()
                .collect(),
        };
        let git = &self.s.git;
        let commit = async {
            Ok(git
                .commit(&looked.base, &looked.now, &extra, &message, &attempt)
                .await?)
        };
        // A hook may hang. What git has done by then is found again by the next start.
        Ok(match self.unless_forced_long_ago(commit).await? {
            Commit::Done { sha } => Fact::Committed {
                sha: Some(sha),
                note: None,
            },
            Commit::Nothing => Fact::Committed {
                sha: None,
                note: Some("there was nothing to commit".into()),
            },
            Commit::HookRefused { output } => Fact::CommitRefused { output },
            Commit::Conflict { sha, paths } => Fact::Committed {
                sha,
                note: Some(format!(
                    "left uncommitted, because they held changes of yours in the same places: {}",
                    paths.join(", ")
                )),
            },
        })
    }

    /// `[git] wip`: what wasn't accepted stands on a branch beside the user's. That it can't
    /// is no reason to end the run; the work is in the workspace as well.
    pub(crate) async fn keep_work(&mut self, ruling: &Ruling) {
        let git = &self.s.project.config.git;
        let wanted = git.wip && self.s.worker.is_none() && self.s.rules.commit;
        if !wanted || ruling.result != IterationResult::Rejected {
            return;
        }
        match self.work_kept(ruling).await {
            Ok(Some((branch, sha))) => self.bus.notice(format!(
                "what the attempt changed is kept as {} on the branch {branch}",
                sha.get(..10).unwrap_or(&sha)
            )),
            Ok(None) => {}
            Err(e) => self.bus.notice(format!(
                "what the attempt changed isn't kept on a branch: {e}"
            )),
        }
    }

    async fn work_kept(&mut self, ruling: &Ruling) -> Result<Option<(String, String)>, Error> {
        let looked = self.looked().await?;
        let c = self.current()?;
        let prefix = &self.s.project.config.git.branch_prefix;
        let branch = format!("{prefix}wip/{}", branch_name(&c.task.id));
        let message = format!(
            "wip: {} attempt {}, not accepted\n\n{}\n\nRalph-Task: {}\nRalph-Agent: {}",
            c.task.id, c.attempt, ruling.reason, c.task.id, c.agent
        );
        let kept = self
            .s
            .git
            .keep_work(&looked.base, &looked.now, &branch, &message);
        Ok(kept.await?.map(|sha| (branch, sha)))
    }

    pub(crate) fn close(&mut self, ruling: &Ruling) -> Result<(Vec<Fact>, bool), Error> {
        let files = self
            .looked
            .as_ref()
            .map(|l| l.files.clone())
            .unwrap_or_default();
        let c = self.current()?;
        let run = self
            .state
            .run
            .as_ref()
            .ok_or_else(|| Error::Internal("no run is on".into()))?;
        let mut written = Finished {
            run: &run.id,
            rules: &run.rules,
            current: c,
            lines: &self.lines,
            files: &files,
            result: ruling.result,
            reason: &ruling.reason,
            branch: self.looked.as_ref().and_then(|l| l.now.branch.as_deref()),
            pinned: self.s.project.pinned.as_ref(),
        }
        .write(&self.s.project.ws, &self.s.project.config.files.progress)?;
        let accepted = ruling.result == IterationResult::Accepted;
        let moved = match (&c.prepared, &c.seen) {
            (Some(p), Some(s)) => p.start_tree != s.tree,
            _ => false,
        };
        self.kept(&mut written.files)?;
        self.file.remember(&written.entry)?;
        let files = written.files;
        let ended = Fact::IterationEnded {
            result: ruling.result,
            reason: ruling.reason.clone(),
            progress: accepted || moved,
        };
        Ok((
            vec![clock::fact(), Fact::Recorded { files }, ended],
            accepted,
        ))
    }
}

/// Does this file decide what runs here, and can only the agent have changed it?
/// Once a person has started again after a death, that person may have mended
/// the configuration; only hooks stay suspect.
fn decides(path: &str, taken_up: bool) -> bool {
    path.starts_with(".git/hooks/")
        || !taken_up
            && (path.starts_with(".git/")
                || path.starts_with(".ralph/PROMPT")
                || matches!(path, "ralph.toml" | "ralph.lock" | ".ralph/ralph.toml"))
}
