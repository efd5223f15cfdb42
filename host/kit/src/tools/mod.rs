//! Tool chains: found, or said how to get them; run with their output going through.

mod c;
mod go;
mod python;
mod rust;
mod script;
mod wrap;

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use ralph_process::{Spawn, WindowSize, start};

use crate::build::Tell;
use crate::error::Error;
use crate::lang::Lang;
use crate::project::Project;

/// Where what is made on the way lies, below a project.
const WORK: &str = "build";

/// Of a failed tool's output this much goes into the error.
const SAID_MAX: usize = 16 << 10;

/// One build at a time in a project: they share their folder. Held while the result is of use.
pub(crate) fn hold(project: &Project) -> Result<Option<File>, Error> {
    // cargo sees to that itself.
    if project.lang == Lang::Rust {
        return Ok(None);
    }
    let work = project.dir.join(WORK);
    std::fs::create_dir_all(&work).map_err(|e| Error::io(&work, e))?;
    let path = work.join("lock");
    let file = File::create(&path).map_err(|e| Error::io(&path, e))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(Error::Usage(format!(
            "another build is on in {}; wait for its end",
            project.dir.display()
        ))),
        Err(TryLockError::Error(e)) => Err(Error::io(&path, e)),
    }
}

/// Builds a project's component; where it is.
pub(crate) async fn make(project: &Project, tell: &dyn Tell) -> Result<PathBuf, Error> {
    match project.lang {
        Lang::Rust => rust::make(project, tell).await,
        Lang::Js | Lang::Ts => script::make(project, tell).await,
        Lang::Python => python::make(project, tell).await,
        Lang::C => c::make(project, tell).await,
        Lang::Go => go::make(project, tell).await,
    }
}

/// One program to run in a project.
pub(crate) struct Tool {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    unset: Vec<&'static str>,
}

impl Tool {
    pub(crate) fn new(program: impl Into<PathBuf>) -> Tool {
        Tool {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            unset: Vec::new(),
        }
    }

    pub(crate) fn arg(mut self, arg: impl Into<OsString>) -> Tool {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Tool {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Tool {
        self.env.push((name.into(), value.into()));
        self
    }

    pub(crate) fn unset(mut self, names: &[&'static str]) -> Tool {
        self.unset.extend(names);
        self
    }

    fn spawn(self, dir: &Path, terminal: bool) -> Spawn {
        let mut spawn = Spawn::new(self.program, dir);
        spawn.args = self.args;
        let kept = |name: &OsString| !self.unset.iter().any(|unset| name == unset);
        spawn.env = std::env::vars_os().filter(|(name, _)| kept(name)).collect();
        if !terminal {
            let plain = [("TERM", "dumb"), ("NO_COLOR", "1")];
            spawn
                .env
                .extend(plain.map(|(name, value)| (name.into(), value.into())));
        }
        spawn.env.extend(self.env);
        spawn
    }

    /// Runs it; whatever it prints is told as it comes.
    pub(crate) async fn run(self, dir: &Path, tell: &dyn Tell) -> Result<(), Error> {
        let name = shown(&self.program);
        let mut spawn = self.spawn(dir, tell.is_terminal());
        // One stream for both of its outputs, in their order.
        spawn.terminal = Some(WindowSize {
            rows: 50,
            columns: 120,
        });
        spawn.secrets = ralph_process::secrets();
        let mut running = start(spawn).map_err(|e| Error::Tool(e.to_string()))?;
        let mut said = Vec::new();
        while let Some(piece) = running.next().await {
            tell.output(&piece);
            said.extend_from_slice(&piece);
            if said.len() > 2 * SAID_MAX {
                said.drain(..said.len() - SAID_MAX);
            }
        }
        let finished = running.finish().await;
        if finished.code == Some(0) {
            return Ok(());
        }
        let ended = match (finished.code, finished.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "was ended".to_owned(),
        };
        let said = String::from_utf8_lossy(&said).replace("\r\n", "\n");
        let said = ralph_engine::text::strip_escapes(&said);
        Err(Error::Tool(format!("{name} {ended}\n{}", said.trim_end())))
    }

    /// What it prints, trimmed; `None` if it fails in any way.
    pub(crate) async fn answer(self, dir: &Path) -> Option<String> {
        let mut spawn = self.spawn(dir, false);
        spawn.timeout = Some(std::time::Duration::from_secs(30));
        let out = ralph_process::run(spawn, SAID_MAX).await.ok()?;
        let text = String::from_utf8(out.stdout).ok()?;
        (out.finished.code == Some(0)).then(|| text.trim().to_owned())
    }
}

fn shown(program: &Path) -> String {
    program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// The first of these that there is: in the project's virtual environment, then in `PATH`.
pub(crate) fn find(project: &Project, names: &[&str]) -> Option<PathBuf> {
    let own = project.dir.join(".venv/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::iter::once(own)
        .chain(std::env::split_paths(&path))
        .collect();
    names
        .iter()
        .flat_map(|name| dirs.iter().map(move |dir| dir.join(name)))
        .find(|file| file.is_file())
        .and_then(|file| std::path::absolute(file).ok())
}

/// A tool is missing; the commands are to be typed as they are.
pub(crate) fn missing(project: &Project, what: &str, commands: &[&str]) -> Error {
    let enter = format!("  cd {}", project.dir.display());
    let commands = commands.iter().map(|c| format!("  {c}"));
    let commands: Vec<String> = std::iter::once(enter).chain(commands).collect();
    Error::Missing {
        what: what.to_owned(),
        commands: commands.join("\n"),
    }
}
