//! What no program reads unless it is listed: keys, tokens, what a browser or a
//! shell remembers.

use std::path::{Path, PathBuf};

/// Relative to the home directory.
const AT_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/doctl",
    ".config/rclone",
    ".config/sops",
    ".config/age",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".mozilla",
    ".thunderbird",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/pass",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
];

/// What file modes keep from others, but not from root.
const OF_THE_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
];

/// Those of them that may exist for this user.
pub(crate) fn of(home: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = AT_HOME.iter().map(|name| home.join(name)).collect();
    if rustix::process::geteuid().is_root() {
        all.extend(OF_THE_SYSTEM.iter().map(PathBuf::from));
    }
    all
}
