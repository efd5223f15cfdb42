//! Whole runs in memory: every crash point of a run, and thousands of random ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;

use ralph_engine::fact::{Claim, EndReason, IterationResult, Phase, Rules};
use ralph_engine::gates::{Groups, Known};
use ralph_engine::pace::{Budget, Limits};
use ralph_engine::types::{
    AgentOutcome, GateResult, Severity, Status, Task, TaskState, Usage, Verdict,
};
use ralph_engine::{Effect, Fact, State};

/// A deterministic source of choices.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// What is outside the engine: it survives a crash, the engine's state doesn't.
struct World {
    journal: Vec<Fact>,
    tasks: Vec<(String, TaskState)>,
    tree: u64,
    commits: Vec<(String, String)>,
    /// Calls by (iteration, what).
    calls: BTreeMap<(u32, String), u32>,
    wild: Option<Dice>,
    rules: Rules,
    starts: u32,
}

#[derive(PartialEq)]
enum Step {
    Went,
    Crashed,
    Ended(EndReason),
}

fn rules() -> Rules {
    Rules {
        max_iterations: 40,
        max_attempts: 3,
        no_progress_limit: 5,
        gates: vec!["a".into(), "b".into()],
        groups: Groups::default(),
        fail_fast: false,
        judge: true,
        review: true,
        commit: true,
        mark_last: false,
        budget: Default::default(),
        limits: Default::default(),
    }
}

/// Budgets and limits of every kind, or none.
fn some_rules(dice: &mut Dice) -> Rules {
    let mut maybe = |low: u64, span: u64| (dice.roll(3) == 0).then(|| low + dice.roll(span));
    let budget = Budget {
        seconds: maybe(60, 2_000),
        tokens: maybe(3, 30),
        cost_micros: None,
        per_hour: maybe(1, 5).map(|n| n as u32),
        repeats: maybe(1, 4).unwrap_or(0) as u32,
    };
    let agents = match maybe(0, 2) {
        None => vec![],
        Some(0) => vec!["sim".into()],
        Some(_) => vec!["sim".into(), "second".into()],
    };
    let limits = Limits {
        agents,
        wait: maybe(0, 1).is_none(),
        max_wait: maybe(10, 90_000).unwrap_or(90_000),
    };
    // Alone, one of two, or one by itself and within a group.
    let groups = match maybe(0, 2) {
        None => vec![],
        Some(0) => vec![("any", "a || b")],
        Some(_) => vec![("one", "b"), ("both", "a && (one || b)")],
    };
    let known = ["a", "b"].map(|name| Known { name, warns: false });
    let groups = Groups::new(&known, &groups).unwrap();
    Rules {
        groups,
        fail_fast: maybe(0, 1).is_some(),
        mark_last: maybe(0, 1).is_some(),
        budget,
        limits,
        ..rules()
    }
}

fn pass() -> Verdict {
    Verdict {
        status: Status::Pass,
        summary: String::new(),
        findings: vec![],
    }
}

impl World {
    fn new(tasks: usize, wild: Option<Dice>) -> Self {
        World {
            journal: Vec::new(),
            tasks: (1..=tasks)
                .map(|n| (format!("T{n}"), TaskState::Open))
                .collect(),
            tree: 0,
            commits: Vec::new(),
            calls: BTreeMap::new(),
            wild,
            rules: rules(),
            starts: 0,
        }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.wild.as_mut().is_some_and(|d| d.roll(one_in) == 0)
    }

    fn fold(&self) -> State {
        let mut state = State::default();
        for fact in &self.journal {
            state.apply(fact).unwrap();
        }
        state
    }

    fn record(&mut self, state: &mut State, fact: Fact) {
        let before = state.clone();
        state
            .apply(&fact)
            .unwrap_or_else(|e| panic!("{e}: {fact:?}"));
        check(&before, state, &fact);
        self.journal.push(fact);
    }

    fn begin(&mut self) -> State {
        let mut state = self.fold();
        self.starts += 1;
        let run = state
            .run
            .as_ref()
            .map_or_else(|| format!("run-{}", self.starts), |r| r.id.clone());
        self.record(
            &mut state,
            Fact::RunStarted {
                run,
                agent: "sim".into(),
                rules: self.rules.clone(),
                target: None,
            },
        );
        state
    }

    /// The crash took what the work was measured against.
    fn power_cut(&mut self, state: &mut State) {
        let Some(c) = state.current.clone() else {
            return;
        };
        let attempt = c.prepared.map(|p| p.attempt_id);
        if c.committed.is_some() {
            return;
        }
        let made =
            c.phase == Phase::Commit && self.commits.iter().any(|m| Some(&m.1) == attempt.as_ref());
        let fact = if made {
            Fact::Committed {
                sha: attempt,
                note: None,
            }
        } else {
            Fact::BaseLost {
                base: self.tree.into(),
                tree: self.tree.to_string(),
            }
        };
        self.record(state, fact);
    }

