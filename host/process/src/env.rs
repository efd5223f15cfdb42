//! What a child inherits of this process's environment: names on a list, and
//! nothing that makes it believe it runs inside another agent.

use std::ffi::{OsStr, OsString};
use std::sync::{PoisonError, RwLock};

/// Inherited by every child that is given [`environment`]. A trailing `*`
/// stands for any ending. No name here holds a secret.
pub const USUAL: &[&str] = &[
    // Who and where.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "XDG_*",
    // Language, time, terminal.
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TERMINFO",
    // The way to the network.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "FTP_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "ftp_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    // Where tool chains have their homes.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "GRADLE_USER_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "GEM_HOME",
    "DOTNET_ROOT",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "NIX_*",
    // Where the agents have theirs.
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
    "COPILOT_HOME",
];

/// Never inherited, whoever asks: an agent that finds one of these refuses to
/// start, or attaches itself to the session it seems to be in.
pub const NESTING: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_*",
    "CODEX_SANDBOX*",
    "CODEX_THREAD_ID",
    "CODEX_CI",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "COPILOT_CLI*",
    "COPILOT_AGENT_SESSION_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "CURSOR_AGENT",
    "AI_AGENT",
    crate::spawn::MARKER,
];

/// This process's alone.
static WITHHELD: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// No child inherits this variable from now on, whoever asks.
pub fn withhold(name: &str) {
    let mut withheld = WITHHELD.write().unwrap_or_else(PoisonError::into_inner);
    withheld.push(name.to_owned());
}

/// Is it one that [`withhold`] was told of?
pub fn is_withheld(name: &OsStr) -> bool {
    let withheld = WITHHELD.read().unwrap_or_else(PoisonError::into_inner);
    withheld.iter().any(|w| name == w.as_str())
}

/// The environment for a child: of this process's own variables those in
/// [`USUAL`] and in `names` (a trailing `*` stands for any ending), without
/// those in [`NESTING`] and those that are withheld. Sorted by name.
pub fn environment(names: &[String]) -> Vec<(OsString, OsString)> {
    let own = std::env::vars_os().filter(|(name, _)| !is_withheld(name));
    select(own, names)
}

fn select(
    all: impl Iterator<Item = (OsString, OsString)>,
    names: &[String],
) -> Vec<(OsString, OsString)> {
    let mut chosen: Vec<_> = all
        .filter(|(name, _)| {
            let wanted = USUAL.iter().any(|p| fits(p, name)) || names.iter().any(|p| fits(p, name));
            wanted && !NESTING.iter().any(|p| fits(p, name))
        })
        .collect();
    chosen.sort();
    chosen
}

fn fits(pattern: &str, name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix.as_bytes()),
        None => name == pattern.as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(vars: &[&str], names: &[&str]) -> Vec<String> {
        let all = vars
            .iter()
            .map(|v| (OsString::from(v), OsString::from("1")));
        let names: Vec<String> = names.iter().map(|n| n.to_string()).collect();
        select(all, &names)
            .into_iter()
            .map(|(n, _)| n.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn only_listed_names_pass() {
        let got = chosen(
            &[
                "PATH",
                "LC_TIME",
                "AWS_SECRET_ACCESS_KEY",
                "PATHS",
                "https_proxy",
            ],
            &[],
        );
        assert_eq!(got, ["LC_TIME", "PATH", "https_proxy"]);
    }

    #[test]
    fn asked_names_pass_and_a_star_is_a_prefix() {
        let got = chosen(
            &["ANTHROPIC_API_KEY", "MY_A", "MY_B", "MYX"],
            &["ANTHROPIC_API_KEY", "MY_*"],
        );
        assert_eq!(got, ["ANTHROPIC_API_KEY", "MY_A", "MY_B"]);
    }

    #[test]
    fn nesting_variables_never_pass_even_when_asked_for() {
        let got = chosen(
            &["CLAUDECODE", "CODEX_SANDBOX_NETWORK_DISABLED", "X"],
            &["*", "CLAUDECODE"],
        );
        assert_eq!(got, ["X"]);
    }
}
