//! How an agent program gets its prompt, and what it may print without harm.

use std::process::Stdio;

use ralph_tests::Project;

const CLAIM: &str = "echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n";

#[test]
fn the_prompt_comes_on_stdin_in_a_file_or_as_an_argument() {
    for (keys, take) in [
        ("prompt = \"stdin\"", "cat >\"$SIDE/prompt\""),
        (
            "prompt = \"file\"\nargs = [\"--read\", \"{prompt_file}\"]",
            "[ \"$1\" = --read ] && cp \"$2\" \"$SIDE/prompt\"",
        ),
        (
            "prompt = \"argument\"\nargs = [\"--say={prompt}\"]",
            "printf '%s' \"${1#--say=}\" >\"$SIDE/prompt\"",
        ),
        (
            "prompt = \"argument\"",
            "printf '%s' \"$1\" >\"$SIDE/prompt\"",
        ),
    ] {
        let p = Project::build()
            .agent(&format!("{take}\n{CLAIM}"))
            .in_agent(keys)
            .ready();
        p.run(&["step"]).expect(0);
        let kept = p.receipts("T1", "iteration")[0]["prompt_path"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(p.noted("prompt"), p.read(&kept), "{keys}");
        assert!(p.read(&kept).contains("First thing"));
    }
}

/// B14
#[test]
fn stdin_is_never_that_of_the_host() {
    for (keys, take) in [("prompt = \"stdin\"", ""), ("prompt = \"argument\"", "")] {
        let p = Project::build()
            .agent(&format!("{take}cat >\"$SIDE/stdin\"\n{CLAIM}"))
            .in_agent(keys)
            .gate("g", "cat >\"$SIDE/gate-stdin\"\n")
            .ready();
        let host = p.side("host-stdin");
        std::fs::write(&host, "the host's own words").unwrap();
        let mut command = p.command(&["step"]);
        command.stdin(Stdio::from(std::fs::File::open(&host).unwrap()));
        p.start_command(command).wait().expect(0);
        assert!(!p.noted("stdin").contains("own words"), "{keys}");
        assert_eq!(
            p.noted("stdin").is_empty(),
            keys.contains("argument"),
            "{keys}"
        );
        assert_eq!(p.noted("gate-stdin"), "");
    }
}

fn big_task(megabytes: usize) -> String {
    let text = "lorem ipsum dolor sit amet, ".repeat(megabytes * (1 << 20) / 28 + 1);
    format!(
        "{{\"userStories\":[{{\"id\":\"A\",\"title\":\"a\",\"passes\":false,\"description\":\"{text}\"}}]}}\n"
    )
}

/// B15
#[test]
fn a_prompt_of_2_mib_reaches_a_slow_reader_that_prints_1_mib_meanwhile() {
    let slow = "head -c 1000 >/dev/null; head -c 1048576 /dev/zero | tr '\\0' 'y'; echo; sleep 0.2; wc -c >\"$SIDE/read\"\n";
    let p = Project::build()
        .tasks("prd.json", big_task(2))
        .agent(&format!("{slow}{CLAIM}"))
        .ready();
    p.run(&["run"]).expect(0);
    let read: u64 = p.noted("read").trim().parse().unwrap();
    // `head` takes a block more than it prints.
    assert!(read > 2_000_000, "{read}");
    p.journal();
}

/// B15
#[test]
fn a_prompt_too_long_for_an_argument_is_said_with_the_key_and_costs_no_attempt() {
    let p = Project::build()
        .tasks("prd.json", big_task(1))
        .in_agent("prompt = \"argument\"")
        .ready();
    let ran = p.run(&["run"]).expect(2);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("agents.fake.prompt") && said.contains("\"stdin\" or \"file\""),
        "{said}"
    );
    assert_eq!(p.count("agent"), 0);
    assert_eq!(p.status()["next"]["attempts"], 0);
}

#[test]
fn an_agent_that_does_not_read_its_prompt_is_no_trouble() {
    let p = Project::build()
        .tasks("prd.json", big_task(2))
        .agent(CLAIM)
        .ready();
    p.run(&["run"]).expect(0);
}