    fn call(&mut self, state: &State, what: impl Into<String>) {
        let n = state.current.as_ref().map_or(0, |c| c.number);
        *self.calls.entry((n, what.into())).or_default() += 1;
    }

    /// Carries out one effect; `crash` cuts it off before (`Some(false)`) or after (`Some(true)`) it took place.
    fn step(&mut self, state: &mut State, crash: Option<bool>) -> Step {
        let effect = state.next();
        if let Some(phase) = effect.phase() {
            self.record(state, Fact::Started { phase });
        }
        if crash == Some(false) {
            return Step::Crashed;
        }
        let facts = self.perform(state, &effect);
        if crash == Some(true) {
            return Step::Crashed;
        }
        for fact in facts {
            self.record(state, fact);
        }
        match effect {
            Effect::End(end) => Step::Ended(end),
            _ => Step::Went,
        }
    }

    fn perform(&mut self, state: &State, effect: &Effect) -> Vec<Fact> {
        let current = state.current.clone();
        let task_id = current
            .as_ref()
            .map(|c| c.task.id.clone())
            .unwrap_or_default();
        match effect {
            Effect::Wait { until, why } => vec![
                Fact::Waiting {
                    until: *until,
                    why: why.clone(),
                },
                Fact::Clock { now: *until },
            ],
            Effect::Idle | Effect::Await => panic!("idle in a run"),
            Effect::Select { .. } => {
                let done = self.tasks.iter().filter(|t| t.1 == TaskState::Done).count() as u32;
                let total = self.tasks.len() as u32;
                let now = state.pace.now.max(1_000) + self.wild.as_mut().map_or(0, |d| d.roll(60));
                let choice = match self.tasks.iter().find(|t| t.1 == TaskState::Open) {
                    Some(t) => Fact::Selected {
                        task: Task {
                            id: t.0.clone(),
                            ..Task::default()
                        },
                        done,
                        total,
                    },
                    None => Fact::NothingSelectable {
                        done,
                        total,
                        open: self
                            .tasks
                            .iter()
                            .filter(|t| t.1 != TaskState::Done)
                            .map(|t| (t.0.clone(), "blocked".into()))
                            .collect(),
                    },
                };
                vec![Fact::Clock { now }, choice]
            }
            Effect::Pause => vec![Fact::ResumeAsked],
            Effect::Prepare => {
                let n = current.unwrap().number;
                vec![Fact::Prepared {
                    attempt_id: format!("iter{n:04}"),
                    fingerprint: "sha256:0".into(),
                    algorithm: "text".into(),
                    base: state
                        .base
                        .as_ref()
                        .filter(|b| b.task == task_id)
                        .map_or(self.tree.into(), |b| b.snapshot.clone()),
                    start_tree: self.tree.to_string(),
                }]
            }
            Effect::RunAgent => {
                self.call(state, "agent");
                if !self.chance(4) {
                    self.tree += 1;
                }
                if self.chance(3) {
                    self.set(&task_id, TaskState::Done);
                }
                let outcome = match self.wild.as_mut().map_or(9, |d| d.roll(12)) {
                    0 => AgentOutcome::Failed {
                        message: "x".into(),
                    },
                    1 => AgentOutcome::Interrupted,
                    2 => AgentOutcome::Limited {
                        message: "x".into(),
                        resets_at: None,
                    },
                    3 => AgentOutcome::TimedOut {
                        message: "x".into(),
                    },
                    _ => AgentOutcome::Finished {
                        text: String::new(),
                    },
                };
                let claim = if self.chance(5) {
                    Claim::None
                } else {
                    Claim::Done
                };
                let usage = Usage {
                    input_tokens: 1,
                    ..Usage::default()
                };
                let limit =
                    matches!(outcome, AgentOutcome::Limited { .. }).then(|| Fact::LimitMet {
                        agent: state.current.as_ref().unwrap().agent.clone(),
                        until: state.pace.now
                            + 60
                            + self.wild.as_mut().map_or(0, |d| d.roll(100_000)),
                        message: "x".into(),
                        resets_at: None,
                        asking: false,
                    });
                let ended = Fact::AgentEnded {
                    outcome,
                    usage,
                    claim,
                    code: Some(0),
                    plugin: String::new(),
                    millis: 1,
                    sandbox: None,
                    session: None,
                };
                let now = state.pace.now + 30;
                let mut facts = vec![ended];
                facts.extend(limit);
                facts.push(Fact::Clock { now });
                facts
            }
            Effect::ReadChanges => {
                let base = current.unwrap().prepared.unwrap().base.as_u64().unwrap();
                vec![Fact::ChangesSeen {
                    now: self.tree.into(),
                    tree: self.tree.to_string(),
                    files: (self.tree - base) as u32,
                    file_state: self.tasks.iter().find(|t| t.0 == task_id).unwrap().1,
                    problems: vec![],
                    tampered: vec![],
                    rigged: vec![],
                }]
            }
            Effect::RunGates(names) => {
                let mut facts = Vec::new();
                for name in names {
                    self.call(state, format!("gate {name}"));
                    let verdict = if self.chance(6) {
                        Verdict::could_not("no")
                    } else {
                        pass()
                    };
                    facts.push(Fact::GateAnswered {
                        result: GateResult {
                            name: name.clone(),
                            severity: match self.chance(8) {
                                true => Severity::Warn,
                                false => Severity::Block,
                            },
                            verdict,
                        },
                        plugin: String::new(),
                        millis: 1,
                        sandbox: None,
                        waited: 0,
                    });
                }
                facts
            }
            Effect::Ask(role) => {
                self.call(state, format!("{role:?}"));
                let verdict = if self.chance(6) {
                    Verdict::could_not("no")
                } else {
                    pass()
                };
                vec![Fact::Answered {
                    role: *role,
                    verdict,
                    plugin: String::new(),
                    usage: Usage::default(),
                    millis: 1,
                    sandbox: None,
                }]
            }
            Effect::Mark(to) => {
                self.set(&task_id, *to);
                vec![Fact::Marked { state: *to }]
            }
            Effect::Commit => {
                let attempt = current.unwrap().prepared.unwrap().attempt_id;
                if !self.commits.iter().any(|c| c.1 == attempt) {
                    if self.chance(8) {
                        return vec![Fact::CommitRefused {
                            output: "hook".into(),
                        }];
                    }
                    self.commits.push((task_id, attempt.clone()));
                }
                vec![Fact::Committed {
                    sha: Some(attempt),
                    note: None,
                }]
            }
            Effect::Close(ruling) => {
                let start: u64 = current
                    .unwrap()
                    .prepared
                    .unwrap()
                    .start_tree
                    .parse()
                    .unwrap();
                vec![Fact::IterationEnded {
                    result: ruling.result,
                    reason: ruling.reason.clone(),
                    progress: ruling.result == IterationResult::Accepted || self.tree != start,
                }]
            }
            Effect::End(end) => vec![Fact::RunEnded { end: end.clone() }],
        }
    }

