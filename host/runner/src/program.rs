//! An agent's program: which file it is, where its own settings are, and the environment it gets.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ralph_workspace::sha256_hex;

use crate::error::Error;
use crate::names;
use crate::registry::BoundAgent;
use crate::trust;

/// Environment variables that belong to the agents we know.
const OWN_ENV: [(&str, &[&str]); 3] = [
    ("codex", &["OPENAI_*", "CODEX_*"]),
    (
        "claude",
        &[
            "ANTHROPIC_*",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_USE_*",
            "CLAUDE_CODE_MAX_*",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_DISABLE_*",
            "AWS_*",
            "CLOUD_ML_REGION",
        ],
    ),
    (
        "copilot",
        &["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"],
    ),
];

/// By which variable a driver's program finds its settings and its login.
const HOME_VARIABLE: [(&str, &str); 3] = [
    ("codex", "CODEX_HOME"),
    ("claude", "CLAUDE_CONFIG_DIR"),
    ("copilot", "COPILOT_HOME"),
];

/// Where any other program is sent: all of these lie below its own `HOME` then.
const XDG: [&str; 4] = [
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
];

/// npm packages which start a native program by a script, that of another package beside it:
/// package, the other one's name without system and processor, and the file in it.
const WRAPPED: [(&str, &str, &str); 3] = [
    ("@openai/codex", "codex", "vendor/*/bin/codex"),
    ("@github/copilot", "copilot", "copilot"),
    ("@anthropic-ai/claude-code", "claude-code", "claude"),
];

/// The environment of an agent's program; `own` is laid over it.
pub(crate) fn environment(
    agent: &BoundAgent,
    own: &[(String, String)],
) -> Vec<(OsString, OsString)> {
    let plugin = agent.bound.plugin.name();
    let mut names = agent.agent.env.clone();
    for (name, own) in OWN_ENV {
        if plugin == name {
            names.extend(own.iter().map(ToString::to_string));
        }
    }
    let mut env = ralph_process::environment(&names);
    let mut set = |name: &str, value: &OsStr| {
        env.retain(|(n, _)| n != name);
        env.push((name.into(), value.into()));
    };
    if let Some(home) = &agent.home {
        match HOME_VARIABLE.iter().find(|(name, _)| *name == plugin) {
            Some((_, variable)) => set(variable, home.as_os_str()),
            None => set("HOME", home.as_os_str()),
        }
    }
    for (name, value) in own {
        set(name, value.as_ref());
    }
    if agent.home.is_some() && !HOME_VARIABLE.iter().any(|(name, _)| *name == plugin) {
        env.retain(|(n, _)| !XDG.iter().any(|x| n == x));
    }
    env
}

/// Where an agent keeps its settings and its login if not in the user's own home: outside the
/// repository, so that nothing of it gets into a commit.
///
/// # Errors
/// Neither `XDG_STATE_HOME` nor `HOME` is an absolute path.
pub(crate) fn project_home(root: &Path, agent: &str) -> Result<PathBuf, Error> {
    let project = sha256_hex(root.as_os_str().as_encoded_bytes());
    Ok(trust::user_dir("XDG_STATE_HOME", ".local/state")?
        .join("homes")
        .join(&project[..16])
        .join(names::task_dir(agent)))
}

/// Makes the agent's own home, for the user only. codex doesn't start without it.
///
/// # Errors
/// It can't be made.
pub(crate) fn make_home(agent: &BoundAgent) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    let Some(home) = &agent.home else {
        return Ok(());
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(home)
        .map_err(|e| Error::io(&home.display().to_string(), e))
}

/// The file to start: a path relative to the root, or a name looked up in the environment's
/// `PATH`. Where that is a wrapper of an npm package, the native program which it would start:
/// a wrapper that is killed leaves its program behind. What isn't found stays as it is.
pub(crate) fn resolve(root: &Path, wanted: &str, env: &[(OsString, OsString)]) -> OsString {
    match find(root, wanted, env) {
        Some(found) => native(&found).unwrap_or(found).into_os_string(),
        None if wanted.contains('/') => root.join(wanted).into_os_string(),
        None => wanted.into(),
    }
}

