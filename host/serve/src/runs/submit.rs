//! A submission: checked, recorded, kept, queued.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ralph_engine::text::one_line;
use ralph_prompts::PromptError;
use ralph_runner::registry::agent_names;
use ralph_runner::{Error, Project, Trust, clock};
use ralph_workspace::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Shared;
use crate::audit::{Event, kinds};
use crate::caller::{Caller, object};
use crate::events::live::Live;
use crate::problem::Problem;
use crate::routes::prompts;
use crate::store::{Idempotency, Run, RunConfig, Status, Submitted};

/// Where the prompt of a run is, below its own directory of the service.
pub(super) const PROMPT: &str = "prompt";

/// What a client wants done.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitRun {
    /// The workspace.
    #[serde(alias = "workspace")]
    #[schemars(example = &"site")]
    pub workspace_slug: String,
    /// A prompt of the workspace: `prompts/….yaml`.
    #[serde(default)]
    pub prompt_path: Option<String>,
    /// The prompt as the client knows it; refused if the saved one is another.
    #[serde(default)]
    pub prompts_yaml: Option<String>,
    /// The prompt's fingerprint as the client knows it; refused if the saved one is another.
    #[serde(default)]
    pub prompt_fingerprint: Option<String>,
    /// What the run does otherwise than the workspace's `ralph.toml` says.
    #[serde(default, deserialize_with = "object")]
    pub config: RunConfig,
}

/// Takes a submission; true if it is new.
///
/// # Errors
/// It can't be taken: nothing was changed.
pub async fn submit(
    app: &Shared,
    caller: &Caller,
    wanted: SubmitRun,
    key: Option<String>,
) -> Result<(Run, bool), Problem> {
    if app.is_draining() {
        return Err(Problem::unavailable(
            "draining",
            "the service is about to end",
        ));
    }
    ranges(&wanted.config)?;
    let key = key.map(|key| Idempotency {
        whose: caller.name().to_owned(),
        key,
        digest: sha256_hex(serde_json::to_vec(&wanted).unwrap_or_default()),
    });
    // Whoever hasn't heard the answer asks again, and meanwhile the prompt may be another one.
    if let Some(key) = &key
        && let Some(former) = app.store.submitted(key).await?
        && let Some(run) = repeated(app, former)?
    {
        return Ok((run, false));
    }
    let path = app.workspace(&wanted.workspace_slug)?.path.clone();
    let asked = wanted.clone();
    let looked = tokio::task::spawn_blocking(move || look(&path, &asked)).await;
    looked.map_err(Problem::internal)??;
    let prompt = pin(app, &wanted).await?;
    if app.queue.waiting().await? >= u64::from(app.settings.serve.max_queued) {
        let detail = "too many runs wait already ([serve] max_queued)";
        return Err(Problem::unavailable("queue-full", detail));
    }
    let mut random = [0; 4];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(Problem::internal)?;
    let id = format!(
        "run-{}-{:08x}",
        clock::compact(),
        u32::from_be_bytes(random)
    );
    let run = Run {
        run_id: id.clone(),
        workspace: wanted.workspace_slug,
        status: Status::Queued,
        actor: caller.actor.clone(),
        prompt_path: wanted.prompt_path,
        prompt_fingerprint: prompt.as_ref().map(|p| p.fingerprint.clone()),
        config: wanted.config,
        created_at: clock::now(),
        started_at: None,
        ended_at: None,
        duration_s: None,
        reason: None,
        error: None,
        early_stop_reason: None,
        convergence_score: None,
        attempts: 0,
        branch: None,
        base: None,
        cancel_reason: None,
        prompt_changed: None,
    };
    let event = Event::new(kinds::SUBMITTED, &run.workspace)
        .by(&run.actor)
        .with("run_id", id)
        .with("prompt_path", run.prompt_path.clone())
        .with("prompt_fingerprint", run.prompt_fingerprint.clone());
    let intent = app.audit.intend(event).await?;
    let kept = keep(app, &run, prompt, key).await;
    let mut more = serde_json::Map::new();
    if let Ok((former, false)) = &kept {
        more.insert("repeats".into(), former.run_id.clone().into());
    }
    app.audit
        .outcome_with(intent, kept.as_ref().err(), more)
        .await;
    kept
}

async fn keep(
    app: &Shared,
    run: &Run,
    prompt: Option<Prompt>,
    key: Option<Idempotency>,
) -> Result<(Run, bool), Problem> {
    let own = super::tree::dir(app, &run.run_id);
    if let Some(prompt) = prompt {
        let dir = own.clone();
        let written = tokio::task::spawn_blocking(move || write(&dir, &prompt.bytes)).await;
        let written = written.unwrap_or_else(|e| Err(std::io::Error::other(e)));
        if let Err(e) = written {
            let _ = std::fs::remove_dir_all(own);
            return Err(Problem::internal(e));
        }
    }
    // Whoever asks for its events finds it as soon as it is there.
    let live = Arc::new(Live::new(0));
    app.runs.lives().insert(run.run_id.clone(), live);
    let submitted = app.store.submit(run, key.as_ref()).await;
    if !matches!(submitted, Ok(Submitted::New)) {
        app.runs.lives().remove(&run.run_id);
        let _ = std::fs::remove_dir_all(own);
    }
    if let Some(former) = repeated(app, submitted?)? {
        return Ok((former, false));
    }
    // It is taken by now, and stays so whatever the disk says.
    if let Err(e) = app.queue.push(&run.run_id).await {
        tracing::error!("{} isn't in the queue yet: {e}", run.run_id);
        tokio::spawn(queue_later(app.clone(), run.run_id.clone()));
    }
    Ok((run.clone(), true))
}

