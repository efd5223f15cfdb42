//! What this machine can do, found out by doing it; once per process, and only what is asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ralph_process::{Confinement, OwnNetwork, Spawn, SpawnError, Stdin};
use tokio::sync::OnceCell;

/// A probe that takes longer has failed.
const TIME: Duration = Duration::from_secs(10);

/// Can a child have a network of its own? If not, why.
pub(crate) async fn own_network() -> Result<(), String> {
    static KNOWN: OnceCell<Result<(), String>> = OnceCell::const_new();
    let ask = || async {
        let confinement = Confinement {
            own_network: Some(OwnNetwork::default()),
            ..Confinement::default()
        };
        match run("/bin/true", Vec::new(), Some(confinement)).await {
            Ok(_) => Ok(()),
            Err(why) => Err(format!(
                "no network namespace can be made here ({why}); unprivileged user namespaces may be switched off \
                 (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces, \
                 kernel.apparmor_restrict_unprivileged_userns)"
            )),
        }
    };
    KNOWN.get_or_init(ask).await.clone()
}

/// Where bubblewrap is, if it works here. If not, why.
pub(crate) async fn bubblewrap() -> Result<PathBuf, String> {
    static KNOWN: OnceCell<Result<PathBuf, String>> = OnceCell::const_new();
    let ask = || async {
        let program =
            find("bwrap").ok_or("there is no program `bwrap`; the package is called bubblewrap")?;
        let args = [
            "--unshare-user",
            "--unshare-pid",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--",
            "/bin/true",
        ];
        let name = program.to_string_lossy().into_owned();
        match run(&name, args.map(str::to_owned).to_vec(), None).await {
            Ok(_) => Ok(program),
            Err(why) => Err(format!(
                "bubblewrap doesn't work here ({why}); unprivileged user namespaces may be switched off (sysctl \
                 kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), or a container forbids them"
            )),
        }
    };
    KNOWN.get_or_init(ask).await.clone()
}

async fn run(
    program: &str,
    args: Vec<String>,
    confinement: Option<Confinement>,
) -> Result<(), String> {
    let spawn = Spawn {
        args: args.into_iter().map(Into::into).collect(),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        stdin: Stdin::Empty,
        timeout: Some(TIME),
        confinement: confinement.map(Arc::new),
        ..Spawn::new(program, "/")
    };
    let out = ralph_process::run(spawn, 4096).await.map_err(|e| match e {
        SpawnError::Other { reason, .. } | SpawnError::NotExecutable { reason, .. } => reason,
        e => e.to_string(),
    })?;
    if out.finished.code == Some(0) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&out.stderr);
    let first = text.lines().next().unwrap_or("it failed").trim();
    Err(first
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect())
}

/// A program in this process's own `PATH`; relative entries don't count.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|p| is_program(p))
}

/// Is it a file that somebody may execute?
pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
