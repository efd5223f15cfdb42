//! The `ralph` binary: arguments, wiring, what a terminal shows. No logic.

mod args;
mod cmd;
mod out;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::out::Out;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(e) => {
            // clap's own 2 would read as "failed": usage errors are 3 here.
            if !e.use_stderr() {
                let _ = e.print();
                return ExitCode::SUCCESS;
            }
            if std::env::args().any(|a| a == "--json") {
                return Out::new("ralph", true)
                    .fail(3, e.to_string().trim_start_matches("error: ").trim());
            }
            let _ = e.print();
            return ExitCode::from(3);
        }
    };
    log(args.verbose);
    let out = Out::new(args.command.name(), args.json);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(e) => return out.fail(2, &format!("the async runtime can't start: {e}")),
    };
    let code = runtime.block_on(dispatch(args, &out));
    // Whatever still hangs on a blocking thread must not hold up the exit.
    runtime.shutdown_background();
    code
}

async fn dispatch(args: Args, out: &Out) -> ExitCode {
    let dir = match args.directory {
        Some(dir) => dir,
        None => match std::env::current_dir() {
            Ok(dir) => dir,
            Err(e) => return out.fail(3, &format!("the current directory can't be told: {e}")),
        },
    };
    let done = match args.command {
        Command::Init(a) => cmd::init::init(&dir, &a, out),
        Command::Run(a) => cmd::run::run(&dir, a, out).await,
        Command::Step(a) => cmd::run::step(&dir, a, out).await,
        Command::Supervise(a) => cmd::supervise::supervise(&dir, a, out).await,
        Command::Check => cmd::check::check(&dir, out).await,
        Command::Watch(a) => cmd::check::watch(&dir, &a, out).await,
        Command::Status => cmd::status::status(&dir, out),
        Command::Task(a) => cmd::task::task(&dir, a, out),
        Command::Plugin(a) => cmd::plugin::plugin(&dir, a, out).await,
        Command::Trust(a) => cmd::trust::trust(&dir, &a, out),
        Command::Doctor => cmd::doctor::doctor(&dir, out).await,
        Command::Schema => cmd::schema::schema(out),
        Command::Completions(a) => cmd::schema::completions(a.shell, out),
    };
    match done {
        Ok(code) => code,
        Err(e) => out.fail(e.exit_code(), &e.to_string()),
    }
}

fn log(verbose: u8) {
    let level = match verbose {
        0 => "error",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("RALPH_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(format!("off,ralph_cli={level},ralph_runner={level},ralph_plugins={level},ralph_process={level},ralph_workspace={level}")));
    let color = out::color(&std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(color)
        .with_target(false)
        .init();
}