/// The run that was submitted under the same key before; `None` if it is new.
fn repeated(app: &Shared, submitted: Submitted) -> Result<Option<Run>, Problem> {
    match submitted {
        Submitted::New => Ok(None),
        Submitted::Repeated(mut run) => {
            app.look(&mut run);
            Ok(Some(*run))
        }
        Submitted::Differs => Err(Problem::unprocessable(
            "idempotency-key",
            "something else was submitted under this key before",
        )),
    }
}

async fn queue_later(app: Shared, id: String) {
    while super::again(&app).await {
        match app.queue.push(&id).await {
            Ok(()) => return,
            Err(e) => tracing::error!("{id} isn't in the queue yet: {e}"),
        }
    }
}

/// The prompt of a run, on the disk before the run is.
fn write(dir: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let mut file = std::fs::File::create(dir.join(PROMPT))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    for dir in dir.ancestors().take(2) {
        std::fs::File::open(dir)?.sync_all()?;
    }
    Ok(())
}

fn ranges(config: &RunConfig) -> Result<(), Problem> {
    let beyond = |name: &str, n: Option<u32>, most: u32| match n {
        Some(n) if n == 0 || n > most => Err(Problem::unprocessable(
            "invalid",
            format!("config.{name} is from 1 to {most}"),
        )),
        _ => Ok(()),
    };
    beyond("max_iterations", config.max_iterations, 100_000)?;
    beyond("parallel", config.parallel, 64)
}

/// The prompt as it is saved.
struct Prompt {
    bytes: Vec<u8>,
    /// Of its content, and what its sidecar says if it has one.
    fingerprint: String,
}

/// Could the workspace's configuration run?
fn look(path: &Path, wanted: &SubmitRun) -> Result<(), Problem> {
    let project = Project::open(path).map_err(unfit)?;
    Trust::of(&project)
        .and_then(|t| t.demand())
        .map_err(unfit)?;
    let (config, asked) = (&project.config, &wanted.config);
    let unknown = |what: &str, name: &str, there: String| {
        let shown = one_line(name, 60);
        Problem::unprocessable(
            "invalid",
            format!(
                "config.{what}: there is no {what} `{shown}` in the workspace; there are {there}"
            ),
        )
    };
    let agents = agent_names(config);
    if let Some(agent) = asked.agent.as_ref().filter(|a| !agents.contains(a)) {
        return Err(unknown("agent", agent, agents.join(", ")));
    }
    if let Some(mode) = asked.mode.as_ref().filter(|m| config.mode(m).is_none()) {
        return Err(unknown("mode", mode, config.mode_names().join(", ")));
    }
    let said = wanted.prompt_fingerprint.is_some() || wanted.prompts_yaml.is_some();
    if said && wanted.prompt_path.is_none() {
        let detail =
            "prompt_fingerprint and prompts_yaml say something of prompt_path, which is missing";
        return Err(Problem::unprocessable("invalid", detail));
    }
    Ok(())
}

/// The prompt as it is now, which is what the run gets whatever becomes of the file. One that isn't
/// as its fingerprint says is refused: the run would be recorded with what it wasn't given.
async fn pin(app: &Shared, wanted: &SubmitRun) -> Result<Option<Prompt>, Problem> {
    let Some(path) = &wanted.prompt_path else {
        return Ok(None);
    };
    let Some(below) = path.strip_prefix("prompts/") else {
        return Err(Problem::unprocessable(
            "path",
            "prompt_path is below `prompts/`",
        ));
    };
    let store = prompts::store(app, &wanted.workspace_slug).await?;
    let read = store.read_prompt(below).await.map_err(|e| match e {
        PromptError::Absent(_) => Problem::unprocessable("prompt", "there is no such prompt"),
        e => prompts::problem(e),
    })?;
    let stored = read.fingerprint_stored.as_ref().map(|f| f.to_string());
    let computed = read.fingerprint_computed.as_ref().map(|f| f.to_string());
    let both = |problem: Problem| {
        problem
            .with("fingerprint_stored", stored.clone())
            .with("fingerprint_computed", computed.clone())
            .with("fingerprint_expected", wanted.prompt_fingerprint.clone())
    };
    let expected = &wanted.prompt_fingerprint;
    let same = |text: &String| text.parse().is_ok_and(|fingerprint| read.is(&fingerprint));
    let differs = expected.as_ref().is_some_and(|text| !same(text));
    let other = wanted
        .prompts_yaml
        .as_ref()
        .is_some_and(|text| *text != read.content);
    if differs || other {
        let detail = "the saved prompt isn't the one that the client knows; read it again";
        return Err(both(Problem::conflict("prompt-changed", detail)));
    }
    read.fit().map_err(prompts::problem)?;
    match computed.clone() {
        Some(fingerprint) if read.status != ralph_prompts::Status::Tampered => Ok(Some(Prompt {
            bytes: read.content.into_bytes(),
            fingerprint,
        })),
        Some(_) => {
            let detail =
                "the saved prompt isn't as its fingerprint says; look at it, and save it again";
            Err(both(Problem::conflict("prompt-tampered", detail)))
        }
        None => Err(Problem::unprocessable(
            "prompt",
            read.problem.unwrap_or_default(),
        )),
    }
}

fn unfit(e: Error) -> Problem {
    match e {
        Error::Untrusted(count) => Problem::conflict(
            "workspace-untrusted",
            format!(
                "the workspace's configuration isn't trusted: it can run or reach {count} things. The operator looks at them with `ralph trust` there"
            ),
        ),
        e if e.exit_code() == 3 => Problem::unprocessable("workspace", e.to_string()),
        e => Problem::internal(e),
    }
}
