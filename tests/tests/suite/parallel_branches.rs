//! Workers' branches: what a death left of them goes, and nobody else's does.

use ralph_tests::Project;
use serde_json::{Value, json};

use crate::kill::hook;

const THREE: &str = "## Tasks\n\n- [ ] Alpha\n- [ ] Beta\n- [ ] Gamma\n";

fn project() -> Project {
    Project::build()
        .tasks("PRD.md", THREE)
        .agent("id=$(sed -n 's/^## Task \\(T[0-9]*\\):.*/\\1/p')\necho \"work of $id\" >\"$id.txt\"\necho 'EXIT_SIGNAL: true'\n")
        .ready()
}

/// What a run that died says it was at.
fn was_at(p: &Project, dir: &str, what: &Value) {
    p.write(
        &format!(".ralph/worktrees/.branches/{dir}"),
        what.to_string(),
    );
}

#[test]
fn what_a_death_left_of_branches_goes_and_those_of_others_stay() {
    let p = project();
    let base = p.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let elsewhere = |name: &str| p.side(name).to_str().unwrap().to_owned();
    // Half made, and half removed.
    p.git(&["branch", "ralph/half-made"]);
    was_at(
        &p,
        "a",
        &json!({"made": {"branch": "ralph/half-made", "base": base}}),
    );
    p.git(&["branch", "ralph/half-gone"]);
    was_at(
        &p,
        "b",
        &json!({"going": {"branch": "ralph/half-gone", "tip": base}}),
    );
    // The same names, that somebody else has taken since.
    p.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "ralph/at-work",
        &elsewhere("x"),
        "HEAD",
    ]);
    was_at(
        &p,
        "c",
        &json!({"made": {"branch": "ralph/at-work", "base": base}}),
    );
    p.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "ralph/ahead",
        &elsewhere("y"),
        "HEAD",
    ]);
    p.git(&[
        "-C",
        &elsewhere("y"),
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "theirs",
    ]);
    was_at(
        &p,
        "d",
        &json!({"going": {"branch": "ralph/ahead", "tip": base}}),
    );
    // Gone already; and what is no such record.
    was_at(
        &p,
        "e",
        &json!({"going": {"branch": "ralph/gone", "tip": base}}),
    );
    was_at(&p, "f", &json!("nonsense"));
    p.run(&["run", "--parallel", "2"]).expect(0);
    assert_eq!(p.commits().len(), 3);
    let left = p.git(&["branch", "--list", "--format=%(refname:short)", "ralph/*"]);
    assert_eq!(left, "ralph/ahead\nralph/at-work\n");
    let kept = p.root().join(".ralph/worktrees/.branches");
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 0);
}

/// git has made branch and worktree by then.
#[test]
fn a_worktree_that_a_hook_refuses_leaves_no_branch() {
    let p = project();
    hook(&p, "post-checkout", "echo 'not today' >&2; exit 1");
    let ran = p.run(&["run", "--parallel", "2"]);
    assert_ne!(ran.code, 0);
    assert!(
        ran.stderr.contains("not today") || ran.stdout.contains("not today"),
        "{ran:?}"
    );
    assert_eq!(p.git(&["branch", "--list", "ralph/*"]), "");
    assert_eq!(p.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn kept_work_is_without_what_ralph_had_half_written() {
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n\n- [ ] Alpha\n")
        .agent("cat >/dev/null\necho work >work.txt\necho half >.ralph-tmp-1-1\necho half >.ralph/.ralph-tmp-1-2\n")
        .in_loop("max_attempts = 1")
        .ready();
    p.run(&["run", "--parallel", "2"]).expect(1);
    let kept = p.git(&["show", "--format=", "--name-only", "ralph/T1-alpha"]);
    assert_eq!(kept, "PRD.md\nwork.txt\n");
}
