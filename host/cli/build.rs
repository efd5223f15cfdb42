//! What the linker can do to make the binary of a release smaller and quicker to start, as far as this
//! machine's can: tried out on an empty program, so that no linker and no C library is assumed.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Functions of the same code are kept once. (A tenth of a Rust program can be such.)
const FOLD: &str = "-Wl,--icf=all";

/// What has to be adjusted to where the program is loaded takes a bit each instead of 24 bytes. Needs
/// a C library that knows it: glibc 2.36.
const PACK: &str = "-Wl,-z,pack-relative-relocs";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let var = |name| env::var(name).unwrap_or_default();
    // For another machine nothing can be tried out.
    if var("PROFILE") != "release"
        || var("HOST") != var("TARGET")
        || var("CARGO_CFG_TARGET_OS") != "linux"
    {
        return;
    }
    for arg in [FOLD, PACK] {
        if works(arg) {
            println!("cargo:rustc-link-arg-bins={arg}");
        }
    }
}

/// Is a program made with it, and does it run?
fn works(arg: &str) -> bool {
    let (Some(rustc), Some(dir)) = (env::var_os("RUSTC"), env::var_os("OUT_DIR")) else {
        return false;
    };
    let (source, program) = (
        Path::new(&dir).join("probe.rs"),
        Path::new(&dir).join("probe"),
    );
    if fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut command = Command::new(rustc);
    command.arg(&source).arg("-o").arg(&program);
    if let Ok(flags) = env::var("CARGO_ENCODED_RUSTFLAGS") {
        command.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut with = std::ffi::OsString::from("linker=");
        with.push(linker);
        command.arg("-C").arg(with);
    }
    command.arg("-C").arg(format!("link-arg={arg}"));
    ends_well(&mut command) && ends_well(&mut Command::new(&program))
}

fn ends_well(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
