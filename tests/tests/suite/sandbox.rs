//! The operating system's sandbox, seen from a run.

use std::os::unix::fs::PermissionsExt;

use ralph_tests::Project;
use serde_json::Value;

const CLAIM: &str = "echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n";

/// What holds agents here, as `doctor` says it; `None` where nothing does.
fn layer(p: &Project) -> Option<String> {
    let out = p.run(&["--json", "doctor"]);
    let report: Value = serde_json::from_str(&out.stdout).expect("JSON");
    let checks = report["result"]["checks"]
        .as_array()
        .expect("checks")
        .clone();
    let agents = checks
        .iter()
        .find(|c| c["name"] == "sandbox agents")
        .expect("a line on agents");
    let detail = agents["detail"].as_str().expect("text").to_owned();
    ["landlock", "bubblewrap"]
        .into_iter()
        .find(|l| detail.contains(&format!("({l})")))
        .map(str::to_owned)
}

fn skipped(p: &Project, wanted: &str) -> bool {
    let here = layer(p);
    if here.as_deref() != Some(wanted) {
        eprintln!("skipped: {wanted} holds nothing here ({here:?})");
    }
    here.as_deref() != Some(wanted)
}

/// The first receipt of this kind of the first task.
fn receipt(p: &Project, kind: &str) -> Value {
    p.receipts("T1", kind)
        .into_iter()
        .next()
        .expect("a receipt")
}

#[test]
fn an_agent_reads_no_secrets_and_a_receipt_says_what_held_it() {
    let p = Project::build()
        .agent(&format!(
            "cat >/dev/null; cat \"$HOME/.ssh/id\" >\"$SIDE/stolen\" 2>\"$SIDE/refused\"; {CLAIM}"
        ))
        .untrusted();
    std::fs::create_dir(p.all().join("home/.ssh")).expect("a directory");
    std::fs::write(p.all().join("home/.ssh/id"), "secret\n").expect("a file");
    p.trust();
    if skipped(&p, "landlock") {
        return;
    }
    p.run(&["run", "--max-iterations", "1"]);
    assert_eq!(p.noted("stolen"), "");
    assert!(p.noted("refused").contains("Permission denied"));
    let held = &receipt(&p, "runner")["sandbox"];
    assert_eq!(held["profile"], "workspace-write", "{held}");
    assert_eq!(held["layer"], "landlock");
    assert_eq!(held["network"], "open");
    assert!(
        held["protected"]
            .as_str()
            .is_some_and(|t| t.contains("hash")),
        "{held}"
    );
    assert!(
        held["open"].as_array().is_some_and(|o| !o.is_empty()),
        "what isn't promised is said"
    );
}

#[test]
fn with_the_profile_off_nothing_is_held_and_the_receipt_says_so() {
    let p = Project::build()
        .agent(&format!(
            "cat >/dev/null; cat \"$HOME/.ssh/id\" >\"$SIDE/stolen\"; {CLAIM}"
        ))
        .toml("[sandbox]\nprofile = \"off\"")
        .gate(
            "g",
            "grep NoNewPrivs /proc/self/status >\"$SIDE/privileges\"",
        )
        .ready();
    std::fs::create_dir(p.all().join("home/.ssh")).expect("a directory");
    std::fs::write(p.all().join("home/.ssh/id"), "secret\n").expect("a file");
    p.run(&["run", "--max-iterations", "1"]);
    assert_eq!(p.noted("stolen"), "secret\n");
    assert_eq!(p.noted("privileges").split_whitespace().last(), Some("0"));
    assert_eq!(receipt(&p, "runner")["sandbox"]["profile"], "off");
}

/// The script connects to the test's own listener, then to one of its own.
const NETWORK: &str = r#"
if perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(PeerAddr => "127.0.0.1:" . shift, Timeout => 5) ? 0 : 1)' "$(cat "$SIDE/port")"; then echo reached; else echo refused; fi >"$SIDE/outside"
perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1:0", Listen => 1) or exit 1; exit(IO::Socket::INET->new(PeerAddr => "127.0.0.1:" . $l->sockport) ? 0 : 1)' && echo reached >"$SIDE/own"
exit 0
"#;

fn has_perl() -> bool {
    let found = std::process::Command::new("perl")
        .arg("-v")
        .output()
        .is_ok();
    if !found {
        eprintln!("skipped: there is no perl here");
    }
    found
}

fn listening(p: &Project) -> std::net::TcpListener {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    std::fs::write(p.side("port"), port.to_string()).expect("a file");
    listener
}

