//! Format, lints, tests, benchmarks, over all three workspaces: the host's,
//! the plugins' and the SDK's.

use std::ffi::OsString;
use std::process::Command;

use crate::agents;
use crate::command::{cargo, minutes, run};
use crate::components;
use crate::kit;
use crate::paths;
use crate::steps::Steps;

/// Manifests of the workspaces whose code runs as guests, natively testable.
const GUESTS: [&str; 2] = ["plugins/Cargo.toml", "sdk/rust/Cargo.toml"];

const TEST_STEPS: usize = components::STEPS + 5;

/// `cargo xtask test`
pub fn test() -> Result<(), String> {
    let mut steps = Steps::new(TEST_STEPS);
    components::setup(&mut steps)?;
    tests(&mut steps)?;
    eprintln!("All tests passed, in {}.", steps.took());
    Ok(())
}

fn tests(steps: &mut Steps) -> Result<(), String> {
    steps.step("real agents", agents::install)?;
    steps.step("tool chains for plugins", kit::install)?;
    // The black-box tests need the binary, which belongs to another package.
    steps.step("build", || {
        run(&mut cargo(["build", "--workspace"]), minutes(40))
    })?;
    steps.step("tests of the host", || {
        run(&mut cargo(["test", "--workspace"]), minutes(60))
    })?;
    steps.step("tests of the guests", || {
        GUESTS
            .iter()
            .try_for_each(|manifest| run(&mut guest(&["test"], manifest, &[]), minutes(30)))
    })
}

/// cargo on a guests' workspace, for the machine this is.
fn guest(command: &[&str], manifest: &str, rest: &[&str]) -> Command {
    let target: OsString = paths::native_guest_target().into();
    let mut words: Vec<OsString> = command.iter().map(OsString::from).collect();
    words.extend(["--workspace", "--manifest-path", manifest, "--target-dir"].map(OsString::from));
    words.push(target);
    words.extend(rest.iter().map(OsString::from));
    cargo(words)
}

/// `cargo xtask ci`
pub fn ci() -> Result<(), String> {
    let mut steps = Steps::new(TEST_STEPS + 2);
    steps.step("format", || formatted(&["--check"]))?;
    components::setup(&mut steps)?;
    steps.step("lints", || {
        let deny = ["--all-targets", "--", "--deny", "warnings"];
        let host = ["clippy", "--workspace"].into_iter().chain(deny);
        run(&mut cargo(host), minutes(40))?;
        GUESTS
            .iter()
            .try_for_each(|manifest| run(&mut guest(&["clippy"], manifest, &deny), minutes(30)))
    })?;
    tests(&mut steps)?;
    eprintln!("Everything is in order, in {}.", steps.took());
    Ok(())
}

/// `cargo xtask fmt`
pub fn format() -> Result<(), String> {
    formatted(&[])
}

fn formatted(rest: &[&str]) -> Result<(), String> {
    for manifest in std::iter::once("Cargo.toml").chain(GUESTS) {
        let words = ["fmt", "--all", "--manifest-path", manifest];
        run(&mut cargo(words.iter().chain(rest)), minutes(5))
            .map_err(|e| format!("{e}; `cargo xtask fmt` puts it right"))?;
    }
    Ok(())
}

/// `cargo xtask bench`
pub fn bench(args: &[String]) -> Result<(), String> {
    let mut steps = Steps::new(components::STEPS + 2);
    components::setup(&mut steps)?;
    steps.step("release build", || {
        run(
            &mut cargo(["build", "--release", "--package", "ralph-cli"]),
            minutes(60),
        )
    })?;
    steps.step("benchmarks", || {
        let words = [
            "run",
            "--release",
            "--package",
            "ralph-tests",
            "--bin",
            "bench",
            "--",
        ];
        run(
            &mut cargo(
                words
                    .iter()
                    .map(|w| w.to_string())
                    .chain(args.iter().cloned()),
            ),
            minutes(60),
        )
    })
}
