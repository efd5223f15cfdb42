//! One agent call: a driver's native program, or an agent component.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ralph_engine::event::Event;
use ralph_engine::types::{AgentEvent, AgentOutcome, Iteration, Role, Usage};
use ralph_plugins::{CallContext, Exit, Kind, Launch, PluginError, Session};
use ralph_process::{EndedBy, Running, Spawn, Stdin};
use ralph_workspace::Workspace;

use crate::bus::Bus;
use crate::collect::collect;
use crate::console::Seat;
use crate::control::Stopping;
use crate::error::Error;
use crate::holding;
use crate::journal::Syncing;
use crate::leftover;
use crate::program;
use crate::rawlog::RawLog;
use crate::registry::BoundAgent;
use crate::replay::tape::{self, AgentTape, ExitTape, Given};
use crate::services::CallServices;

/// Of a final text this much is kept, at its end, where claims stand.
const FINAL_MAX: usize = 64 * 1024;
/// A program whose input its driver has closed gets this long to end by itself.
const GOODBYE: Duration = Duration::from_secs(5);

/// What one call needs.
pub(crate) struct AgentCall<'a> {
    /// Who.
    pub agent: &'a BoundAgent,
    /// Where in the loop; `scratch` is filled in here.
    pub it: Iteration,
    /// What it is told.
    pub prompt: &'a str,
    /// Fixes the component's randomness.
    pub seed: &'a str,
    /// Raw output goes here, relative to the root.
    pub log: &'a str,
    /// Of it this many bytes are kept.
    pub log_size: u64,
    /// What a replay needs is kept here.
    pub tape: &'a str,
    /// The guard.
    pub ws: &'a Workspace,
    /// Where its events go.
    pub bus: &'a Bus,
    /// Is the run to end?
    pub stopping: &'a Stopping,
    /// It starts when the journal has this on the disk, and not before.
    pub announced: Syncing,
}

/// What came of it.
pub(crate) struct AgentDone {
    /// How it ended.
    pub outcome: AgentOutcome,
    /// Tokens and money.
    pub usage: Usage,
    /// Exit code of the native program.
    pub code: Option<i32>,
    /// What held it, for records.
    pub sandbox: Option<serde_json::Value>,
    /// How long it took.
    pub millis: u64,
    /// By which id its program knows the session.
    pub session: Option<String>,
}

/// What an agent's events add up to.
#[derive(Default)]
struct Sum {
    usage: Usage,
    session: Option<String>,
}

/// Has the agent work. An error is nobody's work: a program that isn't there, a full disk.
pub(crate) async fn call(mut call: AgentCall<'_>) -> Result<AgentDone, Error> {
    let began = Instant::now();
    let in_sandbox = call.agent.bound.plugin.kind() == Kind::Agent;
    let log = if in_sandbox {
        Some(Mutex::new(RawLog::open(call.ws, call.log, call.log_size)?))
    } else {
        None
    };
    let services = Arc::new(CallServices {
        role: Some(call.it.role),
        log,
        prompt: call.prompt.to_owned(),
        keeps: Some(call.ws.clone()),
        ..CallServices::plain(call.agent.bound.plugin.name(), call.bus, call.stopping)
    });
    let root = call.ws.root().to_path_buf();
    let ctx = services.context(&call.agent.bound.config, Some(root), call.seed);
    let announced = std::mem::replace(&mut call.announced, Syncing::done());
    let mut done = match call.agent.bound.plugin.kind() {
        Kind::Agent => component(&call, announced, &ctx, &services).await?,
        _ => {
            let scratch = leftover::scratch(call.ws)?;
            call.it.scratch = scratch.path().to_string_lossy().into_owned();
            driver(&call, announced, &ctx).await?
        }
    };
    shorten(&mut done.outcome);
    done.millis = began.elapsed().as_millis() as u64;
    Ok(done)
}

/// Of a final text only the end is kept.
pub(crate) fn shorten(outcome: &mut AgentOutcome) {
    if let AgentOutcome::Finished { text } = outcome {
        *text = ralph_engine::text::tail(text, FINAL_MAX);
    }
}

/// An agent that works in the sandbox.
async fn component(
    call: &AgentCall<'_>,
    announced: Syncing,
    ctx: &CallContext,
    services: &CallServices,
) -> Result<AgentDone, Error> {
    announced.wait().await?;
    let timeout = call.agent.agent.timeout.get();
    let run = call
        .agent
        .bound
        .plugin
        .run_agent(ctx, &call.it, call.prompt);
    let outcome = tokio::select! {
        ran = tokio::time::timeout(timeout, run) => match ran {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(e)) => AgentOutcome::Failed { message: e.to_string() },
            Err(_) => timed_out("timeout", timeout),
        },
        () = call.stopping.force() => AgentOutcome::Interrupted,
    };
    let usage = services.usage.lock().map(|u| *u).unwrap_or_default();
    Ok(AgentDone {
        outcome,
        usage,
        code: None,
        sandbox: None,
        millis: 0,
        session: None,
    })
}

