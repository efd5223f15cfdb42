//! Those who rule on an iteration: the gates, then judge and reviewer.

use std::sync::Arc;
use std::time::Instant;

use ralph_engine::Fact;
use ralph_engine::event::Event;
use ralph_engine::fact::EndReason;
use ralph_engine::gates;
use ralph_engine::state::Current;
use ralph_engine::types::{AgentOutcome, Evidence, GateResult, Iteration, Role, Severity, Verdict};
use ralph_plugins::{PluginError, RefusalKind};
use tokio::task::JoinSet;

use crate::agent;
use crate::ask::{self, Answer, Question};
use crate::bus::Bus;
use crate::control::Stopping;
use crate::error::Error;
use crate::notify::Outlet;
use crate::redact;
use crate::registry::{BoundGate, GATE_SLACK};
use crate::replay::tape::{self, Asked, ChangesTape, GateTape, Given};
use crate::run::Loop;
use crate::services::{ASKED_MAX, CallServices, GateAccess, Looked};
use crate::setup::Setup;

impl Loop {
    /// All of them side by side, or one after another with `fail_fast`. Each
    /// answer is journaled as it comes. Told to stop at once, those at work are
    /// ended and have not answered.
    pub(crate) async fn run_gates(&mut self, names: Vec<String>) -> Result<(), Error> {
        let looked = self.looked().await?;
        let files = ChangesTape {
            files: looked.files.as_ref().clone(),
        };
        tape::save(&self.s.project.ws, &self.places()?.tape("changes"), &files);
        let width = if self.s.rules.fail_fast {
            1
        } else {
            names.len().max(1)
        };
        let mut waiting = names.into_iter();
        let mut at_work = JoinSet::new();
        loop {
            while at_work.len() < width
                && let Some(name) = waiting.next()
            {
                let gate = self.s.gates.get(&name).cloned();
                self.bus.send(&Event::GateStarted { name: name.clone() });
                at_work.spawn(check(self.gate_call(gate, name, &looked)?));
            }
            let joined = tokio::select! {
                joined = at_work.join_next() => joined,
                () = self.stopping.force() => {
                    at_work.shutdown().await;
                    return Ok(());
                }
            };
            let Some(joined) = joined else { return Ok(()) };
            let fact = joined
                .map_err(|e| Error::Internal(format!("a gate's task ended oddly: {e}")))??;
            self.record(fact)?;
            if self.s.rules.fail_fast
                && gates::weigh(&self.s.rules.groups, &self.current()?.gates).refuses()
            {
                return Ok(());
            }
        }
    }

    fn gate_call(
        &self,
        gate: Option<BoundGate>,
        name: String,
        looked: &Arc<Looked>,
    ) -> Result<GateCall, Error> {
        let access = gate.as_ref().map(|g| GateAccess {
            ws: self.s.project.ws.clone(),
            changes: Some((self.s.git.clone(), looked.as_ref().clone())),
            timeout: g.gate.timeout.get(),
            env: g.gate.env.clone(),
            hold: g.hold.clone(),
            outlet: Outlet::of(&self.s.project),
        });
        let services = CallServices {
            gate: access,
            ..CallServices::plain(&name, &self.bus, &self.stopping)
        };
        Ok(GateCall {
            it: self.iteration(Role::Work, &self.current()?.agent)?,
            seed: self.seed(),
            services: Arc::new(services),
            sees: self.sees(gate.as_ref()),
            tape: Some(self.places()?.tape(&format!("gate-{name}"))),
            gate,
            name,
        })
    }

    /// What a gate may see that no replay can show it again.
    fn sees(&self, gate: Option<&BoundGate>) -> Vec<String> {
        let name = gate.and_then(|g| g.gate.plugin.as_ref());
        let table = name.and_then(|name| self.s.project.config.plugins.get(name));
        let Some(allow) = table.map(|t| &t.allow) else {
            return Vec::new();
        };
        let mut sees: Vec<String> = allow
            .read
            .iter()
            .chain(&allow.write)
            .map(|path| format!("what is at {path}"))
            .collect();
        sees.extend(allow.env.iter().map(|name| format!("the variable {name}")));
        for (granted, what) in [
            (allow.clock, "the clock"),
            (allow.random, "randomness"),
            (allow.state, "what it keeps"),
            (!allow.http.is_empty(), "the network"),
        ] {
            sees.extend(granted.then(|| what.to_owned()));
        }
        sees
    }

