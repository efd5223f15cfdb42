//! git's own rules hold for accepted work.

use ralph_tests::Project;

use crate::kill::hook;

/// D07
#[test]
fn what_a_refusing_hook_says_is_in_the_next_prompt_and_the_task_is_not_done() {
    let p = Project::build().in_loop("max_attempts = 5").ready();
    hook(
        &p,
        "pre-commit",
        "grep -q 'work 2' work.txt || { echo 'the hook wants work 2' >&2; exit 1; }",
    );
    p.run(&["run", "-n", "1"])
        .expect(1)
        .says("a git hook refused the commit");
    assert!(
        p.read("PRD.md").contains("- [ ] First"),
        "{}",
        p.read("PRD.md")
    );
    assert_eq!(p.commits(), [""; 0]);
    assert_eq!(p.git(&["diff", "--cached"]), "", "the index is as it was");
    p.run(&["run"]).expect(0);
    assert!(
        p.noted("prompt.2").contains("the hook wants work 2"),
        "{}",
        p.noted("prompt.2")
    );
    assert_eq!(
        p.commits(),
        ["ralph: T1 First thing", "ralph: T2 Second thing"]
    );
}

#[test]
fn a_hook_that_always_refuses_blocks_the_task_in_the_end() {
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n- [ ] Only thing\n")
        .in_loop("max_attempts = 2")
        .ready();
    hook(&p, "commit-msg", "echo 'no such message'; exit 1");
    p.run(&["run"]).expect(1);
    assert_eq!(p.count("agent"), 2);
    assert!(
        p.read("PRD.md").contains("- [-] Only"),
        "{}",
        p.read("PRD.md")
    );
}

#[test]
fn the_repository_s_message_hook_may_change_the_message() {
    let p = Project::build().ready();
    hook(&p, "prepare-commit-msg", "sed -i '1s/^/[hooked] /' \"$1\"");
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.commits(),
        [
            "[hooked] ralph: T1 First thing",
            "[hooked] ralph: T2 Second thing"
        ]
    );
}

/// D07
#[test]
fn without_an_identity_it_is_said_what_git_wants_and_nothing_is_lost() {
    let p = Project::build().ready();
    p.git(&["config", "--unset", "user.name"]);
    p.git(&["config", "--unset", "user.email"]);
    p.git(&["config", "user.useConfigOnly", "true"]);
    let ran = p.run(&["run"]).expect(2);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("git does not know whom to commit as") && said.contains("user.email"),
        "{said}"
    );
    assert_eq!(p.commits(), [""; 0]);
    p.git(&["config", "user.name", "Tess Ter"]);
    p.git(&["config", "user.email", "tess@example.org"]);
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.commits(),
        ["ralph: T1 First thing", "ralph: T2 Second thing"]
    );
    assert_eq!(
        p.count("agent"),
        2,
        "work that was accepted isn't done again"
    );
}
