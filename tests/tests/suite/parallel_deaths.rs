//! Workers' hosts that die at a chosen command of git's: what the next run makes of it.

use ralph_tests::{Project, Service};
use rustix::process::Signal;
use serde_json::json;

const TWO: &str = "## Tasks\n\n- [ ] Alpha\n- [ ] Beta\n";
const OWN_FILE: &str = "id=$(sed -n 's/^## Task \\(T[0-9]*\\):.*/\\1/p')\necho \"work of $id\" >>\"$id.txt\"\necho 'EXIT_SIGNAL: true'\n";

fn project(tasks: &str, agent: &str, attempts: u32) -> Project {
    Project::build()
        .tasks("PRD.md", tasks)
        .agent(agent)
        .in_loop(&format!("max_attempts = {attempts}"))
        .ready()
}

/// Runs until git is asked for `command` for the nth time, which kills who asks. git then does it, or doesn't.
fn killed_at(p: &Project, args: &[&str], command: &str, nth: u32, done: bool) {
    use std::os::unix::fs::PermissionsExt;
    let bin = p.side("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path)
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let (git, side) = (git.display(), p.side(""));
    let side = side.display();
    let then = match done {
        true => format!("{git} \"$@\"; kill -9 $PPID; exit 0"),
        false => "kill -9 $PPID; exit 1".to_owned(),
    };
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in \"{command}\"*)\n\
         echo x >>'{side}/asked'\n\
         if [ $(wc -l <'{side}/asked') = {nth} ]; then {then}; fi;;\nesac\nexec {git} \"$@\"\n"
    );
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut dirs = vec![bin];
    dirs.extend(std::env::split_paths(&path));
    let mut run = p.command(args);
    run.env("PATH", std::env::join_paths(dirs).unwrap());
    let ran = p.start_command(run).wait();
    assert_ne!(ran.code, 0, "it wasn't killed: {ran:?}");
    let asked = std::fs::read_to_string(p.side("asked")).unwrap_or_default();
    assert_eq!(asked.lines().count(), nth as usize, "{ran:?}");
}

fn only_the_main_worktree(p: &Project) {
    assert_eq!(p.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_workers_branch_that_the_user_took_up_meanwhile_stays() {
    let p = project(TWO, OWN_FILE, 3);
    killed_at(&p, &["run", "--parallel", "1"], "merge --ff-only", 1, false);
    p.git(&["switch", "-q", "ralph/T1-alpha"]);
    p.git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
    p.run(&["run", "--parallel", "1"]).expect(0);
    let log = p.git(&["log", "--format=%s", "ralph/T1-alpha"]);
    assert_eq!(log, "ralph: T2 Beta\nmine\nralph: T1 Alpha\nstart\n");
    only_the_main_worktree(&p);
}

/// Between the removal of worktree and branch: the branch is free then.
#[test]
fn a_branch_on_its_way_out_that_the_user_took_up_stays() {
    let p = project(TWO, OWN_FILE, 3);
    killed_at(
        &p,
        &["run", "--parallel", "1"],
        "branch --quiet -D",
        1,
        false,
    );
    p.git(&["switch", "-q", "ralph/T1-alpha"]);
    p.run(&["run", "--parallel", "1"]).expect(0);
    let branches = p.git(&["branch", "--list", "--format=%(refname:short)", "ralph/*"]);
    assert_eq!(branches, "ralph/T1-alpha\n");
    only_the_main_worktree(&p);
}

/// Asked for at each worker's creation too: the fourth is the refused one's.
#[test]
fn work_that_was_refused_is_not_merged_by_the_next_run() {
    let barrier = "touch \"$SIDE/here.$id\"; i=0; while [ $(ls \"$SIDE\"/here.* | wc -l) -lt 2 ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done";
    let agent = format!(
        "id=$(sed -n 's/^## Task \\(T[0-9]*\\):.*/\\1/p')\n{barrier}\necho $id >>shared.txt\necho 'EXIT_SIGNAL: true'\n"
    );
    let p = project(TWO, &agent, 5);
    killed_at(&p, &["run", "--parallel", "2"], "worktree remove", 4, false);
    p.run(&["run", "--parallel", "2"]).expect(0);
    let mut commits = p.commits();
    commits.sort();
    assert_eq!(commits, ["ralph: T1 Alpha", "ralph: T2 Beta"]);
    let empty = p.git(&["log", "--format=%s", "--diff-filter=A", "--", "shared.txt"]);
    assert_eq!(empty.lines().count(), 1);
    assert_eq!(p.read("shared.txt").lines().count(), 2);
    let kept = p.git(&["branch", "--list", "--format=%(subject)", "ralph/*"]);
    assert_eq!(kept.lines().count(), 1, "the refused work: {kept}");
    only_the_main_worktree(&p);
}

#[test]
fn a_run_without_workers_says_what_is_there_and_nothing_is_done_or_merged_twice() {
    let p = project(TWO, OWN_FILE, 1);
    killed_at(&p, &["run", "--parallel", "1"], "merge --ff-only", 1, false);
    p.run(&["run"]).expect(0).says("ralph run --parallel");
    assert_eq!(p.commits(), ["ralph: T1 Alpha", "ralph: T2 Beta"]);
    p.run(&["run", "--parallel", "1"]).expect(0);
    assert_eq!(p.commits(), ["ralph: T1 Alpha", "ralph: T2 Beta"]);
    assert_eq!(p.read("PRD.md"), TWO.replace("[ ]", "[x]"));
    assert_eq!(p.git(&["show", "ralph/T1-alpha:T1.txt"]), "work of T1\n");
    only_the_main_worktree(&p);
}

/// Neither a worktree of the user's nor one of a project that was moved is ralph's to remove.
#[test]
fn what_is_no_workers_stays_where_workers_are() {
    let p = project(TWO, OWN_FILE, 3);
    p.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "mine",
        ".ralph/worktrees/mine",
    ]);
    p.write(".ralph/worktrees/mine/file", "mine");
    p.write(".ralph/worktrees/notes.txt", "mine too");
    p.run(&["run", "--parallel", "2"]).expect(0);
    assert_eq!(p.read(".ralph/worktrees/mine/file"), "mine");
    assert_eq!(p.read(".ralph/worktrees/notes.txt"), "mine too");
}

