//! Where things are, whatever directory the command was given in.

use std::path::{Path, PathBuf};

/// The root of the checkout.
pub fn root() -> PathBuf {
    // `cargo run` says where the package is now; the checkout may have moved
    // since this program was built.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("."))
        .to_path_buf()
}

/// For guests; apart from the host's, so that neither evicts the other.
pub fn guest_target() -> PathBuf {
    root().join("target/guest")
}

/// For the guests' own tests, which run natively.
pub fn native_guest_target() -> PathBuf {
    root().join("target/guest-host")
}

/// Where the real agent programs are installed, for tests.
pub fn agents() -> PathBuf {
    root().join("target/agents")
}

/// Where tool chains for plugins in other languages are installed, for tests.
pub fn kit() -> PathBuf {
    root().join("target/kit")
}

/// From where the host's build takes the built-in components.
pub fn components() -> PathBuf {
    root().join("target/components")
}

/// What `cargo build --profile demo` has made, in the target directory that this program is in.
pub fn ralph_of_demo() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|e| format!("where is this program? {e}"))?;
    let target = own
        .ancestors()
        .nth(2)
        .ok_or("this program is in no target directory")?;
    let name = format!("ralph{}", std::env::consts::EXE_SUFFIX);
    Ok(target.join("demo").join(name))
}

/// The first file of this name in `PATH`.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}
