//! A configuration that can't be used: said with its place, exit code 3, nothing changed.

use ralph_tests::{Project, tree};

/// What stands in `ralph.toml`, where the fault is, and what is said of it.
const BROKEN: [(&str, &str, &str); 20] = [
    (
        "[loop]\nmax_iteration = 3\n",
        "2:1",
        "did you mean `max_iterations`?",
    ),
    ("[lop]\nx = 1\n", "1:2", "did you mean `loop`?"),
    ("[loop]\nagent = \"claud\"\n", "2:9", "claude"),
    (
        "[loop]\nmax_iterations = \"3\"\n",
        "2:18",
        "should be a whole number",
    ),
    ("[loop]\nmax_iterations = 0\n", "2:18", "from 1 to 100000"),
    ("[loop]\nmax_attempts = -1\n", "2:16", "from 1 to 100"),
    (
        "[loop]\nmax_iterations = 18446744073709551616\n",
        "2:18",
        "64 bits",
    ),
    ("[loop]\nsleep = \"5\"\n", "2:9", "no duration"),
    ("[loop]\nfail_fast = \"yes\"\n", "2:13", "true or false"),
    ("[judge]\nmax_diff = \"1kb\"\n", "2:12", "no size"),
    ("[files]\ntasks = \"PLAN.md\"\n", "2:9", "there is no file"),
    ("[files]\nprompt = \"NO.md\"\n", "2:10", "there is no file"),
    (
        "[files]\nprogress = \"../progress.md\"\n",
        "2:12",
        "progress",
    ),
    (
        "[plugins.mine]\nsource = \"mine.wasm\"\n",
        "2:10",
        "there is no file",
    ),
    (
        "[[gates]]\nname = \"g\"\nplugin = \"no-secret\"\n",
        "3:10",
        "no-secrets",
    ),
    (
        "[[gates]]\nname = \"g\"\nrun = [\"true\"]\n[[gates]]\nname = \"g\"\nrun = [\"true\"]\n",
        "5:8",
        "two gates are called `g`",
    ),
    ("[[gates]]\nrun = [\"true\"]\n", "1:1", "`name` is missing"),
    ("[loop\nagent = 1\n", "1:6", "this is no TOML"),
    (
        "[loop]\nagent = \"codex\"\nagent = \"codex\"\n",
        "3:1",
        "this is no TOML",
    ),
    (
        "[agents.a]\nargv = [\"x\"]\nprompt = \"stdn\"\n",
        "3:10",
        "did you mean \"stdin\"?",
    ),
];

#[test]
fn a_broken_configuration_is_said_with_its_place_and_nothing_on_disk_changes() {
    let p = Project::bare();
    p.write("PRD.md", ralph_tests::TWO_TASKS);
    p.commit_all("start");
    for (toml, place, words) in BROKEN {
        p.write("ralph.toml", toml);
        let before = (tree(&p.root()), tree(&p.all().join("state")));
        let ran = p.run(&["run"]).expect(3);
        let start = format!("error: ralph.toml:{place}: ");
        assert!(
            ran.stderr.starts_with(&start) && ran.stderr.contains(words),
            "{toml}\nwanted {start}…{words}\n{}",
            ran.stderr
        );
        assert_eq!(ran.stdout, "", "{toml}");
        assert!(
            before == (tree(&p.root()), tree(&p.all().join("state"))),
            "something changed with {toml}"
        );
    }
}

#[test]
fn every_command_that_reads_the_configuration_refuses_a_broken_one() {
    let p = Project::build().untrusted();
    p.write("ralph.toml", "[loop]\nmax_iteration = 3\n");
    let before = (tree(&p.root()), tree(&p.all().join("state")));
    for args in [
        &["run"][..],
        &["step"],
        &["status"],
        &["trust"],
        &["trust", "--yes"],
        &["plugin", "list"],
    ] {
        p.run(args).expect(3).says("ralph.toml:2:1: ");
    }
    p.run(&["doctor"]).expect(2).says("ralph.toml:2:1: ");
    assert!(before == (tree(&p.root()), tree(&p.all().join("state"))));
}

#[test]
fn all_faults_are_said_at_once() {
    let p = Project::build().untrusted();
    p.write(
        "ralph.toml",
        "[loop]\nmax_iteration = 3\nmax_attempts = 0\n[git]\nauto_commit = 1\n",
    );
    let ran = p.run(&["run"]).expect(3);
    for place in ["ralph.toml:2:1: ", "ralph.toml:3:16: ", "ralph.toml:5:15: "] {
        assert!(ran.stderr.contains(place), "{place}\n{}", ran.stderr);
    }
}

/// A10
#[test]
fn bad_arguments_are_usage_errors_and_never_anything_else() {
    let p = Project::build().ready();
    let before = tree(&p.root());
    for args in [
        &["run", "--max-iterations", "three"][..],
        &["run", "--max-iterations=0"],
        &["run", "-n", "-1"],
        &["run", "-n18446744073709551616"],
        &["run", "--frobnicate"],
        &["run", "do the work"],
        &["run", "--task", "T9"],
        &["run", "--agent", "nobody"],
        &["frobnicate"],
        &["trust", "--yes", "--revoke"],
        &[],
    ] {
        p.run(args).expect(3);
    }
    p.run(&["run", "--task", "T9"])
        .says("has no task `T9`; it has T1, T2");
    assert_eq!(p.count("agent"), 0);
    assert!(before == tree(&p.root()), "a usage error changes nothing");
    for args in [
        &["run", "--max-iterations=1"][..],
        &["run", "--max-iterations", "1"],
    ] {
        let code = i32::from(p.count("agent") == 0);
        p.run(args).expect(code);
    }
    assert_eq!(p.count("agent"), 2, "both forms mean one iteration");
}

#[test]
fn outside_of_any_project_it_says_so() {
    let p = Project::bare();
    let mut command = p.command(&["run"]);
    // Nobody can have put a repository there.
    command.current_dir("/proc");
    p.start_command(command)
        .wait()
        .expect(3)
        .says("no project here");
}

#[test]
fn without_a_task_file_it_says_where_it_looked() {
    let p = Project::build().untrusted();
    std::fs::remove_file(p.root().join("PRD.md")).unwrap();
    p.run(&["run", "--trust"])
        .expect(3)
        .says("there is no task file")
        .says("IMPLEMENTATION_PLAN.md");
}

/// A04
#[test]
fn a_configuration_cannot_grant_itself_powers_that_do_not_exist() {
    let p = Project::build().untrusted();
    p.write("ralph.toml", "[loop]\ncompletion_token = \"\"\n");
    p.run(&["run"])
        .expect(3)
        .says("ralph.toml:2:1: unknown key `completion_token`");
}