#[test]
fn gates_reach_nobody_but_themselves_unless_they_are_given_hosts() {
    if !has_perl() {
        return;
    }
    for (confine, outside) in [
        ("", "refused"),
        ("confine = { network = [\"*\"] }", "reached"),
    ] {
        let p = Project::build()
            .agent(&format!("cat >/dev/null; {CLAIM}"))
            .gate("g", NETWORK)
            .toml(confine)
            .ready();
        let _listener = listening(&p);
        p.run(&["run", "--max-iterations", "1"]);
        let held = receipt(&p, "gate_01")["sandbox"].clone();
        assert_eq!(p.noted("outside").trim(), outside, "{held}");
        // Where no namespace can be had, a closed network has no loopback either.
        if !held["network"]
            .as_str()
            .expect("text")
            .contains("loopback included")
        {
            assert_eq!(p.noted("own").trim(), "reached", "{held}");
        }
    }
}

#[test]
fn agents_are_held_to_their_hosts_and_the_receipt_names_those_refused() {
    if !has_perl() {
        return;
    }
    let ask = r#"
ask() { perl -MIO::Socket::INET -e '
    my ($proxy, $to) = @ARGV; $proxy =~ s{^http://}{};
    my $s = IO::Socket::INET->new(PeerAddr => $proxy, Timeout => 5) or exit 1;
    print $s "CONNECT $to HTTP/1.1\r\n\r\n"; print scalar <$s>' "$HTTPS_PROXY" "$1"; }
ask "localhost:$(cat "$SIDE/port")" >"$SIDE/listed"
ask "other.example:443" >"$SIDE/unlisted"
"#;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    let p = Project::build()
        .agent(&format!("cat >/dev/null; {ask} {NETWORK_OUTSIDE} {CLAIM}"))
        .toml(&format!(
            "[agents.fake.confine]\nnetwork = [\"localhost:{port}\"]"
        ))
        .ready();
    std::fs::write(p.side("port"), port.to_string()).expect("a file");
    p.run(&["run", "--max-iterations", "1"]);
    let held = receipt(&p, "runner")["sandbox"].clone();
    if held["network"] == "open" {
        eprintln!("skipped: {held}");
        return;
    }
    assert!(
        p.noted("listed").starts_with("HTTP/1.1 200 "),
        "{} {held}",
        p.noted("listed")
    );
    assert!(
        p.noted("unlisted").starts_with("HTTP/1.1 403 "),
        "{}",
        p.noted("unlisted")
    );
    assert_eq!(p.noted("outside").trim(), "refused");
    assert_eq!(
        held["refused_hosts"],
        serde_json::json!(["other.example:443"])
    );
}

const NETWORK_OUTSIDE: &str = r#"
if perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(PeerAddr => "127.0.0.1:" . shift, Timeout => 5) ? 0 : 1)' "$(cat "$SIDE/port")"; then echo reached; else echo refused; fi >"$SIDE/outside"
"#;

#[test]
fn what_can_t_be_had_is_refused_before_anything_runs_if_it_is_required() {
    let p = Project::build()
        .agent("cat >/dev/null; touch \"$SIDE/ran\"")
        .toml("[sandbox]\nlayer = \"bubblewrap\"\nrequire = true")
        .ready();
    let run = |require: &str| {
        let toml = p.read("ralph.toml").replace("require = true", require);
        p.write("ralph.toml", toml);
        p.trust();
        // The trust above found it; the run doesn't.
        let mut command = p.command(&["run", "--max-iterations", "1"]);
        command.env("PATH", only_git(&p));
        p.start_command(command).wait()
    };
    let refused = run("require = true").expect(3);
    assert!(!p.side("ran").exists());
    assert!(
        refused.stderr.contains("[sandbox] require") && refused.stderr.contains("bwrap"),
        "{}",
        refused.stderr
    );
    assert!(!p.exists(".ralph/journal.jsonl"), "nothing has begun");
    let goes_on = run("require = false");
    assert!(p.side("ran").exists(), "{}", goes_on.stderr);
    assert!(
        goes_on.stderr.contains("no program `bwrap`"),
        "it is said all the same: {}",
        goes_on.stderr
    );
    assert_eq!(receipt(&p, "runner")["sandbox"]["level"], "partial");
}

/// A `PATH` with everything that a run needs but bubblewrap.
fn only_git(p: &Project) -> std::path::PathBuf {
    let dir = p.side("bin");
    let _ = std::fs::create_dir(&dir);
    for name in ["git", "sh", "cat", "touch"] {
        let path = std::env::var_os("PATH").expect("a PATH");
        let found = std::env::split_paths(&path)
            .map(|d| d.join(name))
            .find(|f| f.is_file());
        let _ = std::os::unix::fs::symlink(found.expect("the program"), dir.join(name));
    }
    dir
}

#[test]
fn an_editor_s_file_that_an_agent_changes_ends_the_run_unless_it_isn_t_protected() {
    let plant = "mkdir -p .vscode; printf '{}' >.vscode/tasks.json;";
    for (toml, code) in [("", 2), ("[sandbox]\nprotect = []", 0)] {
        let p = Project::build()
            .tasks("PRD.md", "# Plan\n\n## Tasks\n\n- [ ] First thing\n")
            .agent(&format!("cat >/dev/null; {plant} {CLAIM}"))
            .toml(toml)
            .ready();
        let ran = p.run(&["run"]).expect(code);
        assert_eq!(
            ran.stdout.contains(".vscode/tasks.json changed"),
            code == 2,
            "{}",
            ran.stdout
        );
        assert_eq!(p.commits().is_empty(), code == 2);
    }
}

#[test]
fn an_agent_works_with_git_in_its_worktree() {
    // That hooks are out of reach there is the crate's own test: projects of this suite lie below /tmp, which may be written.
    let p = Project::build()
        .agent(&format!(
            "cat >/dev/null; echo y >>more.txt; git add --all && git status --short >\"$SIDE/status\"; git stash list >/dev/null && {{ {CLAIM} }}"
        ))
        .toml("[git]\nisolation = \"worktree\"")
        .ready();
    if skipped(&p, "landlock") {
        return;
    }
    p.run(&["run"]).expect(0);
    assert!(p.noted("status").contains("more.txt"));
    let held = receipt(&p, "runner")["sandbox"].clone();
    assert!(
        held["protected"]
            .as_str()
            .is_some_and(|t| t.contains("outside the writable tree")),
        "{held}"
    );
}

#[test]
fn an_agent_that_may_only_read_changes_nothing() {
    let p = Project::build()
        .agent("cat >/dev/null; echo x 2>/dev/null >>work.txt && echo wrote >\"$TMPDIR/x\"; cat PRD.md; echo 'EXIT_SIGNAL: true'")
        .in_agent("sandbox = \"read-only\"")
        .in_loop("max_attempts = 1")
        .ready();
    if skipped(&p, "landlock") {
        return;
    }
    p.run(&["run", "--max-iterations", "1"]);
    assert!(!p.exists("work.txt"));
    assert_eq!(receipt(&p, "runner")["sandbox"]["profile"], "read-only");
}

#[test]
fn limits_hold_a_gate_and_stand_in_its_receipt() {
    let p = Project::build()
        .agent(&format!("cat >/dev/null; {CLAIM}"))
        .gate(
            "g",
            "ulimit -n >\"$SIDE/files\"; ulimit -n 5000 2>/dev/null; ulimit -n >>\"$SIDE/files\"",
        )
        .toml("confine = { limits = { open_files = 77, file_size = \"1MiB\" } }")
        .ready();
    p.run(&["run", "--max-iterations", "1"]);
    assert_eq!(
        p.noted("files").split_whitespace().collect::<Vec<_>>(),
        ["77", "77"]
    );
    let held = receipt(&p, "gate_01")["sandbox"].clone();
    assert_eq!(
        held["limits"],
        serde_json::json!({ "file_size": 1 << 20, "open_files": 77 })
    );
}

/// What an agent tries to change, one after another; what it is told goes beside the project.
const TAMPER: &str = r#"
try() { sh -c "$1" 2>>"$SIDE/told" && echo "$1" >>"$SIDE/done"; }
cat >/dev/null
try "printf x >.git/hooks/pre-commit"
try "git config user.name Mallory"
try "printf x >>ralph.toml"
try "printf x >>.ralph/journal.jsonl"
try "mv .ralph aside"
try "mv .git aside"
try "printf x >>$HOME/new"
echo y >>work.txt
git add --all && echo staged >"$SIDE/staged"
echo 'EXIT_SIGNAL: true'
"#;

#[test]
fn in_a_view_nothing_that_decides_can_be_changed_and_the_work_is_accepted() {
    let p = Project::build()
        .outside_tmp()
        .tasks("PRD.md", "# Plan\n\n## Tasks\n\n- [ ] Only thing\n")
        .agent(TAMPER)
        .gate("g", "test -s work.txt")
        .toml("[sandbox]\nlayer = \"bubblewrap\"\nwrite = [\"SIDE\"]")
        .ready();
    if skipped(&p, "bubblewrap") {
        return;
    }
    p.run(&["run"]).expect(0);
    assert!(!p.side("done").exists(), "{}", p.noted("done"));
    assert_eq!(p.noted("staged").trim(), "staged");
    assert_eq!(p.commits(), ["ralph: T1 Only thing"]);
    for kind in ["runner", "gate_01"] {
        let held = receipt(&p, kind)["sandbox"].clone();
        assert_eq!(held["layer"], "bubblewrap", "{held}");
        assert!(
            held["protected"]
                .as_str()
                .is_some_and(|t| t.contains("read-only in the program's view")),
            "{held}"
        );
    }
}

#[test]
fn under_landlock_the_same_is_found_afterwards_and_ends_the_run() {
    let p = Project::build()
        .outside_tmp()
        .agent(&TAMPER.replace("try \"mv", ": \"mv"))
        .toml("[sandbox]\nwrite = [\"SIDE\"]")
        .ready();
    if skipped(&p, "landlock") {
        return;
    }
    let ran = p.run(&["run"]).expect(2);
    for path in [".git/config", ".git/hooks/pre-commit", "ralph.toml"] {
        assert!(ran.stdout.contains(path), "{path}: {}", ran.stdout);
    }
    assert!(
        !p.noted("done").contains("/new"),
        "its home is out of reach: {}",
        p.noted("done")
    );
    assert_eq!(p.commits(), Vec::<String>::new());
}

/// codex's own sandbox makes mounts, which Landlock forbids: inside of it every command would fail.
#[test]
fn codex_is_told_to_leave_its_own_sandbox_off_where_landlock_holds_it() {
    let arguments = |sandbox: &str| {
        let p = Project::build()
            .in_loop("max_iterations = 1")
            .toml(&format!(
                "{sandbox}\n[agents.codex]\nargv = [\"SIDE/codex\"]"
            ))
            .untrusted();
        let script = "cat >/dev/null; printf '%s ' \"$@\" >\"$SIDE/arguments\"";
        let path = p.script("codex", script);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        p.run(&["run", "--agent", "codex", "--trust"]);
        (layer(&p), p.noted("arguments"))
    };
    let (here, told) = arguments("");
    let (_, free) = arguments("[sandbox]\nprofile = \"off\"");
    assert!(free.contains("workspace-write"), "{free}");
    if here.as_deref() == Some("landlock") {
        assert!(!told.contains("workspace-write"), "{told}");
    }
}

#[test]
fn a_judge_is_held_like_any_agent_and_its_receipt_says_so() {
    let p = Project::build()
        .agent(&format!("cat >/dev/null; {CLAIM}"))
        .other_agent("wise", "cat >/dev/null; echo 'JUDGE_SIGNAL: true'\n")
        .toml("[agents.wise.confine]\nlimits = { open_files = 99 }\n[judge]\nenabled = true\nagent = \"wise\"")
        .ready();
    p.run(&["run"]).expect(0);
    let held = receipt(&p, "judge")["sandbox"].clone();
    assert_eq!(held["profile"], "workspace-write", "{held}");
    assert_eq!(held["limits"]["open_files"], 99, "{held}");
}

#[test]
fn where_no_namespace_can_be_had_gates_have_no_loopback_and_a_person_is_told() {
    if !has_perl() || !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it takes root to give up the right to make namespaces");
        return;
    }
    let p = Project::build()
        .agent(&format!("cat >/dev/null; {CLAIM}"))
        .gate("g", NETWORK)
        .ready();
    let _listener = listening(&p);
    let run = p.command(&["run", "--max-iterations", "1"]);
    let mut without = std::process::Command::new("setpriv");
    without
        .args(["--bounding-set=-sys_admin", "--"])
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(p.root())
        .stdin(std::process::Stdio::null())
        .env_clear()
        .envs(run.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let ran = p.start_command(without).wait();
    assert_eq!(p.noted("outside").trim(), "refused", "{}", ran.stdout);
    assert!(!p.side("own").exists());
    let held = receipt(&p, "gate_01")["sandbox"].clone();
    assert!(
        held["network"]
            .as_str()
            .is_some_and(|n| n.starts_with("closed, loopback included, since ")),
        "{held}"
    );
    assert!(
        ran.stdout.contains("confine = { network"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}