/// Where the program is, if it is anywhere.
pub(crate) fn find(root: &Path, wanted: &str, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    if wanted.contains('/') {
        return Some(root.join(wanted)).filter(|p| p.is_file());
    }
    let path = &env.iter().find(|(name, _)| name == "PATH")?.1;
    std::env::split_paths(path)
        .map(|dir| dir.join(wanted))
        .find(|file| executable(file))
}

fn executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The native program behind an npm package's wrapper.
fn native(found: &Path) -> Option<PathBuf> {
    let script = found.canonicalize().ok()?;
    let (package, other, inside) = script.ancestors().find_map(|dir| {
        let known = WRAPPED.iter().find(|(name, _, _)| dir.ends_with(name))?;
        let modules = dir.ancestors().nth(2)?;
        modules
            .ends_with("node_modules")
            .then_some((dir, known.1, known.2))
    })?;
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let systems: &[&str] = match std::env::consts::OS {
        "macos" => &["darwin"],
        "linux" => &["linux", "linuxmusl", "linux-musl"],
        other => &[other],
    };
    let scope = package.parent()?;
    let own = package.join("node_modules").join(scope.file_name()?);
    systems
        .iter()
        .flat_map(|system| {
            let name = format!("{other}-{system}-{processor}");
            [own.join(&name), scope.join(name)]
        })
        .find_map(|dir| file_in(&dir, inside))
}

/// A file by a path in which one folder may be a `*`.
fn file_in(dir: &Path, inside: &str) -> Option<PathBuf> {
    let Some((before, after)) = inside.split_once("*/") else {
        return Some(dir.join(inside)).filter(|p| executable(p));
    };
    std::fs::read_dir(dir.join(before))
        .ok()?
        .flatten()
        .map(|entry| entry.path().join(after))
        .find(|p| executable(p))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn put(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn processor() -> &'static str {
        if cfg!(target_arch = "aarch64") {
            "arm64"
        } else {
            "x64"
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_wrapper_gives_way_to_the_program_it_starts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let modules = root.join("lib/node_modules");
        let wrapper = modules.join("@openai/codex/bin/codex.js");
        let elf = modules.join(format!(
            "@openai/codex-linux-{}/vendor/some-triple/bin/codex",
            processor()
        ));
        put(&wrapper);
        fs::create_dir_all(root.join("bin")).unwrap();
        symlink(&wrapper, root.join("bin/codex")).unwrap();
        let env = [("PATH".into(), root.join("bin").into_os_string())];
        // Its own package isn't there: the wrapper says so itself.
        assert_eq!(resolve(&root, "codex", &env), root.join("bin/codex"));
        put(&elf);
        assert_eq!(resolve(&root, "codex", &env), elf);
        assert_eq!(resolve(&root, "bin/codex", &env), elf);
        // Nested, as npm does it for a package of its own version.
        let nested = modules.join(format!(
            "@openai/codex/node_modules/@openai/codex-linux-{}/vendor/t/bin/codex",
            processor()
        ));
        put(&nested);
        assert_eq!(resolve(&root, "codex", &env), nested);
    }

    #[test]
    fn any_other_program_is_itself_and_what_is_missing_stays_a_name() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("tool"));
        fs::write(dir.path().join("data"), "").unwrap();
        let env = [("PATH".into(), dir.path().as_os_str().to_owned())];
        let root = Path::new("/project");
        assert_eq!(resolve(root, "tool", &env), dir.path().join("tool"));
        for wanted in ["data", "nothing"] {
            assert_eq!(resolve(root, wanted, &env), wanted, "not executable");
        }
        assert_eq!(resolve(root, "./x/y", &env), "/project/./x/y");
    }
}
