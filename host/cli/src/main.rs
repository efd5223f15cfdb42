//! The `ralph` binary: arguments, wiring, what a terminal shows. No logic.

mod args;
mod cmd;
mod complete;
mod logs;
mod out;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::out::Out;

fn main() -> ExitCode {
    if complete::answered() {
        return ExitCode::SUCCESS;
    }
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
    // While this process has one thread.
    let warden = match args.command.starts_programs() {
        true => ralph_process::post_warden(),
        false => Ok(()),
    };
    logs::start(args.verbose, args.command.serves());
    if let Err(e) = warden {
        tracing::warn!(
            "no warden: {e}; should this process be killed, what its agents have started may stay"
        );
    }
    ralph_runner::sourcing::Policy {
        locked: args.locked,
        offline: args.offline,
    }
    .set();
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
    ralph_process::dismiss_warden();
    logs::end();
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
        Command::Bridge => cmd::bridge::bridge(&dir).await,
        Command::Listen(a) => cmd::listen::listen(&dir, a, out).await,
        Command::Serve(a) => cmd::serve::serve(a, out).await,
        Command::Audit(a) => cmd::serve::audit(a, out),
        Command::Token(a) => cmd::serve::token(a, out),
        Command::Mcp => cmd::mcp::mcp(&dir).await,
        Command::Check => cmd::check::check(&dir, out).await,
        Command::Gates(a) => cmd::check::gates(&dir, a, out).await,
        Command::Watch(a) => cmd::check::watch(&dir, &a, out).await,
        Command::Status => cmd::status::status(&dir, out).await,
        Command::Log(a) => cmd::log::log(&dir, &a, out),
        Command::Show(a) => cmd::log::show(&dir, &a, out),
        Command::Explain(a) => cmd::explain::explain(&dir, &a, out).await,
        Command::Blocked => cmd::explain::blocked(&dir, out).await,
        Command::Stats => cmd::audit::stats(&dir, out),
        Command::Verify => cmd::audit::verify(&dir, out).await,
        Command::Replay(a) => cmd::audit::replay(&dir, &a, out).await,
        Command::Clean(a) => cmd::audit::clean(&dir, &a, out),
        Command::Prompt(a) => cmd::preview::prompt(&dir, a, out).await,
        Command::Stop(a) => cmd::steer::stop(&dir, &a, out).await,
        Command::Pause => cmd::steer::pause(&dir, out).await,
        Command::Resume => cmd::steer::resume(&dir, out).await,
        Command::Checkpoint => cmd::steer::checkpoint(&dir, out).await,
        Command::Inject(a) => cmd::steer::inject(&dir, &a, out).await,
        Command::Skip(a) => cmd::steer::skip(&dir, &a, out).await,
        Command::Tail(a) => cmd::tail::tail(&dir, a, out).await,
        Command::Attach(a) => cmd::attach::attach(&dir, a, out).await,
        Command::Rpc(a) => cmd::schema::rpc(&a, out),
        Command::Ps => cmd::steer::ps(out).await,
        Command::Convert(a) => cmd::task::convert(&dir, &a, out).await,
        Command::Task(a) => cmd::task::task(&dir, a, out).await,
        Command::Agent(a) => cmd::agent::agent(&dir, &a, out).await,
        Command::Plugin(a) => cmd::plugin::plugin(&dir, a, out).await,
        Command::Fingerprint(a) => cmd::fingerprint::fingerprint(&dir, a, out).await,
        Command::Trust(a) => cmd::trust::trust(&dir, &a, out),
        Command::Doctor => cmd::doctor::doctor(&dir, out).await,
        Command::Schema(a) => cmd::schema::schema(&a, out),
        Command::Completions(a) => cmd::schema::completions(a.shell, out),
    };
    match done {
        Ok(code) => code,
        Err(e) => out.fail(e.exit_code(), &e.with_advice()),
    }
}