/// git had written some of the files by then. (One that it was just writing is in the way, and is told.)
#[test]
fn a_merge_that_was_cut_off_half_way_is_made() {
    let agent = format!("echo more >also.txt\n{OWN_FILE}");
    let p = project("## Tasks\n\n- [ ] Alpha\n", &agent, 3);
    killed_at(&p, &["run", "--parallel", "1"], "merge --ff-only", 1, false);
    p.write("also.txt", "more\n");
    p.write("T1.txt", "work of");
    p.write("other.txt", "staged");
    p.git(&["add", "other.txt"]);
    let before = p.git(&["status", "--porcelain"]);
    p.run(&["run", "--parallel", "1"]).expect(2).says("T1.txt");
    assert_eq!(p.git(&["status", "--porcelain"]), before);
    assert_eq!(p.read("T1.txt"), "work of");
    p.write("T1.txt", "work of T1\n");
    p.run(&["run", "--parallel", "1"]).expect(0);
    assert_eq!(p.commits(), ["ralph: T1 Alpha"]);
    assert_eq!(p.git(&["status", "--porcelain"]), "A  other.txt\n");
    only_the_main_worktree(&p);
}

#[test]
fn a_blocked_tasks_worktree_that_a_death_left_goes_and_its_work_stays_on_its_branch() {
    let p = project(
        "## Tasks\n\n- [ ] Alpha\n",
        "cat >/dev/null\necho work >work.txt\n",
        1,
    );
    // The first is asked for as the worker is made.
    killed_at(&p, &["run", "--parallel", "1"], "worktree remove", 2, false);
    p.run(&["run", "--parallel", "1"]).expect(1);
    only_the_main_worktree(&p);
    assert_eq!(p.git(&["show", "ralph/T1-alpha:work.txt"]), "work\n");
}

/// Another one's directory may be away for a while: a disk, a container.
#[test]
fn a_worktree_of_the_user_whose_directory_is_away_is_not_forgotten() {
    let p = project(TWO, OWN_FILE, 3);
    let (there, away) = (p.side("mine"), p.side("away"));
    p.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "mine",
        there.to_str().unwrap(),
    ]);
    std::fs::rename(&there, &away).unwrap();
    p.run(&["run", "--parallel", "2"]).expect(0);
    std::fs::rename(&away, &there).unwrap();
    let branch = p.git(&["-C", there.to_str().unwrap(), "branch", "--show-current"]);
    assert_eq!(branch, "mine\n");
}

#[test]
fn work_of_a_cancelled_run_of_the_service_is_kept_on_its_workers_branch() {
    let p = project(
        "## Tasks\n\n- [ ] Alpha\n",
        "cat >/dev/null\necho work >work.txt\ntell agent ready\nhang\n",
        3,
    );
    p.fifo("agent");
    let s = Service::of(&p);
    let id = s.submit(json!({ "parallel": 2 }));
    p.hear("agent");
    s.ask("admin", "POST", &format!("/v1/runs/{id}/cancel"), None)
        .expect(202);
    assert_eq!(s.ended(&id)["status"], "cancelled");
    // What is over is put away before it ends.
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0);
    only_the_main_worktree(&p);
    assert_eq!(p.git(&["show", "ralph/T1-alpha:work.txt"]), "work\n");
}
