//! The binary under test, found beside the test executable, and the cache of
//! compiled components that all tests share.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

/// Every built-in component that some test uses.
const COMPONENTS: [&str; 10] = [
    "command",
    "acp",
    "codex",
    "claude",
    "copilot",
    "scripted",
    "diff-scope",
    "no-secrets",
    "judge",
    "review",
];

/// `target/<profile>`: two up from the test executable in `deps/`.
fn profile() -> PathBuf {
    let exe = std::env::current_exe().expect("the test's own path");
    exe.ancestors()
        .nth(2)
        .expect("target/<profile>/deps/<test>")
        .to_owned()
}

/// The folder of everything that is built.
pub fn target() -> PathBuf {
    profile().parent().expect("target").to_owned()
}

/// The built `ralph`.
pub(crate) fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let path = profile().join("ralph");
        assert!(
            path.is_file(),
            "{} isn't there: run `cargo xtask test`",
            path.display()
        );
        path
    })
}

/// A built component as a file, e.g. `gate-diff-scope`.
pub fn components(name: &str) -> Vec<u8> {
    let path = profile().join(format!("../components/{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; run `cargo xtask test`", path.display()))
}

/// A folder of `examples/`.
pub fn examples(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(name)
}

/// `XDG_CACHE_HOME` of all tests. Components are compiled into it once for each
/// build of the binary: the first process to come fills it while it holds a
/// lock, the others wait, and what is in the cache is only read after that.
pub(crate) fn cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let dir = profile().parent().expect("target").join("tmp/ralph-tests");
        std::fs::create_dir_all(&dir).expect("target/tmp");
        let lock = File::create(dir.join("lock")).expect("a lock file");
        lock.lock().expect("the lock");
        let stamp = dir.join("filled");
        let build = build();
        if std::fs::read_to_string(&stamp).ok().as_deref() != Some(&build) {
            fill(&dir);
            std::fs::write(&stamp, build).expect("a stamp");
        }
        dir
    })
}

/// Which build the binary is.
fn build() -> String {
    let meta = std::fs::metadata(binary()).expect("the binary");
    let at = meta
        .modified()
        .ok()
        .and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    format!("{} {:?}", meta.len(), at)
}

fn fill(dir: &Path) {
    let empty = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(empty.path().join(".git")).expect("a directory");
    for name in COMPONENTS.iter().chain(&["text"]) {
        let done = Command::new(binary())
            .args(["plugin", "inspect", name])
            .current_dir(empty.path())
            .env("XDG_CACHE_HOME", dir)
            .stdin(Stdio::null())
            .output()
            .expect("the binary starts");
        assert!(
            done.status.success(),
            "plugin inspect {name}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}
