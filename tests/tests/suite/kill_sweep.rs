//! kill -9 at random moments, again and again, until the run gets to its end; each project
//! is killed six times. A moment that hits nothing (the run was over) is not counted.
//!
//! Each sweep kills `RALPH_KILLS` times (20 if not set). For 300 in all:
//! `RALPH_KILLS=75 cargo test -p ralph-tests --test suite kill_sweep`.

use std::time::{Duration, Instant};

use ralph_tests::{Builder, Moments, Project};

fn kills_wanted() -> usize {
    let set = std::env::var("RALPH_KILLS").ok();
    set.and_then(|s| s.parse().ok()).unwrap_or(20)
}

const KILLS_EACH: usize = 6;

fn three_tasks() -> Builder {
    Project::build()
        .tasks("PRD.md", "# Plan\n\n- [ ] One\n- [ ] Two\n- [ ] Three\n")
        .agent("id=$(sed -n 's/^## Task \\(T[0-9]*\\):.*/\\1/p'); echo \"work on $id\" >>\"$id.txt\"; echo 'EXIT_SIGNAL: true'\n")
        .gate("green", "exit 0")
        .in_loop("max_iterations = 100\nmax_attempts = 20")
}

/// Kills runs with these arguments at random moments, and looks at what is left in the end.
fn sweep(seed: u64, builder: impl Fn() -> Builder, args: &[&str]) {
    let mut random = Moments(seed);
    let whole = {
        let p = builder().ready();
        let begun = Instant::now();
        p.run(args).expect(0);
        begun.elapsed()
    };
    let mut kills = 0;
    while kills < kills_wanted() {
        let p = builder().ready();
        p.write("mine.txt", "of the user\n");
        p.write("staged.txt", "staged by the user\n");
        p.git(&["add", "staged.txt"]);
        p.write("staged.txt", "and changed again\n");
        let staged = p.git(&["show", ":staged.txt"]);
        let mut moments = Vec::new();
        for _ in 0..KILLS_EACH {
            let moment = whole.mul_f64(1.1 * random.draw());
            let run = p.start(args);
            // The moment is what is random: there is no event to wait for.
            std::thread::sleep(moment);
            run.kill();
            let ran = run.wait_at_most(Duration::from_secs(60));
            if ran.code == 0 {
                break;
            }
            kills += 1;
            moments.push(moment);
        }
        let told = || format!("seed {seed}, killed after {moments:?}");
        let last = p.run(args);
        assert_eq!(last.code, 0, "{}: {last:?}", told());
        let verified = p.run(&["verify"]);
        assert_eq!(verified.code, 0, "{}: {verified:?}", told());
        let commits = p.commits();
        for task in ["T1", "T2", "T3"] {
            let of_task = |c: &&String| c.starts_with(&format!("ralph: {task} "));
            assert_eq!(
                commits.iter().filter(of_task).count(),
                1,
                "{}: {commits:?}",
                told()
            );
        }
        assert_eq!(p.read("PRD.md").matches("[x]").count(), 3, "{}", told());
        assert_eq!(p.read("mine.txt"), "of the user\n", "{}", told());
        assert_eq!(p.read("staged.txt"), "and changed again\n", "{}", told());
        assert_eq!(p.git(&["show", ":staged.txt"]), staged, "{}", told());
        assert_eq!(
            p.git(&["diff", "--cached", "--name-only"]).trim(),
            "staged.txt",
            "{}",
            told()
        );
        nothing_is_left_over(&p, &told());
    }
}

/// Neither workers' branches and worktrees, nor what was half written.
fn nothing_is_left_over(p: &Project, told: &str) {
    assert_eq!(p.git(&["branch", "-v", "--list", "ralph/*"]), "", "{told}");
    let trees = p.git(&["worktree", "list"]);
    assert_eq!(trees.lines().count(), 1, "{told}: {trees}");
    for dir in [p.root(), p.root().join(".ralph")] {
        let names = std::fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name());
        let half = names.filter(|n| n.to_string_lossy().starts_with(".ralph-tmp-"));
        assert_eq!(half.collect::<Vec<_>>(), [""; 0], "{told}");
    }
}

#[test]
fn killed_at_random_moments_a_run_loses_and_doubles_nothing() {
    sweep(1, three_tasks, &["run"]);
}

#[test]
fn killed_at_random_moments_a_run_with_judge_and_hook_loses_and_doubles_nothing() {
    let builder = || {
        three_tasks()
            .other_agent("rules", "cat >/dev/null; echo 'JUDGE_SIGNAL: true'\n")
            .toml("[judge]\nenabled = true\nagent = \"rules\"\n")
    };
    sweep(2, builder, &["run"]);
}

#[test]
fn killed_at_random_moments_workers_lose_and_double_nothing() {
    sweep(3, three_tasks, &["run", "--parallel", "2"]);
}

#[test]
fn killed_at_random_moments_one_worker_loses_and_doubles_nothing() {
    let three = || {
        three_tasks()
            .gate("second", "test -s PRD.md")
            .toml("[git]\nisolation = \"worktree\"\n")
    };
    sweep(4, three, &["run"]);
}
