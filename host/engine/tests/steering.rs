//! Wishes from another terminal, as facts: pause, resume, and words for the next attempt.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use ralph_engine::fact::{EndReason, Phase, Rules};
use ralph_engine::types::Task;
use ralph_engine::{Effect, Fact, State};

fn started() -> State {
    let mut state = State::default();
    state
        .apply(&Fact::RunStarted {
            run: "run-1".into(),
            agent: "a".into(),
            rules: Rules {
                max_iterations: 5,
                max_attempts: 3,
                no_progress_limit: 3,
                gates: Vec::new(),
                groups: Default::default(),
                fail_fast: false,
                judge: false,
                review: false,
                commit: false,
                mark_last: false,
                budget: Default::default(),
                limits: Default::default(),
            },
            target: None,
        })
        .unwrap();
    state
}

fn selected() -> Fact {
    Fact::Selected {
        task: Task {
            id: "T1".into(),
            ..Task::default()
        },
        done: 0,
        total: 1,
    }
}

fn pause() -> Fact {
    Fact::PauseAsked { checkpoint: false }
}

#[test]
fn while_paused_no_iteration_starts_and_afterwards_the_task_file_is_asked_again() {
    let mut state = started();
    state.apply(&selected()).unwrap();
    state.apply(&pause()).unwrap();
    assert_eq!(state.next(), Effect::Pause);
    state.apply(&Fact::ResumeAsked).unwrap();
    assert_eq!(state.next(), Effect::Select { target: None });
    state.apply(&selected()).unwrap();
    assert_eq!(state.next(), Effect::Prepare);
}

#[test]
fn an_iteration_that_is_on_goes_on_while_a_pause_waits() {
    let mut state = started();
    state.apply(&selected()).unwrap();
    let phase = Phase::Prepare;
    state.apply(&Fact::Started { phase }).unwrap();
    state.apply(&pause()).unwrap();
    assert_eq!(state.next(), Effect::Prepare);
}

#[test]
fn a_stop_ends_a_paused_run_and_nothing_more_is_run() {
    let mut state = started();
    state.apply(&selected()).unwrap();
    state.apply(&pause()).unwrap();
    state.apply(&Fact::StopAsked { force: false }).unwrap();
    assert_eq!(state.next(), Effect::End(EndReason::Stopped));
}

#[test]
fn a_run_that_is_taken_up_is_not_paused_any_more() {
    let mut state = started();
    state.apply(&pause()).unwrap();
    let again = started().run.unwrap();
    state
        .apply(&Fact::RunStarted {
            run: again.id,
            agent: again.agent,
            rules: again.rules,
            target: None,
        })
        .unwrap();
    state.apply(&selected()).unwrap();
    assert_eq!(state.next(), Effect::Prepare);
}

#[test]
fn only_the_words_a_prompt_held_are_taken_from_the_queue() {
    let mut state = State::default();
    let say = |state: &mut State, text: &str| {
        state.apply(&Fact::Injected { text: text.into() }).unwrap();
    };
    say(&mut state, "kept from before the run");
    let queued = state.injected.clone();
    let mut state = State {
        injected: queued,
        ..started()
    };
    say(&mut state, "second");
    say(&mut state, "came while the prompt was written");
    state.apply(&Fact::Delivered { injected: 2 }).unwrap();
    assert_eq!(state.injected, ["came while the prompt was written"]);
}

#[test]
fn a_skipped_task_is_not_begun_and_stays_skipped_until_the_run_ends() {
    let mut state = started();
    state.apply(&selected()).unwrap();
    let task = "T1".to_owned();
    state.apply(&Fact::SkipAsked { task }).unwrap();
    assert_eq!(state.next(), Effect::Select { target: None });
    let take_up = |state: &mut State, run: &str| {
        let rules = started().run.unwrap().rules;
        let (run, agent) = (run.into(), "a".into());
        let target = None;
        let begun = Fact::RunStarted {
            run,
            agent,
            rules,
            target,
        };
        state.apply(&begun).unwrap();
    };
    take_up(&mut state, "run-1");
    assert!(state.run.as_ref().unwrap().skipped.contains("T1"));
    let task = "T1".to_owned();
    let undone = Fact::UnskipAsked { task: task.clone() };
    state.apply(&undone).unwrap();
    assert!(state.run.as_ref().unwrap().skipped.is_empty());
    state.apply(&Fact::SkipAsked { task }).unwrap();
    assert!(state.run.as_ref().unwrap().skipped.contains("T1"));
    take_up(&mut state, "run-2");
    assert!(state.run.as_ref().unwrap().skipped.is_empty());
}
