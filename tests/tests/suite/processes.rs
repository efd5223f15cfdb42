//! What a run starts ends with it, whatever it does to get away.

use ralph_tests::{Project, below};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// A child in its own session, one that is deaf to polite requests, and one
/// whose parents are gone, with an empty environment and closed streams.
const FAMILY: &str = "
setsid sh -c 'while :; do sleep 1; done' &
sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' &
setsid -f env -i /bin/sh -c 'exec >&- 2>&- </dev/null; while :; do sleep 1; done'
";

/// Nobody is there any more, soon. There is no event for the end of a stranger.
fn all_end(p: &Project) {
    let since = Instant::now();
    loop {
        let left = below(&p.root());
        if left.is_empty() {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "{left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn killed(p: &Project) {
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    assert!(below(&p.root()).len() >= 5, "{:?}", below(&p.root()));
    run.signal(Signal::KILL);
    run.wait();
    all_end(p);
    p.run(&["run"]).expect(0);
    assert_eq!(below(&p.root()), []);
}

/// D01
#[test]
fn when_ralph_is_killed_everything_that_its_agent_has_started_ends_at_once() {
    killed(
        &Project::build()
            .agent(&format!(
                "n=$(count agent); cat >/dev/null; echo \"work $n\" >>work.txt\n\
             if [ $n = 1 ]; then {FAMILY} tell here $$; hang; fi\necho 'EXIT_SIGNAL: true'\n"
            ))
            .ready(),
    );
}

/// D01
#[test]
fn when_ralph_is_killed_everything_that_a_gate_has_started_ends_at_once() {
    killed(
        &Project::build()
            .gate(
                "g",
                &format!("if [ $(count gate) = 1 ]; then {FAMILY} tell here $$; hang; fi\n"),
            )
            .ready(),
    );
}

/// D03
#[test]
fn the_real_agent_behind_a_wrapper_that_ignores_signals_is_ended_with_it() {
    let p = Project::build()
        .agent("n=$(count agent); cat >/dev/null; echo \"work $n\" >>work.txt\n\
            export SIDE
            if [ $n = 1 ]; then trap '' TERM INT HUP; sh -c 'trap \"\" TERM INT HUP; echo x >\"$SIDE/here.fifo\"; while :; do sleep 1; done'; fi\n\
            echo 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::TERM);
    run.wait().expect(143);
    assert_eq!(below(&p.root()), []);
    p.run(&["run"]).expect(0);
}

#[test]
fn what_an_agent_leaves_behind_is_gone_before_the_gates_look() {
    let p = Project::build()
        .agent(&format!(
            "cat >/dev/null; {FAMILY}\necho x >>work.txt; echo 'EXIT_SIGNAL: true'\n"
        ))
        .gate(
            "alone",
            "for d in /proc/[0-9]*; do\n\
               [ \"$(readlink $d/cwd)\" = \"$PWD\" ] && tr '\\0' ' ' <$d/cmdline >>\"$SIDE/seen\" && echo >>\"$SIDE/seen\"\n\
             done\ntrue\n",
        )
        .ready();
    p.run(&["step"]).expect(0);
    let seen = p.noted("seen");
    assert!(!seen.is_empty() && !seen.contains("while :"), "{seen}");
}

/// A script's background job is started with the keys' signals ignored.
#[test]
fn an_agent_can_be_interrupted_from_its_keys_though_ralph_itself_cannot() {
    let p = Project::build()
        .agent("cat >/dev/null; grep SigIgn /proc/self/status >ignored.txt; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    let ralph = p.command(&[]);
    let mut deaf = std::process::Command::new("sh");
    deaf.args(["-c", "trap '' INT QUIT; exec \"$0\" step"])
        .arg(ralph.get_program())
        .env_clear()
        .envs(
            ralph
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(p.root())
        .stdin(std::process::Stdio::null());
    p.start_command(deaf).wait().expect(0);
    let ignored = p.read("ignored.txt");
    let mask = ignored.split_whitespace().nth(1).unwrap();
    // SIGINT is 2, SIGQUIT is 3; a signal's bit is one less.
    assert_eq!(
        u64::from_str_radix(mask, 16).unwrap() & 0b110,
        0,
        "{ignored}"
    );
}

/// B12
#[test]
fn an_agent_that_only_thinks_is_alive() {
    let think = r#"printf '%s\n' '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}}'"#;
    let p = Project::build()
        .other_agent("cli", &format!(
            "cat >/dev/null; for i in 1 2 3 4 5 6 7 8; do {think}; sleep 0.4; done; echo x >>work.txt\n\
             printf '%s\\n' '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"EXIT_SIGNAL: true\"}}'\n"))
        .toml("[agents.claude]\nargv = [\"SIDE/cli\"]\nidle_timeout = \"2s\"\n")
        .ready();
    let (from, to) = (p.side("cli.sh"), p.side("cli"));
    std::fs::copy(from, &to).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&to, mode).unwrap();
    p.run(&["step", "--agent", "claude"]).expect(0);
}

/// B13
#[test]
fn an_agent_that_closes_its_streams_and_lives_on_is_ended_and_its_work_is_kept() {
    let p = Project::build()
        .agent("n=$(count agent); cat >/dev/null; echo $n >>work.txt; echo 'EXIT_SIGNAL: true'\nif [ $n = 1 ]; then exec >&- 2>&-; hang; fi\n")
        .in_agent("idle_timeout = \"1s\"")
        .ready();
    p.run(&["run"]).expect(0);
    assert_eq!(p.commits().len(), 2);
}

#[test]
fn an_agent_without_a_first_word_is_ended_after_its_startup_timeout() {
    let p = Project::build()
        .agent("n=$(count agent); cat >/dev/null; [ $n = 1 ] && hang\necho x >>work.txt; sleep 2; echo 'EXIT_SIGNAL: true'\n")
        .in_agent("startup_timeout = \"1s\"\nidle_timeout = \"100s\"")
        .ready();
    p.run(&["step"]).expect(1).says("startup_timeout of 1s");
    let p = Project::build()
        .agent(
            "cat >/dev/null; echo here; echo x >>work.txt; sleep 1.5; echo 'EXIT_SIGNAL: true'\n",
        )
        .in_agent("startup_timeout = \"1s\"")
        .ready();
    p.run(&["step"]).expect(0);
}

#[test]
fn of_a_long_output_the_newest_is_kept_on_disk_and_the_rest_is_still_verified() {
    let p = Project::build()
        .agent("cat >/dev/null; seq 200000; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .toml("[files]\nlog_size = \"256KiB\"\n")
        .ready();
    p.run(&["step"]).expect(0);
    let logs = p.root().join(".ralph/logs");
    let mut names: Vec<_> = std::fs::read_dir(logs)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    names.sort();
    let sizes: u64 = names.iter().map(|p| p.metadata().unwrap().len()).sum();
    assert!(names.len() == 2 && sizes <= 256 << 10, "{names:?} {sizes}");
    let newest = std::fs::read_to_string(&names[0]).unwrap();
    assert!(newest.starts_with("[ralph: what came before"), "{newest}");
    assert!(newest.ends_with("200000\nEXIT_SIGNAL: true\n"));
    p.run(&["verify"]).expect(0);
    std::fs::write(&names[1], "other").unwrap();
    p.run(&["verify"]).expect(1);
}