    pub(crate) async fn ask(&mut self, role: Role) -> Result<Vec<Fact>, Error> {
        let began = Instant::now();
        let looked = self.looked().await?;
        let places = self.places()?;
        let seed = self.seed();
        let asker = if role == Role::Review {
            &self.s.review
        } else {
            &self.s.judge
        };
        let Some(asker) = asker else {
            return Err(Error::Internal("nobody to ask is configured".into()));
        };
        let c = self.current()?;
        let final_text = match c.ended.as_ref().map(|e| &e.outcome) {
            Some(AgentOutcome::Finished { text }) => text.clone(),
            _ => String::new(),
        };
        let evidence = redact::clean(Evidence {
            diff: self
                .s
                .git
                .diff(&looked.base, &looked.now, &looked.ignore, asker.max_diff)
                .await?,
            files: looked.files.as_ref().clone(),
            gates: c.gates.clone(),
            final_text,
            complaint: None,
        });
        let mut held = None;
        let answer = ask::ask(Question {
            judge: &asker.judge,
            agent: &asker.agent,
            it: self.iteration(role, &asker.agent.name)?,
            evidence,
            seed: &seed,
            log: &places.log(&asker.agent.name, agent::suffix(role)),
            log_size: self.s.project.config.files.log_size.bytes(),
            context: &places.context,
            ws: &self.s.project.ws,
            bus: &self.bus,
            stopping: &self.stopping,
            held: &mut held,
        })
        .await?;
        let spent = |usage| Fact::Asked { usage };
        Ok(match answer {
            Answer::Verdict(verdict, usage) => vec![Fact::Answered {
                role,
                verdict,
                plugin: asker.judge.plugin.digest().to_owned(),
                usage,
                millis: began.elapsed().as_millis() as u64,
                sandbox: held,
            }],
            Answer::End(EndReason::Limited { message, resets_at }, usage)
                if self.s.rules.limits.wait =>
            {
                let outcome = AgentOutcome::Limited { message, resets_at };
                let limit = self.limit_met(&asker.agent.name, &outcome, true);
                std::iter::once(spent(usage)).chain(limit).collect()
            }
            Answer::End(end, usage) => vec![spent(usage), Fact::Faulted { end }],
            Answer::Interrupted => Vec::new(),
        })
    }
}

/// What gates are asked about outside of an iteration's own phase.
pub(crate) struct Subject {
    pub(crate) iteration: Iteration,
    pub(crate) seed: String,
}

impl Subject {
    /// An iteration that had passed its gates.
    pub(crate) fn of(c: &Current) -> Subject {
        let prepared = c.prepared.as_ref();
        Subject {
            seed: prepared.map(|p| p.attempt_id.clone()).unwrap_or_default(),
            iteration: Iteration {
                number: c.number,
                attempt: c.attempt,
                agent: c.agent.clone(),
                task: Some(c.task.clone()),
                ..Subject::nobody().iteration
            },
        }
    }

    /// No iteration: a person's own work.
    pub(crate) fn nobody() -> Subject {
        Subject {
            seed: "check".into(),
            iteration: Iteration {
                run_id: String::new(),
                number: 0,
                attempt: 0,
                agent: String::new(),
                role: Role::Work,
                workspace: String::new(),
                scratch: String::new(),
                task: None,
            },
        }
    }
}

/// Asks all gates, side by side. Their answers, by name; each is shown to `seen` when it is there.
pub(crate) async fn again(
    setup: &Setup,
    bus: &Bus,
    seen: &(dyn Fn(&Event) + Sync),
    stopping: &Stopping,
    subject: Subject,
    looked: Looked,
) -> Result<Vec<GateResult>, Error> {
    let mut at_work = JoinSet::new();
    for (name, gate) in &setup.gates {
        seen(&Event::GateStarted { name: name.clone() });
        let access = GateAccess {
            ws: setup.project.ws.clone(),
            changes: Some((setup.git.clone(), looked.clone())),
            timeout: gate.gate.timeout.get(),
            env: gate.gate.env.clone(),
            hold: gate.hold.clone(),
            outlet: Outlet::of(&setup.project),
        };
        at_work.spawn(check(GateCall {
            name: name.clone(),
            gate: Some(gate.clone()),
            it: Iteration {
                workspace: setup.project.ws.root().to_string_lossy().into_owned(),
                ..subject.iteration.clone()
            },
            seed: subject.seed.clone(),
            sees: Vec::new(),
            tape: None,
            services: Arc::new(CallServices {
                gate: Some(access),
                ..CallServices::plain(name, bus, stopping)
            }),
        }));
    }
    let mut results = Vec::new();
    loop {
        let joined = tokio::select! {
            joined = at_work.join_next() => joined,
            () = stopping.force() => {
                at_work.shutdown().await;
                return Ok(results);
            }
        };
        let Some(joined) = joined else { break };
        let fact =
            joined.map_err(|e| Error::Internal(format!("a gate's task ended oddly: {e}")))??;
        let event = Event::Fact(fact);
        seen(&event);
        if let Event::Fact(Fact::GateAnswered { result, .. }) = event {
            results.push(result);
        }
    }
    results.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(results)
}

