//! Keeps a run going: starts `ralph run` as a program of its own and starts it
//! again when it died or failed, by the policy in `[supervise]`. A run that is
//! killed outright is thus taken up like any other.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use ralph_config::types::{Restart, Supervise};
use ralph_engine::fact::EndReason;
use tokio::process::Command;

use crate::clock;
use crate::control::Stopping;
use crate::error::Error;

/// A run that lasted this long was none that fails at once: the count begins anew.
const LASTED: Duration = Duration::from_secs(600);
/// Waits between restarts double up to this.
const BACKOFF_MAX: Duration = Duration::from_secs(600);
/// Waited for a limit whose end nobody knows.
const LIMIT_WAIT: Duration = Duration::from_secs(15 * 60);

/// What is done after a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing more, with this exit code.
    Stop(u8),
    /// Again, after a while.
    Again(Duration),
}

/// How a run ended, seen from outside.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Its exit code; 128 and the signal's number if one ended it.
    pub code: u8,
    /// Why, if it could still record that.
    pub reason: Option<EndReason>,
    /// Restarts in a row so far.
    pub restarts: u32,
    /// Seconds until a provider's limit is over, if that is known.
    pub resets_in: Option<Duration>,
}

/// The policy, in one place.
pub fn next(policy: &Supervise, ended: &Ended) -> Next {
    let again = |wait| {
        if ended.restarts >= policy.max_restarts {
            Next::Stop(ended.code)
        } else {
            Next::Again(wait)
        }
    };
    let doubled = policy.backoff.get() * 2_u32.saturating_pow(ended.restarts.min(16));
    let backoff = doubled.min(BACKOFF_MAX.max(policy.backoff.get()));
    match (policy.restart, ended.code, &ended.reason) {
        // A configuration does not mend itself, and neither does a login.
        (Restart::Never, ..) | (_, 0 | 3, _) => Next::Stop(ended.code),
        (_, _, Some(EndReason::Unauthenticated { .. })) => Next::Stop(ended.code),
        (_, 1, Some(EndReason::Limited { .. })) => {
            Next::Again(ended.resets_in.unwrap_or(LIMIT_WAIT))
        }
        // Ended in good order, without being done: a person has to look.
        (Restart::OnFailure, 1, _) => Next::Stop(1),
        _ => again(backoff),
    }
}

/// What a supervised run is told to do and tells.
pub struct Supervised<'a> {
    /// The policy.
    pub policy: &'a Supervise,
    /// The program, ralph itself.
    pub program: PathBuf,
    /// `run` and what follows.
    pub args: Vec<OsString>,
    /// Reads why the last run ended, from the project's records.
    pub reason: &'a (dyn Fn() -> Option<EndReason> + Sync),
    /// Shown to a person.
    pub say: &'a (dyn Fn(String) + Sync),
}

impl Supervised<'_> {
    /// Until a run ends for good or somebody asks for the end; the exit code.
    pub async fn go(&self, stopping: &Stopping) -> Result<u8, Error> {
        let mut restarts = 0;
        loop {
            let begun = Instant::now();
            let code = self.once(stopping).await?;
            if begun.elapsed() >= LASTED {
                restarts = 0;
            }
            if stopping.asked().is_some() {
                return Ok(code);
            }
            let reason = (self.reason)();
            let ended = Ended {
                code,
                resets_in: resets_in(reason.as_ref()),
                reason,
                restarts,
            };
            match next(self.policy, &ended) {
                Next::Stop(code) => return Ok(code),
                Next::Again(wait) => {
                    restarts += 1;
                    let seconds = wait.as_secs_f64();
                    (self.say)(format!(
                        "the run ended with code {code}; again in {seconds:.0} s (restart {restarts})"
                    ));
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = stopping.any() => return Ok(code),
                    }
                }
            }
        }
    }

    /// One run. A wish to stop is handed on as SIGTERM; a terminal's ctrl-c has reached it already.
    async fn once(&self, stopping: &Stopping) -> Result<u8, Error> {
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .spawn()
            .map_err(|e| Error::io(&self.program.display().to_string(), e))?;
        let status = tokio::select! {
            status = child.wait() => status,
            () = stopping.any() => {
                let pid = child.id().and_then(|id| i32::try_from(id).ok());
                if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                }
                child.wait().await
            }
        };
        status
            .map(code)
            .map_err(|e| Error::io("the supervised run", e))
    }
}

fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|c| u8::try_from(c).ok()).unwrap_or(2)
}

fn resets_in(reason: Option<&EndReason>) -> Option<Duration> {
    let Some(EndReason::Limited {
        resets_at: Some(at),
        ..
    }) = reason
    else {
        return None;
    };
    let seconds = clock::seconds(&clock::now(), at);
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(86_400.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: u8, reason: Option<EndReason>, restarts: u32) -> Ended {
        Ended {
            code,
            reason,
            restarts,
            resets_in: None,
        }
    }

    #[test]
    fn what_mends_itself_is_tried_again_and_nothing_else() {
        let policy = Supervise::default();
        let killed = next(&policy, &ended(137, None, 0));
        assert_eq!(killed, Next::Again(policy.backoff.get()));
        assert_eq!(
            next(&policy, &ended(2, None, 2)),
            Next::Again(policy.backoff.get() * 4)
        );
        assert_eq!(
            next(&policy, &ended(2, None, policy.max_restarts)),
            Next::Stop(2)
        );
        assert_eq!(
            next(&policy, &ended(0, Some(EndReason::Complete), 0)),
            Next::Stop(0)
        );
        assert_eq!(next(&policy, &ended(3, None, 0)), Next::Stop(3));
        assert_eq!(
            next(&policy, &ended(1, Some(EndReason::NoProgress), 0)),
            Next::Stop(1)
        );
        let login = EndReason::Unauthenticated {
            message: String::new(),
        };
        assert_eq!(next(&policy, &ended(2, Some(login), 0)), Next::Stop(2));
        let limit = EndReason::Limited {
            message: String::new(),
            resets_at: None,
        };
        assert_eq!(
            next(&policy, &ended(1, Some(limit), 99)),
            Next::Again(LIMIT_WAIT)
        );
    }

    #[test]
    fn always_and_never_mean_it() {
        let with = |restart| Supervise {
            restart,
            ..Supervise::default()
        };
        let stalled = ended(1, Some(EndReason::NoProgress), 0);
        assert!(matches!(
            next(&with(Restart::Always), &stalled),
            Next::Again(_)
        ));
        assert_eq!(
            next(&with(Restart::Never), &ended(137, None, 0)),
            Next::Stop(137)
        );
    }
}