/// A native program that a driver describes.
async fn driver(
    call: &AgentCall<'_>,
    announced: Syncing,
    ctx: &CallContext,
) -> Result<AgentDone, Error> {
    let plugin = &call.agent.bound.plugin;
    let failed = |e: PluginError| AgentDone {
        outcome: AgentOutcome::Failed {
            message: e.to_string(),
        },
        usage: Usage::default(),
        code: None,
        sandbox: None,
        millis: 0,
        session: None,
    };
    std::fs::write(
        std::path::Path::new(&call.it.scratch).join("prompt.md"),
        call.prompt,
    )
    .map_err(|e| Error::io("prompt.md in the scratch directory", e))?;
    let launch = plugin.prepare(ctx, &call.it, call.prompt).await?;
    let work = call.it.role == Role::Work;
    let mut session = match plugin.session(ctx, &call.it).await {
        Ok(session) => session,
        Err(e) => return Ok(failed(e)),
    };
    program::make_home(call.agent)?;
    let mut seat = Seat::new(call.stopping.console(), launch.pty, work);
    let refused = |e: &dyn std::fmt::Display| {
        Error::Usage(format!(
            "agent `{}` could not be started: {e}",
            call.agent.name
        ))
    };
    let mut spawn = spawn(call, &launch, &seat);
    let scratch = std::path::Path::new(&call.it.scratch);
    let hold = &call.agent.hold;
    let mut confined = hold
        .confine(call.ws, Some(scratch), &mut spawn)
        .await
        .map_err(|e| refused(&e))?;
    announced.wait().await?;
    let mut running = ralph_process::start(spawn).map_err(|e| refused(&e))?;
    confined.started().map_err(|e| refused(&e))?;
    let remembered = leftover::remember(call.ws, running.pid(), running.start_time());
    seat.sit(running.terminal());
    let mut log = RawLog::open(call.ws, call.log, call.log_size)?;
    let given = Given::of(ctx, &call.it, plugin.digest());
    let mut tape = AgentTape::new(given, &launch, call.log, log.from());
    tape.terminal = seat.size().map(|s| (s.rows, s.columns));
    let mut sum = Sum::default();
    let fed = feed(
        call,
        &mut running,
        &mut session,
        &mut log,
        &mut sum,
        &mut tape,
        &mut seat,
    )
    .await;
    let finished = running.finish().await;
    drop(seat);
    drop(remembered);
    let sandbox = holding::record(&confined);
    log.end(&finished.stderr_tail);
    let dismissed = match fed {
        Ok(dismissed) => dismissed,
        Err(e) => {
            return Ok(AgentDone {
                usage: sum.usage,
                session: sum.session,
                code: finished.code,
                sandbox,
                ..failed(e)
            });
        }
    };
    let outcome = match finished.ended_by {
        EndedBy::Stopped if !dismissed => AgentOutcome::Interrupted,
        EndedBy::Timeout => timed_out("timeout", call.agent.agent.timeout.get()),
        EndedBy::Startup => timed_out("startup_timeout", call.agent.agent.startup_timeout.get()),
        EndedBy::Idle => timed_out("idle_timeout", call.agent.agent.idle_timeout.get()),
        EndedBy::Itself | EndedBy::Stopped => {
            let exit = Exit {
                code: finished.code,
                signal: finished.signal,
                stderr_tail: finished.stderr_tail,
                collected: collect(&call.it.scratch, &launch.collect),
            };
            let kept = ExitTape::of(&exit);
            let mut outcome = match session.finish(exit).await {
                Ok((outcome, events)) => {
                    for event in events {
                        tape.event(&event);
                        show(call, &mut sum, event);
                    }
                    outcome
                }
                Err(e) => AgentOutcome::Failed {
                    message: e.to_string(),
                },
            };
            shorten(&mut outcome);
            tape.end(Some(kept), Some(outcome.clone()));
            outcome
        }
    };
    if tape.exit.is_none() {
        tape.end(None, None);
    }
    tape::save(call.ws, call.tape, &tape);
    Ok(AgentDone {
        outcome,
        usage: sum.usage,
        code: finished.code,
        sandbox,
        millis: 0,
        session: sum.session,
    })
}