/// E02: the peak of the process that printed much against one that printed little.
#[test]
fn memory_stays_flat_however_much_an_agent_prints() {
    let peak = |megabytes: u32| {
        let p = Project::build()
            .agent(&format!("cat >/dev/null; yes \"$(head -c 1000 /dev/zero | tr '\\0' y)\" | head -c {megabytes}00000\nhead -c $(( {megabytes} * 900000 )) /dev/zero | tr '\\0' y; echo; {CLAIM}"))
            .gate("g", "grep VmHWM /proc/$PPID/status >\"$SIDE/peak\"\n")
            .ready();
        let ran = p.run(&["step"]).expect(0);
        assert!(!ran.stdout.is_empty());
        let logs: u64 = std::fs::read_dir(p.root().join(".ralph/logs"))
            .unwrap()
            .flatten()
            .map(|e| e.metadata().unwrap().len())
            .sum();
        assert!(logs <= (64 << 20) + 200, "the log is capped: {logs}");
        let text = p.noted("peak");
        text.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    // A tenth of it in lines of 1 KB, the rest in one line.
    let (little, much) = (peak(1), peak(200));
    assert!(
        much < little + 10 * 1024,
        "{little} KiB with 1 MB, {much} KiB with 200 MB"
    );
}

/// E03, E04
#[test]
fn invalid_utf8_escapes_and_nul_bytes_do_no_harm_and_reach_no_terminal() {
    let noise = r"printf '\377\376 \000 \033[2J\033]0;owned\007 \033]8;;http://x\033\\link\033]8;;\033\\ \2332J \r over \010 \303'; printf '\nhalf \360\237\232 done\n'";
    let p = Project::build()
        .agent(&format!("cat >/dev/null; {noise}\n{CLAIM}"))
        .gate("g", &format!("{noise}\nexit 1\n"))
        .in_loop("max_iterations = 2")
        .ready();
    let ran = p.run(&["run"]).expect(1);
    let bad = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(
        !ran.stdout.contains(bad) && !ran.stderr.contains(bad),
        "{:?}",
        ran.stdout
    );
    let status = p.run(&["status"]).expect(0);
    assert!(!status.stdout.contains(bad), "{:?}", status.stdout);
    let prompt = p.receipts("T1", "iteration")[1]["prompt_path"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(!p.read(&prompt).contains(bad), "{:?}", p.read(&prompt));
    p.journal();
}

/// E01
#[test]
fn one_line_of_20_mb_before_the_claim_hides_nothing() {
    let p = Project::build()
        .agent(&format!(
            "cat >/dev/null; head -c 20000000 /dev/zero | tr '\\0' 'y'; echo; {CLAIM}"
        ))
        .ready();
    let ran = p.run(&["step"]).expect(0);
    assert!(ran.stdout.len() < 100_000, "{}", ran.stdout.len());
}

#[test]
fn an_agent_that_never_ends_is_ended_after_its_timeout_and_that_is_told() {
    let p = Project::build()
        .agent("n=$(count agent); cat >\"$SIDE/prompt.$n\"\nif [ $n = 1 ]; then (hang) & hang; fi\necho x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .in_agent("timeout = \"8s\"")
        .ready();
    p.run(&["step"]).expect(1).says("timeout of 8s");
    assert_eq!(ralph_tests::below(&p.root()), []);
    assert_eq!(p.receipts("T1", "iteration")[0]["result"], "rejected");
    p.run(&["step"]).expect(0);
    assert!(
        p.noted("prompt.2").contains("timeout of 8s"),
        "{}",
        p.noted("prompt.2")
    );
}

/// B11
#[test]
fn a_silent_agent_is_ended_after_its_idle_timeout_and_one_that_prints_is_not() {
    let p = Project::build()
        .agent("cat >/dev/null; for i in 1 2 3 4 5 6; do echo . >&2; sleep 0.4; done; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .in_agent("idle_timeout = \"2s\"")
        .ready();
    p.run(&["step"]).expect(0);
    let p = Project::build()
        .agent("cat >/dev/null; echo hello; hang\n")
        .in_agent("idle_timeout = \"1s\"")
        .ready();
    p.run(&["step"]).expect(1).says("idle_timeout of 1s");
}

/// B13
#[test]
fn a_child_that_holds_the_pipe_does_not_hold_up_the_run() {
    let p = Project::build()
        .agent(&format!(
            "cat >/dev/null; setsid sh -c 'while :; do sleep 1; done' & {CLAIM}"
        ))
        .ready();
    p.run(&["step"]).expect(0);
    assert_eq!(ralph_tests::below(&p.root()), []);
}

#[test]
fn a_missing_agent_is_told_with_advice_and_costs_no_attempt() {
    let p = Project::build().untrusted();
    p.write(
        "ralph.toml",
        "[loop]\nagent = \"fake\"\n[agents.fake]\nargv = [\"no-such-agent-anywhere\"]\n",
    );
    p.trust();
    let ran = p.run(&["run"]).expect(2);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("no-such-agent-anywhere") && said.contains("PATH"),
        "{said}"
    );
    let status = p.status();
    assert_eq!(
        (
            status["next"]["attempts"].as_u64(),
            status["last_end"].as_str()
        ),
        (Some(0), Some("error")),
        "{status}"
    );
    p.run(&["doctor"]).expect(2).says("no-such-agent-anywhere");
    // Mended, it goes on.
    let agent = p.script("agent.sh", CLAIM);
    p.write(
        "ralph.toml",
        format!("[loop]\nagent = \"fake\"\n[agents.fake]\nargv = [\"sh\", \"{agent}\"]\n"),
    );
    p.trust();
    p.run(&["run"]).expect(0);
}

/// B10
#[test]
fn one_crash_of_the_agent_does_not_end_the_loop() {
    let p = Project::build()
        .agent("n=$(count agent); cat >\"$SIDE/prompt.$n\"; if [ $n = 1 ]; then echo 'unhandled rejection' >&2; exit 1; fi\necho \"$n\" >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"]).expect(0);
    assert!(
        p.noted("prompt.2").contains("unhandled rejection"),
        "{}",
        p.noted("prompt.2")
    );
}

/// B09, G05
#[test]
fn an_agent_sees_a_clean_environment() {
    let p = Project::build()
        .agent(&format!("cat >/dev/null; env >\"$SIDE/env\"; {CLAIM}"))
        .in_agent("env = [\"MINE_*\"]")
        .gate("g", "env >\"$SIDE/gate-env\"\n")
        .ready();
    let mut command = p.command(&["step"]);
    command
        .env("CLAUDECODE", "1")
        .env("AWS_SECRET_ACCESS_KEY", "s3cret")
        .env("MINE_TOO", "yes")
        .env("OTHER", "no");
    p.start_command(command).wait().expect(0);
    let env = p.noted("env");
    assert!(
        env.contains("MINE_TOO=yes") && env.contains("PATH="),
        "{env}"
    );
    for name in ["CLAUDECODE", "AWS_SECRET", "OTHER="] {
        assert!(
            !env.contains(name) && !p.noted("gate-env").contains(name),
            "{name}\n{env}"
        );
    }
    assert!(!p.noted("gate-env").contains("MINE_TOO"));
}
