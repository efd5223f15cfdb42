//! What an agent is told and what its words mean: prompt, template, specifications, claims.

use std::sync::Arc;

use ralph_config::Origins;
use ralph_config::types::Severity;
use ralph_engine::claim::Tokens;
use ralph_engine::prompt::{self, Budget};
use ralph_engine::state::Current;
use ralph_engine::template::Template;
use ralph_workspace::sha256_hex;

use crate::error::Error;
use crate::project::Project;
use crate::records;
use crate::redact;
use crate::run::Loop;
use crate::services::CallServices;

/// Where specifications are looked for when the configuration names no directory.
const SPEC_DIRS: [&str; 2] = [".ralph/specs", "specs"];
/// More files than these are not looked at.
const MAX_SPECS: usize = 1000;

/// What holds for every prompt of a run.
#[derive(Debug, Clone)]
pub struct Words {
    /// Opens it.
    pub header: Option<String>,
    /// Its path, and what it says.
    pub template: Option<(String, Template)>,
    /// How long its parts may be.
    pub budget: Budget,
    /// How an agent says that the task is done.
    pub tokens: Tokens,
}

impl Words {
    /// Reads header and template. Changes nothing.
    pub fn of(project: &Project) -> Result<Words, Error> {
        let config = &project.config;
        let template = match &config.files.template {
            None => None,
            Some(path) => {
                let text = project.text(path)?.unwrap_or_default();
                let template = Template::parse(&text)
                    .map_err(|e| broken(&project.origins, path, e.line, &e.message))?;
                Some((path.clone(), template))
            }
        };
        Ok(Words {
            header: project.prompt_header()?,
            template,
            budget: config.prompt.budget(),
            tokens: config.claims.tokens(),
        })
    }
}

fn broken(origins: &Origins, path: &str, line: Option<usize>, message: &str) -> Error {
    let place = line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"));
    let hint = Some("its variables: `ralph prompt --variables`".to_owned());
    let message = format!("the template can't be used: {place}: {message}");
    origins.error(&["files", "template"], message, hint).into()
}

impl Project {
    /// The specifications by path, each as far as `max` bytes can show it.
    pub(crate) fn specs(&self, max: usize) -> Result<Vec<(String, String)>, Error> {
        let dir = match &self.config.files.specs {
            Some(dir) => dir.trim_end_matches('/'),
            None => match SPEC_DIRS.into_iter().find(|d| self.is_dir(d)) {
                Some(dir) => dir,
                None => return Ok(Vec::new()),
            },
        };
        let mut specs = Vec::new();
        for name in self.ws.list(dir)?.into_iter().take(MAX_SPECS) {
            let path = format!("{dir}/{name}");
            if !name.ends_with(".md") || self.is_dir(&path) {
                continue;
            }
            // One byte more than is shown, so that what is left out is seen to be.
            let bytes = self.ws.read_start(&path, max as u64 + 4)?;
            let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
            specs.push((path, text.trim_start_matches('\u{feff}').to_owned()));
        }
        Ok(specs)
    }
}

impl Loop {
    /// The prompt, with what a person said meanwhile in front.
    pub(crate) fn whole_prompt(&self, c: &Current) -> Result<String, Error> {
        let prompt = self.prompt(c)?;
        if self.state.injected.is_empty() {
            return Ok(redact::text(prompt));
        }
        let mut text = String::from("## A person says, just now\n\n");
        for said in &self.state.injected {
            text.push_str(said);
            text.push_str("\n\n");
        }
        Ok(redact::text(text + &prompt))
    }

    /// The prompt, its canonical form's name and its hash in that form.
    pub(crate) async fn canonical_prompt(
        &self,
        c: &Current,
        path: &str,
        seed: &str,
    ) -> Result<(String, String, String), Error> {
        let text = self.whole_prompt(c)?;
        let (algorithm, hash) = self.fingerprint(seed, path, text.as_bytes()).await?;
        Ok((text, algorithm, hash))
    }

    /// The canonical form's name, and the prompt's hash in that form.
    pub(crate) async fn fingerprint(
        &self,
        seed: &str,
        path: &str,
        prompt: &[u8],
    ) -> Result<(String, String), Error> {
        let bound = &self.s.canonicaliser;
        let ctx = Arc::new(CallServices::plain("text", &self.bus, &self.stopping)).context(
            &bound.config,
            None,
            seed,
        );
        let algorithm = bound.plugin.algorithm(&ctx).await?;
        let canonical = bound.plugin.canonicalise(&ctx, path, prompt).await?;
        Ok((algorithm, format!("sha256:{}", sha256_hex(&canonical))))
    }

    fn prompt(&self, c: &Current) -> Result<String, Error> {
        let project = &self.s.project;
        let words = &self.s.words;
        let files = &project.config.files;
        let agents = project.text(&files.agents)?;
        let feedback = project.text(&files.feedback)?;
        let specs = project.specs(words.budget.specs)?;
        // One line more with each iteration, and only the newest are shown.
        let window = (words.budget.progress as u64).saturating_mul(2);
        let progress = records::tail(&project.ws, &files.progress, window)?;
        let warning = project.config.gates.iter();
        let warning: Vec<String> = warning
            .filter(|g| g.severity == Severity::Warn)
            .map(|g| g.name.clone())
            .collect();
        let input = prompt::Input {
            header: words.header.as_deref(),
            task: &c.task,
            attempt: (c.attempt, self.s.rules.max_attempts),
            record: self.state.tasks.get(&c.task.id),
            warned: &self.state.warned,
            gates: &self.s.rules.gates,
            warning: &warning,
            groups: &self.s.rules.groups,
            agent: &c.agent,
            agents: agents.as_deref().map(|t| (files.agents.as_str(), t)),
            specs: &specs,
            progress: progress.as_deref(),
            feedback: feedback.as_deref(),
            tokens: &words.tokens,
            budget: &words.budget,
        };
        match &words.template {
            None => Ok(prompt::build(&input)),
            Some((path, template)) => template
                .fill(&input)
                .map_err(|e| broken(&project.origins, path, e.line, &e.message)),
        }
    }
}
