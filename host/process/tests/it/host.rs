//! Hosts that die, or were started in a strange way: this test program, run
//! again with one of its own tests.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_process::{Spawn, reap_leftover, start};

use crate::{SECOND, line, lives, sh, within};

const HOST: &str = "RALPH_TEST_HOST";

pub fn command(module: &str, test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test_name = format!("{module}::{test}");
    command
        .args(["--exact", &test_name, "--nocapture"])
        .env(HOST, test);
    command.stdout(Stdio::piped());
    command
}

/// Runs one of the tests as a process of its own; what it answered.
pub fn run(module: &str, test: &str, stdin: Stdio) -> String {
    let output = command(module, test).stdin(stdin).output().unwrap();
    answer(BufReader::new(&output.stdout[..]))
}

pub fn answer(output: impl BufRead) -> String {
    let mut lines = output.lines().map(Result::unwrap);
    // libtest writes the test's name in front of it.
    let line = lines
        .find(|line| line.contains("ANSWER "))
        .expect("an answer");
    line.split_once("ANSWER ").unwrap().1.to_string()
}

/// Does nothing, unless this process was started for this test.
pub fn only_there(test: &str, body: impl Future<Output = String>) {
    if std::env::var(HOST).as_deref() == Ok(test) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let answer = runtime.block_on(body);
        println!("ANSWER {answer}");
    }
}

#[test]
fn a_host_that_waits() {
    only_there("a_host_that_waits", async {
        let script = "setsid sh -c 'echo $$; exec sleep 600' & sh -c 'sleep 600'";
        let mut running = start(sh(script)).unwrap();
        let stray = line(&mut running).await;
        println!("ANSWER {} {} {stray}", running.pid(), running.start_time());
        running.finish().await;
        String::new()
    });
}

/// Kills a host; gives its child's pid and start time, and the pid of a
/// grandchild in a session of its own that is left.
fn killed_host() -> (u32, u64, String) {
    let mut host = command("host", "a_host_that_waits").spawn().unwrap();
    let told = answer(BufReader::new(host.stdout.take().unwrap()));
    let parts: Vec<_> = told.split(' ').collect();
    host.kill().unwrap();
    host.wait().unwrap();
    let started = Instant::now();
    while lives(parts[0]) {
        within(SECOND, started);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(lives(parts[2]));
    (
        parts[0].parse().unwrap(),
        parts[1].parse().unwrap(),
        parts[2].to_string(),
    )
}

#[test]
fn what_a_killed_host_leaves_behind_is_reaped() {
    // Elsewhere, for this process adopts orphans and its other tests end them.
    // One after the other there, for what is left of any host that died within
    // the same seconds is reaped together.
    assert_eq!(run("host", "a_next_host", Stdio::null()), "done");
}

#[test]
fn a_next_host() {
    only_there("a_next_host", async {
        // From here on it is this process that adopts orphans.
        start(sh("true")).unwrap().finish().await;
        a_killed_host_takes_its_child_along_and_the_rest_is_reaped_later();
        a_live_leftover_is_reaped_only_if_its_start_time_fits();
        "done".to_string()
    });
}

fn a_killed_host_takes_its_child_along_and_the_rest_is_reaped_later() {
    let (pid, start_time, stray) = killed_host();
    let other = start_time + 100_000;
    assert!(!reap_leftover(pid, other), "the start time doesn't fit");
    assert!(lives(&stray));
    assert!(reap_leftover(pid, start_time));
    assert!(!lives(&stray));
    assert!(!reap_leftover(pid, start_time), "nothing is left");
}

fn a_live_leftover_is_reaped_only_if_its_start_time_fits() {
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let start_time: u64 = stat.split(' ').nth(21).unwrap().parse().unwrap();
    assert!(!reap_leftover(child.id(), start_time + 1));
    assert_eq!(child.try_wait().unwrap(), None);
    assert!(reap_leftover(child.id(), start_time));
    assert!(child.wait().unwrap().code().is_none());
}

#[test]
fn nobody_reaps_itself() {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let start_time: u64 = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split(' ')
        .nth(20)
        .unwrap()
        .parse()
        .unwrap();
    assert!(!reap_leftover(std::process::id(), start_time));
}

#[test]
fn a_host_that_asks_for_a_code() {
    only_there("a_host_that_asks_for_a_code", async {
        let end = start(sh("exit 9")).unwrap().finish().await;
        format!("{:?}", end.code)
    });
}

#[test]
fn exit_codes_survive_a_host_that_was_started_with_sigchld_ignored() {
    let exe = std::env::current_exe().unwrap();
    let test = "a_host_that_asks_for_a_code";
    let output = Command::new("env")
        .arg("--ignore-signal=CHLD")
        .arg(exe)
        .args(["--exact", &format!("host::{test}"), "--nocapture"])
        .env(HOST, test)
        .output()
        .unwrap();
    assert_eq!(answer(BufReader::new(&output.stdout[..])), "Some(9)");
}

#[test]
fn a_child_does_not_read_the_hosts_input() {
    let (reader, writer) = std::io::pipe().unwrap();
    assert_eq!(
        run("host", "a_host_with_an_open_input", reader.into()),
        "Some(0)"
    );
    drop(writer);
}

#[test]
fn a_host_with_an_open_input() {
    only_there("a_host_with_an_open_input", async {
        let end = start(sh("cat")).unwrap().finish().await;
        format!("{:?}", end.code)
    });
}

/// As in a container: a pid namespace whose first process made no session, so
/// that ours is none of ours.
#[test]
fn a_host_in_a_session_of_another_namespace_ends_its_children() {
    let exe = std::env::current_exe().unwrap();
    let test = "a_host_with_a_stubborn_child";
    let namespace = |program: &std::path::Path| {
        let mut command = Command::new("unshare");
        let flags = "--user --map-root-user --pid --fork --mount-proc";
        command.args(flags.split(' ')).arg(program);
        command
    };
    let there = namespace("true".as_ref()).output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this system gives no pid namespaces");
        return;
    }
    let output = namespace(&exe)
        .args(["--exact", &format!("host::{test}"), "--nocapture"])
        .env(HOST, test)
        .output()
        .unwrap();
    assert_eq!(
        answer(BufReader::new(&output.stdout[..])),
        "0 Some(9) false"
    );
}

#[test]
fn a_host_with_a_stubborn_child() {
    only_there("a_host_with_a_stubborn_child", async {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let session = stat.split(' ').nth(5).unwrap().to_string();
        let script = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; sleep 600' & sleep 600; sleep 600";
        let mut running = start(Spawn {
            grace: Duration::from_millis(100),
            ..sh(script)
        })
        .unwrap();
        let stray = line(&mut running).await;
        running.stopper().stop();
        let end = running.finish().await;
        format!("{session} {:?} {}", end.signal, lives(&stray))
    });
}
