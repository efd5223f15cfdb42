//! Nothing that a repository's configuration names runs before a person has accepted it.

use ralph_tests::{Project, components, tree};

fn spy() -> ralph_tests::Builder {
    Project::build()
        .agent("touch \"$SIDE/agent-ran\"; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .gate("g", "touch \"$SIDE/gate-ran\"\n")
}

/// G06
#[test]
fn nothing_of_an_untrusted_configuration_runs() {
    let p = spy().untrusted();
    p.write(
        "ralph.toml",
        format!(
            "{}\n[[gates]]\nname = \"$(touch pwned)\"\nrun = [\"sh\", \"-c\", \"touch pwned\"]\n",
            p.read("ralph.toml")
        ),
    );
    let before = tree(p.all());
    for args in [&["run"][..], &["step"], &["run", "--json"]] {
        p.run(args)
            .expect(3)
            .says("isn't trusted yet")
            .says("ralph trust");
    }
    for args in [&["status"][..], &["plugin", "list"], &["schema"]] {
        p.run(args).expect(0);
    }
    p.run(&["doctor"]).expect(2).says("isn't trusted yet");
    // Only what the tests' own output files are.
    let new = |t: ralph_tests::Tree| {
        t.into_keys()
            .filter(|k| !k.starts_with("side/std"))
            .collect::<Vec<_>>()
    };
    assert_eq!(new(before), new(tree(p.all())));
}

#[test]
fn trust_shows_what_would_run_and_is_not_given_without_a_yes() {
    let p = spy().untrusted();
    let shown = p.run(&["trust"]).expect(1);
    assert!(
        shown.stdout.contains("agent.sh") && shown.stdout.contains("g.sh"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("not trusted"), "{}", shown.stdout);
    p.run(&["run"]).expect(3);
    p.run(&["trust", "--yes"]).expect(0);
    p.run(&["run"]).expect(0);
    assert!(p.side("agent-ran").exists() && p.side("gate-ran").exists());
}

#[test]
fn trust_on_the_way_says_what_it_accepts_and_lasts() {
    let p = spy().untrusted();
    let ran = p.run(&["step", "--trust"]).expect(0);
    assert!(
        ran.stderr.contains("agent.sh") && ran.stderr.contains("g.sh"),
        "{}",
        ran.stderr
    );
    p.run(&["step"]).expect(0);
}

#[test]
fn a_changed_gate_needs_trust_again_and_an_old_one_is_remembered() {
    let p = spy().ready();
    let toml = p.read("ralph.toml");
    p.write("ralph.toml", toml.replace("g.sh\"]", "g.sh\", \"now\"]"));
    p.run(&["run"]).expect(3).says("isn't trusted yet");
    p.write("ralph.toml", &toml);
    p.run(&["step"]).expect(0);
    // What makes nothing else run asks nobody.
    p.write(
        "ralph.toml",
        toml.replace("agent = \"fake\"", "agent = \"fake\"\nmax_attempts = 7"),
    );
    p.run(&["step"]).expect(0);
}

#[test]
fn a_component_s_changed_bytes_need_trust_again() {
    let p = Project::build()
        .toml("[plugins.mine]\nsource = \"mine.wasm\"\nallow = { changes = true }\n[[gates]]\nname = \"m\"\nplugin = \"mine\"")
        .untrusted();
    p.write("mine.wasm", components("gate-no-secrets"));
    p.commit_all("component");
    p.trust();
    p.run(&["step"]).expect(0);
    p.write("mine.wasm", components("gate-diff-scope"));
    p.run(&["step"]).expect(3).says("isn't trusted yet");
    assert_eq!(p.count("agent"), 1);
}

#[test]
fn trust_is_for_one_place_and_can_be_taken_back() {
    let p = spy().ready();
    p.run(&["trust", "--revoke"]).expect(0).says("taken back");
    p.run(&["run"]).expect(3);
    p.run(&["trust", "--revoke"])
        .expect(0)
        .says("had not been given");
    p.trust();
    // The same bytes elsewhere are another project.
    let copy = p.side("copy");
    let done = std::process::Command::new("cp")
        .arg("-r")
        .arg(p.root())
        .arg(&copy)
        .status()
        .unwrap();
    assert!(done.success());
    let mut command = p.command(&["run"]);
    command.current_dir(&copy);
    p.start_command(command)
        .wait()
        .expect(3)
        .says("isn't trusted yet");
    assert!(!p.side("agent-ran").exists());
}

#[test]
fn what_init_wrote_is_trusted_and_what_it_found_is_not() {
    let p = Project::bare();
    p.write("check.sh", "touch checked\n");
    p.commit_all("start");
    p.run(&["init", "--agent", "scripted"]).expect(0);
    assert_eq!(
        p.run(&["trust", "--json"]).expect(0).json()["result"]["trusted"],
        true
    );

    let p = spy().untrusted();
    p.run(&["init"]).expect(0).says("isn't trusted by this");
    p.run(&["run"]).expect(3);
    assert!(!p.side("agent-ran").exists());
}

/// D05
#[test]
fn a_configuration_changed_by_the_agent_gains_nothing_in_the_run() {
    let p = Project::build()
        .agent("echo x >>work.txt\nprintf '[loop]\\nagent = \"fake\"\\n' >ralph.toml\necho 'EXIT_SIGNAL: true'\n")
        .gate("g", "count gate >/dev/null; exit 1\n")
        .in_loop("max_attempts = 2\nmax_iterations = 2")
        .ready();
    p.run(&["run"]).expect(2).says("tampered with ralph.toml");
    assert_eq!(p.count("gate"), 0, "nothing more was run");
    assert_eq!(p.commits(), [""; 0]);
    p.run(&["run"]).expect(3);
}