/// One gate's call, free of the loop, so that many run side by side.
struct GateCall {
    name: String,
    gate: Option<BoundGate>,
    it: Iteration,
    seed: String,
    services: Arc<CallServices>,
    sees: Vec<String>,
    /// Where what it was given is kept for a replay.
    tape: Option<String>,
}

async fn check(call: GateCall) -> Result<Fact, Error> {
    let mut severity = call.gate.as_ref().map_or(Severity::Block, |g| g.severity);
    let access = call.services.gate.as_ref();
    if let (Some(gate), Some((_, looked))) = (&call.gate, access.and_then(|a| a.changes.as_ref()))
        && let Some(verdict) = gate.when.skips(&looked.files)
    {
        return Ok(Fact::GateAnswered {
            result: GateResult {
                name: call.name,
                severity,
                verdict,
            },
            plugin: String::new(),
            millis: 0,
            sandbox: None,
            waited: 0,
        });
    }
    let asked = Instant::now();
    let turn = call.gate.as_ref().and_then(|g| g.turn.clone());
    let _turn = match &turn {
        Some(turn) => Some(turn.lock().await),
        None => None,
    };
    let waited = turn
        .as_ref()
        .map_or(0, |_| asked.elapsed().as_millis() as u64);
    let began = Instant::now();
    let (verdict, plugin) = match &call.gate {
        None => (
            Verdict::could_not("this gate isn't configured any more"),
            String::new(),
        ),
        Some(g) => {
            let root = call
                .services
                .gate
                .as_ref()
                .map(|a| a.ws.root().to_path_buf());
            let ctx = call.services.context(&g.bound.config, root, &call.seed);
            let limit = g.gate.timeout.get() + GATE_SLACK;
            let mut kept = GateTape {
                given: Given::of(&ctx, &call.it, g.bound.plugin.digest()),
                sees: call.sees.clone(),
                answered: true,
                asked: Asked::default(),
            };
            let verdict =
                match tokio::time::timeout(limit, g.bound.plugin.check(&ctx, &call.it)).await {
                    Ok(Ok(verdict)) => verdict,
                    // Nobody's work can mend a configuration: the run ends, and no attempt is spent on it.
                    Ok(Err(
                        e @ PluginError::Refused {
                            kind: RefusalKind::InvalidConfig,
                            ..
                        },
                    )) => return Err(e.into()),
                    Ok(Err(e)) => {
                        severity = g.unable(severity);
                        Verdict::could_not(e.to_string())
                    }
                    Err(_) => {
                        kept.answered = false;
                        severity = g.unable(severity);
                        Verdict::could_not(format!(
                            "no answer within {}s; raise `timeout` of this gate",
                            limit.as_secs()
                        ))
                    }
                };
            if let (Some(access), Ok(asked)) = (&call.services.gate, call.services.asked.lock()) {
                kept.answered &= asked.runs.len() + asked.diffs.len() < ASKED_MAX;
                let (asked, redacted) = redact::noting(asked.clone());
                kept.asked = asked;
                kept.sees.extend(redacted.then(|| "a secret".to_owned()));
                if let Some(path) = &call.tape {
                    tape::save(&access.ws, path, &kept);
                }
            }
            (verdict, g.bound.plugin.digest().to_owned())
        }
    };
    Ok(Fact::GateAnswered {
        result: GateResult {
            name: call.name,
            severity,
            verdict,
        },
        plugin,
        millis: began.elapsed().as_millis() as u64,
        sandbox: call.services.held.lock().ok().and_then(|mut h| h.take()),
        waited,
    })
}