/// Says whether the program was ended because its driver had no more use for it.
async fn feed(
    call: &AgentCall<'_>,
    running: &mut Running,
    session: &mut Session,
    log: &mut RawLog,
    sum: &mut Sum,
    tape: &mut AgentTape,
    seat: &mut Seat,
) -> Result<bool, PluginError> {
    let stopper = running.stopper();
    let (mut stopped, mut dismissed) = (false, false);
    let mut goodbye: Option<tokio::time::Instant> = None;
    let mut ended = false;
    while !ended {
        let held = seat.held();
        running.hold_idle(held);
        let chunk = tokio::select! {
            chunk = running.next() => chunk,
            () = call.stopping.force(), if !stopped => {
                stopper.stop();
                stopped = true;
                continue;
            }
            () = until(goodbye), if !stopped => {
                stopper.stop();
                (stopped, dismissed) = (true, true);
                continue;
            }
            () = seat.changes(held) => continue,
        };
        let text = match chunk {
            Some(chunk) => {
                log.write(&chunk);
                tape.chunk(chunk.len(), log.is_whole());
                seat.text(chunk)
            }
            None => {
                ended = true;
                seat.rest()
            }
        };
        if text.is_empty() {
            continue;
        }
        let reaction = match session.feed(&text).await {
            Ok(reaction) => reaction,
            Err(e) => {
                stopper.stop();
                return Err(e);
            }
        };
        for event in reaction.events {
            tape.event(&event);
            show(call, sum, event);
        }
        tape.wrote(&reaction.stdin, reaction.close_stdin);
        if !reaction.stdin.is_empty()
            && let Err(e) = running.write_stdin(&reaction.stdin).await
        {
            tracing::warn!("the agent doesn't read its input: {e}");
        }
        if reaction.close_stdin {
            running.close_stdin();
            goodbye.get_or_insert_with(|| tokio::time::Instant::now() + GOODBYE);
        }
    }
    Ok(dismissed)
}

/// For ever without a time.
async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn show(call: &AgentCall<'_>, sum: &mut Sum, event: AgentEvent) {
    match &event {
        AgentEvent::Usage(u) => sum.usage = *u,
        AgentEvent::Notice(notice) if sum.session.is_none() => sum.session = session_in(notice),
        _ => {}
    }
    call.bus.send(&Event::Agent {
        role: call.it.role,
        what: event,
    });
}

/// The id in a notice `NAME session ID…`, as `wit/types.wit` has it.
fn session_in(notice: &str) -> Option<String> {
    let mut words = notice.split([' ', ',']);
    let told = words.next() == Some("session") || words.next() == Some("session");
    let id = words
        .next()
        .filter(|id| told && !id.is_empty() && id.len() <= 128)?;
    Some(ralph_engine::text::strip_escapes(id))
}

fn spawn(call: &AgentCall<'_>, launch: &Launch, seat: &Seat) -> Spawn {
    let mut env = program::environment(call.agent, &launch.env);
    if seat.size().is_some() && !env.iter().any(|(name, _)| name == "TERM") {
        env.push(("TERM".into(), "xterm-256color".into()));
    }
    let some = |d: Duration| Some(d).filter(|d| !d.is_zero() && !seat.attended());
    Spawn {
        program: program::resolve(call.ws.root(), &launch.program, &env),
        args: launch.args.iter().map(Into::into).collect(),
        cwd: call.ws.root().to_path_buf(),
        env,
        stdin: match (&launch.stdin, launch.keep_stdin) {
            (bytes, true) => Stdin::Keep(bytes.clone().unwrap_or_default()),
            (Some(bytes), false) => Stdin::Bytes(bytes.clone()),
            (None, false) => Stdin::Empty,
        },
        timeout: some(call.agent.agent.timeout.get()),
        idle_timeout: some(call.agent.agent.idle_timeout.get()),
        startup_timeout: some(call.agent.agent.startup_timeout.get()),
        secrets: ralph_process::secrets(),
        terminal: seat.size(),
        grace: Duration::from_secs(2),
        confinement: None,
    }
}

fn timed_out(key: &str, limit: Duration) -> AgentOutcome {
    AgentOutcome::TimedOut {
        message: format!(
            "the agent was ended after its {key} of {}s",
            limit.as_secs()
        ),
    }
}

/// Was it done on the worker's behalf?
pub fn suffix(role: Role) -> &'static str {
    match role {
        Role::Work => "",
        Role::Judge => "-judge",
        Role::Review => "-review",
    }
}
