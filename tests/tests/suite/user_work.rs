//! What the user had in the working tree and the index is there after a run as it was before.

use ralph_tests::{Project, tree};

fn dirty(p: &Project) {
    for name in ["staged.txt", "modified.txt", "both.txt", "deleted.txt"] {
        p.write(name, "as committed\n");
    }
    p.write(".gitignore", "ignored/\n");
    p.commit_all("files");
    p.write("staged.txt", "staged by the user\n");
    p.write("both.txt", "first staged\n");
    p.git(&["add", "staged.txt", "both.txt"]);
    p.write("both.txt", "then changed\n");
    p.write(
        "modified.txt",
        "modified by the user\r\nnicht nur ASCII: ä\n",
    );
    std::fs::remove_file(p.root().join("deleted.txt")).unwrap();
    p.write("untracked/new.txt", b"\x00\xff untracked");
    p.write("ignored/cache.bin", b"\x01\x02");
}

const MINE: [&str; 5] = [
    "staged.txt",
    "modified.txt",
    "both.txt",
    "untracked/new.txt",
    "ignored/cache.bin",
];

/// F11
#[test]
fn staged_modified_untracked_and_ignored_files_stay_as_they_were() {
    let p = Project::build().ready();
    dirty(&p);
    let status = p.git(&["status", "--porcelain=v1", "--ignored"]);
    let staged = p.git(&["diff", "--cached"]);
    let bytes = MINE.map(|name| p.bytes(name));
    p.run(&["run"]).expect(0);
    assert_eq!(MINE.map(|name| p.bytes(name)), bytes);
    assert!(!p.exists("deleted.txt"));
    let own = |s: String| {
        s.lines()
            .filter(|l| !l.contains(".ralph/"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        own(p.git(&["status", "--porcelain=v1", "--ignored"])),
        own(status)
    );
    assert_eq!(p.git(&["diff", "--cached"]), staged);
    for commit in ["HEAD", "HEAD~1"] {
        let files = p.git(&["show", "--format=", "--name-only", commit]);
        assert_eq!(
            files.lines().collect::<Vec<_>>(),
            ["PRD.md", "work.txt"],
            "{commit}"
        );
    }
}

#[test]
fn a_failed_attempt_takes_nothing_of_the_user_s_away() {
    let p = Project::build()
        .gate("g", "exit 1\n")
        .in_loop("max_attempts = 1")
        .ready();
    dirty(&p);
    let bytes = MINE.map(|name| p.bytes(name));
    let staged = p.git(&["diff", "--cached"]);
    p.run(&["run"]).expect(1);
    assert_eq!(MINE.map(|name| p.bytes(name)), bytes);
    assert_eq!(p.git(&["diff", "--cached"]), staged);
    assert_eq!(p.commits(), ["files"]);
}

#[test]
fn a_commit_holds_only_what_the_iteration_changed_in_a_file_that_both_touched() {
    let p = Project::build().agent("cat >/dev/null; n=$(count agent); sed -i \"s/^line 30.*/line 30 by agent $n/\" shared.txt; echo 'EXIT_SIGNAL: true'\n").ready();
    let text: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    p.write("shared.txt", &text);
    p.commit_all("shared");
    p.write(
        "shared.txt",
        text.replacen("line 1\n", "line 1 by the user\n", 1),
    );
    p.run(&["run", "-n", "1"]).expect(1);
    let committed = p.git(&["show", "HEAD:shared.txt"]);
    assert!(committed.contains("line 30 by agent 1"), "{committed}");
    assert!(!committed.contains("by the user"), "{committed}");
    let now = p.read("shared.txt");
    assert!(
        now.contains("line 1 by the user") && now.contains("line 30 by agent 1"),
        "{now}"
    );
    assert_eq!(p.git(&["diff", "--cached"]), "");
}

#[test]
fn commands_that_only_look_change_nothing() {
    let p = Project::build().ready();
    p.run(&["run", "-n", "1"]).expect(1);
    dirty(&p);
    let before = (tree(&p.root()), tree(&p.all().join("state")));
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["plugin", "list"],
        &["plugin", "inspect", "judge"],
        &["doctor"],
        &["schema"],
        &["trust"],
    ] {
        p.run(args).expect(0);
    }
    let after = (tree(&p.root()), tree(&p.all().join("state")));
    assert!(before.0.keys().eq(after.0.keys()) && before == after);
}

#[test]
fn an_agent_that_commits_itself_loses_nothing() {
    let p = Project::build()
        .agent("cat >/dev/null; n=$(count agent); echo \"$n\" >>work.txt; git add work.txt; git commit -qm \"agent's own $n\"; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"]).expect(0);
    let commits = p.commits();
    assert!(
        commits.contains(&"agent's own 1".into()) && commits.contains(&"agent's own 2".into()),
        "{commits:?}"
    );
    assert_eq!(p.git(&["status", "--porcelain"]), "");
    assert_eq!(p.git(&["show", "HEAD:PRD.md"]).matches("[x]").count(), 2);
}

#[test]
fn what_was_not_accepted_is_kept_beside_the_users_branch_if_asked_for() {
    let p = Project::build()
        .gate("second-time", "[ $(count gate) -gt 1 ]")
        .toml("[git]\nwip = true\n")
        .in_loop("max_iterations = 2")
        .ready();
    p.write("mine.txt", "of the user\n");
    p.run(&["run"]).expect(1).says("ralph/wip/T1");
    assert_eq!(p.commits().len(), 1, "{:?}", p.commits());
    let kept = p.git(&["show", "--stat", "--format=%s", "ralph/wip/T1"]);
    assert!(
        kept.starts_with("wip: T1 attempt 1, not accepted"),
        "{kept}"
    );
    assert!(
        kept.contains("work.txt") && !kept.contains("mine.txt"),
        "{kept}"
    );
    assert_eq!(p.git(&["status", "--porcelain"]).trim(), "?? mine.txt");
}
