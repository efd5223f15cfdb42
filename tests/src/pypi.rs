//! Tests that need packages of PyPI's: these are put below `target/`, once for each list of them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{LIMIT, Project, target};

/// What a list in this repository names, in an environment of its own.
pub struct Pypi {
    venv: PathBuf,
}

impl Pypi {
    /// Installs what `requirements.txt` in `source` names into `target/NAME`. `None` where that can't
    /// be, with the reason on standard error.
    pub fn install(p: &Project, source: &Path, name: &str) -> Option<Pypi> {
        let dir = target().join(name);
        fs::create_dir_all(&dir).unwrap();
        let lock = fs::File::create(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        let wanted = source.join("requirements.txt");
        let venv = dir.join("venv");
        let Some(reason) = prepare(p, &wanted, &venv) else {
            return Some(Pypi { venv });
        };
        // Past the capture of the test's output.
        let _ = writeln!(std::io::stderr(), "SKIPPED: the tests of {name}: {reason}");
        None
    }

    /// A program of it, in the environment in which [`Project::command`] runs.
    pub fn program(&self, p: &Project, name: &str) -> Command {
        let ralph = p.command(&[]);
        let env = ralph.get_envs();
        let mut program = Command::new(self.venv.join("bin").join(name));
        program
            .current_dir(p.side(""))
            .env_clear()
            .envs(env.filter_map(|(key, value)| Some((key, value?))))
            .stdin(Stdio::null());
        program
    }
}

/// Why not, if it can't be done here.
fn prepare(p: &Project, wanted: &Path, venv: &Path) -> Option<String> {
    let text = fs::read_to_string(wanted).unwrap();
    let stamp = venv.join("installed");
    if fs::read_to_string(&stamp).ok().as_ref() == Some(&text) {
        return None;
    }
    let mut python = Command::new("python3");
    python.args(["-m", "venv"]).arg(venv).stdin(Stdio::null());
    match python.output() {
        Ok(made) if made.status.success() => {}
        _ => return Some("there is no python3 with venv (python3-venv on Debian)".into()),
    }
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(wanted)
        .stdin(Stdio::null());
    let ran = p.start_command(pip).wait_at_most(3 * LIMIT);
    if ran.code != 0 {
        // pip has no way to tell a registry that is out of reach from anything else.
        return Some(ran.stderr);
    }
    fs::write(stamp, text).unwrap();
    None
}
