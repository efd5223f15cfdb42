//! A host that is killed leaves nobody behind.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use ralph_process::{dismiss_warden, post_warden, start};

use crate::host::{answer, command, only_there, run};
use crate::{SECOND, line, lives, sh};

/// A child in our session, one in its own, one deaf to SIGTERM, one that holds
/// the pipe, and one whose parents are gone, in a session of its own with an
/// empty environment and closed streams.
const FAMILY: &str = "
sh -c 'echo $$; exec sleep 600' &
setsid sh -c 'echo $$; exec sleep 600' &
sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' &
setsid -f env -i /bin/sh -c 'echo $$; exec >&- 2>&- </dev/null; sleep 600; :'
exec sleep 600";

#[test]
fn a_host_that_will_be_killed() {
    only_there("a_host_that_will_be_killed", async {
        post_warden().unwrap();
        let mut running = start(sh(FAMILY)).unwrap();
        let mut pids = vec![running.pid().to_string()];
        while pids.len() < 5 {
            let told = line(&mut running).await;
            pids.extend(told.split_whitespace().map(str::to_owned));
        }
        println!("ANSWER {}", pids.join(" "));
        running.finish().await;
        String::new()
    });
}

#[test]
fn nobody_of_a_killed_host_lives_on() {
    let mut host = command("warden", "a_host_that_will_be_killed")
        .spawn()
        .unwrap();
    let told = answer(BufReader::new(host.stdout.take().unwrap()));
    let pids: Vec<_> = told.split(' ').collect();
    assert_eq!(pids.len(), 5, "{told}");
    assert!(pids.iter().all(|pid| lives(pid)), "{told}");
    host.kill().unwrap();
    host.wait().unwrap();
    // There is no event for the end of a stranger; a limit, should it never come.
    let since = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| lives(pid)) {
        assert!(since.elapsed() < 20 * SECOND, "{pid} of {told} lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_host_that_ends_in_good_order_leaves_running_what_it_let_run() {
    let told = run("warden", "a_host_that_lets_one_run", Stdio::null());
    assert!(lives(&told), "{told}");
    let pid = rustix::process::Pid::from_raw(told.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_host_that_lets_one_run() {
    only_there("a_host_that_lets_one_run", async {
        post_warden().unwrap();
        let mut child = std::process::Command::new("setsid")
            .args(["-f", "sh", "-c", "echo $$; exec sleep 600 >&- 2>&-"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut pid).unwrap();
        child.wait().unwrap();
        dismiss_warden();
        pid.trim().to_owned()
    });
}
