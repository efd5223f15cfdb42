//! A project as it stands on disk, before anything runs: root, configuration, task file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_config::types::TaskSource;
use ralph_config::{Config, Loaded, Origins};
use ralph_engine::tasks::Ids;
use ralph_workspace::Workspace;

use crate::error::Error;
use crate::sources::beads::BeadsSource;
use crate::sources::file::FileSource;
use crate::sources::github::GithubSource;
use crate::sources::plugin::PluginSource;
use crate::sources::{Source, Tasks};
use crate::trust::Trust;

/// Where a configuration may stand below the root; later ones are laid over earlier ones.
pub const CONFIG_PATHS: [&str; 2] = [".ralph/ralph.toml", "ralph.toml"];
/// Where a task file is looked for when the configuration names none.
pub const TASK_PATHS: [&str; 9] = [
    ".ralph/PRD.md",
    "PRD.md",
    "prd.json",
    ".ralph/prd.json",
    "IMPLEMENTATION_PLAN.md",
    "TASKS.md",
    "tasks.yaml",
    "tasks.yml",
    ".ralph/tasks.yaml",
];
/// Where directories with a `prd.json` each are looked for when there is no other task file.
const TASK_DIRS: &str = "tasks";
/// Where the text that opens a prompt is looked for when the configuration names none.
pub const PROMPT_PATHS: [&str; 4] = [
    ".ralph/PROMPT_build.md",
    ".ralph/PROMPT.md",
    "PROMPT_build.md",
    "PROMPT.md",
];

/// A configuration file may be this big.
const CONFIG_MAX: u64 = 1 << 20;

/// An opened project.
#[derive(Clone)]
pub struct Project {
    /// The guard over its files.
    pub ws: Workspace,
    /// What holds.
    pub config: Config,
    /// What a person should know about the configuration.
    pub warnings: Vec<String>,
    /// Where in the configuration files things stand.
    pub origins: Origins,
    /// Does any configuration file exist?
    pub configured: bool,
    /// A person has accepted, for this once, what the configuration can run.
    pub accepted: bool,
    /// The prompt that its runs are given, if it is pinned: it stands in every receipt.
    pub pinned: Option<Pinned>,
}

/// A prompt and what it was when the run was submitted.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Pinned {
    /// Relative to the root of the workspace that it is of.
    pub path: String,
    /// `sha256:…` or `blake3:…` of its canonical form.
    pub fingerprint: String,
}

impl Project {
    /// Opens the project that `start` is in. Changes nothing.
    pub fn open(start: &Path) -> Result<Project, Error> {
        let ws = Workspace::open(&ralph_workspace::find_root(start)?)?;
        let mut sources = Vec::new();
        for path in CONFIG_PATHS {
            if let Some(bytes) = ws.read(path, CONFIG_MAX)? {
                sources.push(source(path, bytes)?);
            }
        }
        if let Some(path) = std::env::var_os("RALPH_CONFIG").filter(|p| !p.is_empty()) {
            let path = PathBuf::from(path);
            let bytes = std::fs::read(ws.root().join(&path)).map_err(|e| {
                Error::Usage(format!(
                    "RALPH_CONFIG names {}, which can't be read: {e}",
                    path.display()
                ))
            })?;
            sources.push(source(&path.display().to_string(), bytes)?);
        }
        let configured = !sources.is_empty();
        let loaded = ralph_config::load(&sources)?;
        if let Some(missing) = ralph_config::missing_files(&loaded, &|path| ws.exists(path)) {
            return Err(missing.into());
        }
        let Loaded {
            config,
            warnings,
            origins,
        } = loaded;
        let mut project = Project {
            ws,
            config,
            warnings,
            origins,
            configured,
            accepted: false,
            pinned: None,
        };
        project.directory()?;
        Ok(project)
    }

    /// The form `tasks/<name>/`: `prd.json` there is the task file, and `progress.txt` beside it
    /// takes the progress, unless the configuration names another file.
    fn directory(&mut self) -> Result<(), Error> {
        if self.config.tasks.source != TaskSource::File {
            return Ok(());
        }
        let dir = match &self.config.files.tasks {
            Some(path) if self.is_dir(path) => path.trim_end_matches('/').to_owned(),
            Some(_) => return Ok(()),
            None if TASK_PATHS.into_iter().any(|p| self.ws.exists(p)) => return Ok(()),
            None => match self.task_dirs()?.as_slice() {
                [one] => one.clone(),
                _ => return Ok(()),
            },
        };
        let tasks = format!("{dir}/prd.json");
        if !self.ws.exists(&tasks) {
            let message = format!("the directory {dir} has no prd.json");
            let error = self.origins.error(&["files", "tasks"], message, None);
            return Err(error.into());
        }
        self.config.files.tasks = Some(tasks);
        if !self.origins.is_set(&["files", "progress"]) {
            self.config.files.progress = format!("{dir}/progress.txt");
        }
        Ok(())
    }

