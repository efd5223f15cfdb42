//! `GET /stats`: the last 24 hours.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Shared;
use crate::auth::Action;
use crate::caller::{Asked, Caller};
use crate::problem::Problem;
use crate::store::{Status, Wanted};

const TOP: usize = 10;

/// Of the runs that were submitted in the last 24 hours.
#[derive(Serialize, JsonSchema)]
pub struct Stats {
    /// From when on, RFC 3339.
    since: String,
    /// How many.
    runs: u64,
    /// By where they stand.
    by_status: BTreeMap<&'static str, u64>,
    /// Which part of those that ended by themselves completed; null if none did.
    pass_rate: Option<f64>,
    /// Of those that ended.
    mean_attempts: Option<f64>,
    /// Of those that have one.
    mean_convergence_score: Option<f64>,
    /// Prompts whose runs didn't complete most often.
    top_failing_prompts: Vec<FailingPrompt>,
}

/// A prompt whose runs didn't complete.
#[derive(Serialize, JsonSchema)]
pub struct FailingPrompt {
    workspace: String,
    prompt_path: String,
    failed: u64,
    runs: u64,
}

#[derive(Default)]
struct Mean(f64, u64);

impl Mean {
    fn add(&mut self, value: f64) {
        (self.0, self.1) = (self.0 + value, self.1 + 1);
    }

    fn get(&self) -> Option<f64> {
        (self.1 > 0).then(|| self.0 / self.1 as f64)
    }
}

/// Of which runs.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatsQuery {
    /// Of this workspace.
    pub workspace: Option<String>,
}

/// `GET /stats`
pub async fn stats(
    State(app): State<Shared>,
    caller: Caller,
    Asked(query): Asked<StatsQuery>,
) -> Result<Json<Stats>, Problem> {
    caller.may(Action::Read)?;
    if let Some(slug) = &query.workspace {
        super::runs::workspace(&app, &caller, slug).await?;
    }
    let since = Timestamp::now() - SignedDuration::from_hours(24);
    let since = format!("{since:.6}");
    let mut wanted = Wanted {
        scope: caller.scope().clone(),
        workspace: query.workspace,
        status: None,
        since: Some(since.clone()),
        until: None,
        before: None,
        limit: 500,
    };
    let (mut passed, mut attempts, mut score) = (Mean::default(), Mean::default(), Mean::default());
    let mut by_status = BTreeMap::new();
    let mut prompts: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    let mut runs = 0;
    loop {
        let (page, next) = app.store.runs(&wanted).await?;
        for run in page {
            runs += 1;
            *by_status.entry(run.status.word()).or_default() += 1;
            if !run.status.is_terminal() {
                continue;
            }
            attempts.add(f64::from(run.attempts));
            if let Some(value) = run.convergence_score {
                score.add(value);
            }
            if run.status == Status::Cancelled {
                continue;
            }
            let completed = run.status == Status::Completed;
            passed.add(f64::from(u8::from(completed)));
            if let Some(path) = run.prompt_path {
                let (failed, all) = prompts.entry((run.workspace, path)).or_default();
                *failed += u64::from(!completed);
                *all += 1;
            }
        }
        match next {
            Some(before) => wanted.before = Some(before),
            None => break,
        }
    }
    let mut failing: Vec<FailingPrompt> = prompts
        .into_iter()
        .filter(|(_, (failed, _))| *failed > 0)
        .map(|((workspace, prompt_path), (failed, runs))| FailingPrompt {
            workspace,
            prompt_path,
            failed,
            runs,
        })
        .collect();
    failing.sort_by_key(|p| std::cmp::Reverse(p.failed));
    failing.truncate(TOP);
    Ok(Json(Stats {
        since,
        runs,
        by_status,
        pass_rate: passed.get(),
        mean_attempts: attempts.get(),
        mean_convergence_score: score.get(),
        top_failing_prompts: failing,
    }))
}
