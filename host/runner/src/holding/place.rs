//! Where a child is held: what of this machine and this project a policy is about.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_sandbox::{Place, Profile};
use ralph_workspace::{Workspace, repository};

use super::{Hold, home, kept};
use crate::trust::user_dir;

/// Where the agents we know keep their own state: the variable that says so, and
/// what it is without it, relative to the home directory.
pub(super) const STATE: [(&str, &str, &[&str]); 3] = [
    ("codex", "CODEX_HOME", &[".codex"]),
    ("claude", "CLAUDE_CONFIG_DIR", &[".claude", ".claude.json"]),
    (
        "copilot",
        "COPILOT_HOME",
        &[".copilot", ".config/github-copilot"],
    ),
];

/// Where tool chains keep what they download: the variable, and what below it.
const CACHES: [(&str, &[&str]); 6] = [
    ("XDG_CACHE_HOME", &[""]),
    (
        "CARGO_HOME",
        &[
            "registry",
            "git",
            ".package-cache",
            ".package-cache-mutate",
            ".global-cache",
        ],
    ),
    ("GOCACHE", &[""]),
    ("GOMODCACHE", &[""]),
    ("GRADLE_USER_HOME", &[""]),
    ("PNPM_HOME", &["store"]),
];

impl Hold {
    pub(super) fn place(
        &self,
        ws: &Workspace,
        scratch: Option<&Path>,
        env: &[(OsString, OsString)],
    ) -> Place {
        if self.policy.profile == Profile::Off {
            return Place::default();
        }
        let root = ws.root();
        let of = |name: &str| {
            let found = env.iter().find(|(n, _)| n == name);
            found
                .map(|(_, v)| PathBuf::from(v))
                .filter(|p| p.is_absolute())
        };
        let home = of("HOME").unwrap_or_else(home);
        let (mut state, mut foreign) = (Vec::new(), Vec::new());
        for (name, variable, usual) in STATE {
            let cache = of("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache"));
            let dirs = of(variable)
                .into_iter()
                .chain(usual.iter().map(|dir| home.join(dir)))
                // It unpacks itself there, and can't make the directory in the sandbox.
                .chain((name == "copilot").then(|| cache.join("copilot")));
            match self.driver.as_deref() {
                Some(driver) if driver == name => {
                    if name == "copilot" {
                        make(&cache);
                    }
                    state.extend(dirs.inspect(|dir| make(dir)));
                }
                // Not one of those we know: it may be a wrapper around any of them.
                Some(driver) if !STATE.iter().any(|(n, ..)| *n == driver) => state.extend(dirs),
                _ => foreign.extend(dirs),
            }
        }
        let caches = CACHES.iter().flat_map(|(variable, below)| {
            let dir = of(variable);
            below
                .iter()
                .filter_map(move |name| Some(dir.as_ref()?.join(name)))
        });
        let own = [
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_CONFIG_HOME", ".config"),
        ];
        let git = repository(root);
        let kept = kept::all();
        Place {
            sealed: self.sealed(root, git.as_ref()),
            shown: kept::shown(&kept, root, git.as_ref()),
            kept,
            root: root.to_owned(),
            scratch: scratch.map(Path::to_owned),
            caches: caches.collect(),
            own: own
                .iter()
                .filter_map(|(v, dir)| user_dir(v, dir).ok())
                .collect(),
            tmp: of("TMPDIR"),
            git,
            home,
            state,
            foreign,
        }
    }

    /// What decides what runs here, and what records what was.
    fn sealed(&self, root: &Path, git: Option<&(PathBuf, PathBuf)>) -> Vec<PathBuf> {
        let mut sealed = Vec::new();
        if let Some((own, common)) = git {
            for name in ["config", "hooks", "info/attributes", "info/exclude"] {
                sealed.push(common.join(name));
            }
            sealed.push(own.join("config.worktree"));
        }
        let more = self.protect.iter().map(String::as_str);
        sealed.extend(
            ["ralph.toml", "ralph.lock"]
                .into_iter()
                .chain(more)
                .map(|name| root.join(name)),
        );
        for entry in std::fs::read_dir(root.join(".ralph"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = format!(".ralph/{}", entry.file_name().to_string_lossy());
            // The scratch directory is in there.
            let open =
                name == ".ralph/tmp" || self.open.iter().any(|o| Path::new(o).starts_with(&name));
            if !open {
                sealed.push(entry.path());
            }
        }
        sealed
    }
}

/// An agent that starts for the first time can't make its directory itself any more.
fn make(dir: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    let is_file = dir.extension().is_some();
    if !is_file && dir.parent().is_some_and(Path::is_dir) && !dir.exists() {
        let made = std::fs::DirBuilder::new().mode(0o700).create(dir);
        if let Err(e) = made {
            tracing::warn!("{} can't be made: {e}", dir.display());
        }
    }
}