    fn set(&mut self, id: &str, to: TaskState) {
        self.tasks.iter_mut().find(|t| t.0 == id).unwrap().1 = to;
    }
}

/// Do the two gates agree, by the rule of each of the groups that `some_rules` makes?
fn agree(groups: &Groups, gates: &[GateResult]) -> bool {
    let blocks = gates
        .iter()
        .filter(|g| g.severity == Severity::Block || g.verdict.passed());
    let mut said = blocks.map(|g| g.verdict.passed());
    match groups.iter().count() {
        1 => said.clone().count() == 0 || said.any(|passed| passed),
        _ => said.all(|passed| passed),
    }
}

/// What must hold after every single fact.
fn check(before: &State, after: &State, fact: &Fact) {
    assert!(
        after.iterations >= before.iterations,
        "iteration numbers never run backwards"
    );
    assert!(
        after.usage.input_tokens >= before.usage.input_tokens,
        "usage never runs backwards"
    );
    if let (Some(a), Some(b)) = (&before.run, &after.run)
        && a.id == b.id
    {
        assert!(b.elapsed >= a.elapsed, "time at work runs backwards");
        assert!(b.usage.input_tokens >= a.usage.input_tokens);
    }
    if let (
        Fact::Started {
            phase: Phase::Prepare,
        },
        Some(run),
        None,
    ) = (fact, &before.run, &before.current)
    {
        let budget = &run.rules.budget;
        let hour = |at: &&u64| **at + 3_600 > after.pace.now;
        let begun = after.pace.starts.iter().filter(hour).count();
        assert!(
            budget.per_hour.is_none_or(|n| begun <= n as usize),
            "{begun} iterations within an hour"
        );
        assert!(
            budget.seconds.is_none_or(|s| run.elapsed < s),
            "out of time"
        );
        assert!(
            budget.tokens.is_none_or(|t| run.usage.input_tokens < t),
            "out of tokens"
        );
        let agent = &after.current.as_ref().unwrap().agent;
        let met = before.pace.limits.get(agent);
        assert!(
            met.is_none_or(|m| m.until <= before.pace.now),
            "{agent} works in spite of its limit"
        );
    }
    if let Fact::IterationEnded {
        result: IterationResult::Accepted,
        ..
    } = fact
    {
        let c = before.current.as_ref().unwrap();
        assert_eq!(c.gates.len(), 2, "accepted without all gates");
        let groups = &before.run.as_ref().unwrap().rules.groups;
        assert!(agree(groups, &c.gates), "accepted with a red gate");
        assert!(c.judge.as_ref().unwrap().passed() && c.review.as_ref().unwrap().passed());
        assert_eq!(c.marked, Some(TaskState::Done));
        assert!(c.committed.is_some(), "accepted without its commit");
    }
    if let Fact::Committed { .. } = fact {
        let c = before.current.as_ref().unwrap();
        let groups = &before.run.as_ref().unwrap().rules.groups;
        assert!(
            agree(groups, &c.gates) && c.claimed(),
            "committed what was not accepted"
        );
    }
}