    pub(crate) fn is_dir(&self, path: &str) -> bool {
        self.ws.dir().metadata(path).is_ok_and(|m| m.is_dir())
    }

    /// Directories below `tasks/` that have a `prd.json`, by name.
    fn task_dirs(&self) -> Result<Vec<String>, Error> {
        if !self.is_dir(TASK_DIRS) {
            return Ok(Vec::new());
        }
        let dirs = self.ws.list(TASK_DIRS)?;
        Ok(dirs
            .into_iter()
            .map(|name| format!("{TASK_DIRS}/{name}"))
            .filter(|dir| self.ws.exists(&format!("{dir}/prd.json")))
            .collect())
    }

    /// Path of the task file, relative to the root.
    pub fn task_path(&self) -> Result<String, Error> {
        if let Some(path) = &self.config.files.tasks {
            return Ok(path.clone());
        }
        if let Some(path) = TASK_PATHS.into_iter().find(|p| self.ws.exists(p)) {
            return Ok(path.to_owned());
        }
        let dirs = self.task_dirs()?;
        Err(Error::Usage(if dirs.is_empty() {
            format!(
                "there is no task file: looked for {} and {TASK_DIRS}/*/prd.json. `ralph init` writes one; [files] tasks in ralph.toml names another.",
                TASK_PATHS.join(", ")
            )
        } else {
            format!(
                "there are several task directories: {}. [files] tasks in ralph.toml says which.",
                dirs.join(", ")
            )
        }))
    }

    /// Where its tasks come from. Nothing is read yet.
    ///
    /// # Errors
    /// There is no task file, or nobody has accepted that a tracker's program runs.
    pub fn source(&self) -> Result<Arc<dyn Source>, Error> {
        let tasks = &self.config.tasks;
        if tasks.source != TaskSource::File && !self.accepted {
            Trust::of(self)?.demand()?;
        }
        Ok(match tasks.source {
            TaskSource::File => Arc::new(FileSource::new(&self.ws, self.task_path()?)),
            TaskSource::Github => Arc::new(GithubSource::new(&self.ws, tasks)),
            TaskSource::Beads => Arc::new(BeadsSource::new(&self.ws, tasks)),
            TaskSource::Plugin => Arc::new(PluginSource::new(self)),
        })
    }

    /// The tasks as they are. `ids` are those that a run has given
    /// ([`ralph_engine::State::ids`]).
    pub async fn tasks(&self, ids: &Ids) -> Result<Tasks, Error> {
        self.source()?.load(ids).await
    }

    /// The file whose text opens a prompt, if the project has one.
    pub fn prompt_path(&self) -> Option<String> {
        let there = || PROMPT_PATHS.into_iter().find(|p| self.ws.exists(p));
        let named = self.config.files.prompt.clone();
        named.or_else(|| there().map(str::to_owned))
    }

    /// The text that opens a prompt, if the project has one.
    pub fn prompt_header(&self) -> Result<Option<String>, Error> {
        match self.prompt_path() {
            Some(path) => self.text(&path),
            None => Ok(None),
        }
    }

    /// A text file below the root, invalid UTF-8 replaced; `None` if it isn't there.
    pub fn text(&self, path: &str) -> Result<Option<String>, Error> {
        Ok(self.ws.read(path, CONFIG_MAX)?.map(|b| {
            String::from_utf8_lossy(&b)
                .trim_start_matches('\u{feff}')
                .to_owned()
        }))
    }
}

fn source(name: &str, bytes: Vec<u8>) -> Result<ralph_config::Source, Error> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(ralph_config::Source {
            name: name.to_owned(),
            text,
        }),
        Err(e) => Err(Error::Usage(format!(
            "{name}: not UTF-8 (byte {}). Save the file as UTF-8.",
            e.utf8_error().valid_up_to()
        ))),
    }
}