/// Every way in which a plain three-task run can be cut off once: before and after each effect.
#[test]
fn after_a_crash_at_any_effect_nothing_passed_is_repeated_and_nothing_is_skipped() {
    let mut points = 0;
    for after in [false, true] {
        for at in 0.. {
            let mut world = World::new(3, None);
            let mut state = world.begin();
            let mut crashed_in = None;
            let mut n = 0;
            let end = loop {
                let phase = state.next().phase();
                let step = world.step(&mut state, (n == at).then_some(after));
                n += 1;
                match step {
                    Step::Went => {}
                    Step::Ended(end) => break end,
                    Step::Crashed => {
                        crashed_in = Some((phase, state.current.as_ref().map(|c| c.number)));
                        state = world.begin();
                    }
                }
            };
            if crashed_in.is_none() {
                break;
            }
            points += 1;
            assert_eq!(end, EndReason::Complete, "crash {at} after={after}");
            let committed: Vec<_> = world.commits.iter().map(|c| c.0.as_str()).collect();
            assert_eq!(
                committed,
                ["T1", "T2", "T3"],
                "each task committed once, in order; crash {at} after={after}"
            );
            for ((iteration, what), times) in &world.calls {
                // What was cut off in its own midst has to be asked again; nothing else may be.
                let own = crashed_in.is_some_and(|(phase, number)| {
                    number == Some(*iteration)
                        && matches!(phase, Some(Phase::Gates | Phase::Judge | Phase::Review))
                });
                assert!(
                    *times == 1 || (own && after && *times == 2),
                    "{what} of {iteration}: {times} times; crash {at}"
                );
            }
            let agents = world
                .calls
                .keys()
                .filter(|(_, what)| what == "agent")
                .count();
            let cut_agent = matches!(crashed_in, Some((Some(Phase::Agent), _))) && after;
            assert_eq!(
                agents,
                3 + usize::from(cut_agent),
                "crash {at} after={after}"
            );
            assert_eq!(world.fold().run, None);
        }
    }
    assert!(points > 50, "only {points} crash points were tried");
}

#[test]
fn ten_thousand_random_runs_end_and_keep_every_promise() {
    for seed in 1..=10_000u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let tasks = 1 + dice.roll(4) as usize;
        let mut world = World::new(tasks, Some(dice.clone()));
        world.rules = some_rules(&mut dice);
        let mut state = world.begin();
        let mut ended = None;
        for _ in 0..4_000 {
            let crash = (dice.roll(25) == 0).then(|| dice.roll(2) == 0);
            if dice.roll(300) == 0 && state.run.is_some() {
                world.record(
                    &mut state,
                    Fact::StopAsked {
                        force: dice.roll(2) == 0,
                    },
                );
            }
            match world.step(&mut state, crash) {
                Step::Went => {}
                Step::Crashed => {
                    state = world.begin();
                    if dice.roll(6) == 0 {
                        world.power_cut(&mut state);
                    }
                }
                Step::Ended(end) => {
                    ended = Some(end);
                    break;
                }
            }
            assert_eq!(
                world.fold(),
                state,
                "the journal alone gives the state; seed {seed}"
            );
        }
        let end = ended.unwrap_or_else(|| panic!("seed {seed} never ended"));
        for (id, task) in &world.tasks {
            let commits = world.commits.iter().filter(|c| c.0 == *id).count();
            assert!(commits <= 1, "{id} committed {commits} times; seed {seed}");
            if end == EndReason::Complete {
                assert_eq!((*task, commits), (TaskState::Done, 1), "seed {seed}");
            }
        }
    }
}

#[test]
fn an_agent_that_ticks_its_box_and_dies_with_the_host_has_not_finished_its_task() {
    let mut world = World::new(1, None);
    let mut state = world.begin();
    while state.next().phase() != Some(Phase::Agent) {
        world.step(&mut state, None);
    }
    world.step(&mut state, Some(true));
    world.set("T1", TaskState::Done);
    let mut state = world.begin();
    while state.current.is_some() {
        world.step(&mut state, None);
    }
    assert_eq!(
        world.tasks[0].1,
        TaskState::Open,
        "the host must take back a tick it never judged"
    );
}
