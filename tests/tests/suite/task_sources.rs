//! Forms of task files beside checklists, and ids that mean the same for the life of a project.

use ralph_tests::Project;

const YAML: &str = "# mine\nversion: 1\ntasks:\n  - id: 1   # first\n    title: 'Lay the ground'\n\n  # then\n  - {id: two, title: Walls, depends_on: [1]}\n";

#[test]
fn a_yaml_plan_is_worked_through_and_its_comments_stay() {
    let p = Project::build().tasks("tasks.yaml", YAML).ready();
    p.run(&["run"]).expect(0).says("complete: 2 of 2");
    assert_eq!(
        p.read("tasks.yaml"),
        YAML.replace("ground'\n", "ground'\n    completed: true\n")
            .replace("{id: two", "{completed: true, id: two")
    );
    assert_eq!(p.commits(), ["ralph: 1 Lay the ground", "ralph: two Walls"]);
    p.journal();
}

const PRD: &str =
    "{\"userStories\": [{\"id\": \"US-1\", \"title\": \"One\", \"passes\": false}]}\n";

#[test]
fn a_directory_of_tasks_has_its_own_progress() {
    let p = Project::build()
        .tasks("tasks/login/prd.json", PRD)
        .toml("[files]\ntasks = \"tasks/login\"")
        .ready();
    p.run(&["run"]).expect(0).says("complete: 1 of 1");
    assert_eq!(p.read("tasks/login/prd.json"), PRD.replace("false", "true"));
    assert!(p.read("tasks/login/progress.txt").contains("US-1"));
}

#[test]
fn the_one_directory_of_tasks_is_found_and_of_two_one_must_be_named() {
    let p = Project::build().tasks("tasks/login/prd.json", PRD).ready();
    p.run(&["status"]).expect(0).says("tasks/login/prd.json");
    p.write("tasks/other/prd.json", PRD);
    let ran = p.run(&["status"]).expect(3);
    assert!(
        ran.stderr.contains("tasks/login, tasks/other"),
        "{}",
        ran.stderr
    );
}

/// An id of a task without one of its own is remembered by the first run that reads the file.
#[test]
fn an_id_survives_a_task_inserted_above_between_two_runs() {
    let p = Project::build()
        .tasks("PRD.md", "- [ ] First thing\n- [ ] Second thing\n")
        .ready();
    p.run(&["step"]).expect(0);
    let after = p.read("PRD.md");
    p.write("PRD.md", format!("- [ ] On top\n{after}"));
    let list = p.run(&["task", "list", "--json"]).expect(0).json();
    let ids: Vec<_> = list["result"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["T3", "T1", "T2"]);
    p.run(&["step", "--task", "T2"]).expect(0);
    assert_eq!(p.commits()[1], "ralph: T2 Second thing");
    assert_eq!(
        p.read("PRD.md"),
        "- [ ] On top\n- [x] First thing\n- [x] Second thing\n"
    );
    p.run(&["run"]).expect(0).says("complete: 3 of 3");
    p.journal();
}

#[test]
fn workers_call_tasks_by_the_same_ids() {
    let p = Project::build()
        .tasks("PRD.md", "- [ ] First thing\n- [ ] Second thing\n")
        .ready();
    p.run(&["step"]).expect(0);
    let after = p.read("PRD.md");
    p.write("PRD.md", format!("- [ ] On top\n{after}"));
    p.commit_all("one more");
    p.run(&["run", "--parallel", "2"])
        .expect(0)
        .says("complete: 3 of 3");
    let commits = p.commits().join("\n");
    assert!(
        commits.contains("ralph: T3 On top") && commits.contains("ralph: T2 Second thing"),
        "{commits}"
    );
    p.journal();
}

#[test]
fn a_person_adds_blocks_and_retries_tasks() {
    let p = Project::build()
        .tasks(
            "PRD.md",
            "# Plan\n\n- [ ] First thing\n  - it works\n\nThe end.\n",
        )
        .in_loop("max_attempts = 1")
        .gate("no", "exit 1\n")
        .ready();
    let added = p
        .run(&[
            "task",
            "add",
            "Second thing",
            "--accept",
            "it is there",
            "--depends",
            "T1",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(added["result"]["id"], "T2");
    assert_eq!(
        p.read("PRD.md"),
        "# Plan\n\n- [ ] First thing\n  - it works\n- [ ] Second thing\n  - it is there\n  - Depends on: T1\n\nThe end.\n"
    );
    p.run(&["run"]).expect(1);
    assert!(p.read("PRD.md").contains("- [-] First thing"));
    p.run(&["task", "show", "T1"]).expect(0).says("1 attempt");
    let retried = p.run(&["task", "retry", "T1", "--json"]).expect(0).json();
    assert_eq!(retried["result"]["attempts"], 0);
    assert_eq!(retried["result"]["state"], "open");
    p.run(&["task", "block", "T1", "--reason", "wait for the key"])
        .expect(0);
    p.run(&["task", "unblock", "T1"]).expect(0);
    p.run(&["task", "unblock", "T1"]).expect(3);
    p.run(&["step"]).expect(1);
    let prompt = p.noted("prompt.2");
    assert!(prompt.contains("wait for the key"), "{prompt}");
    p.run(&["task", "done", "T9"]).expect(3);
    p.run(&["task", "done", "T1"]).expect(0);
    assert!(p.read("PRD.md").contains("- [x] First thing"));
    p.journal();
}

#[test]
fn a_task_is_added_in_each_form_and_nothing_else_changes() {
    for (path, text, after) in [
        (
            "tasks.yaml",
            YAML,
            YAML.replace(
                "\n\n  # then",
                "\n  - id: \"two-2\"\n    title: \"New: é\"\n\n  # then",
            ),
        ),
        (
            "prd.json",
            PRD,
            PRD.replace(
                "}]",
                "},{\"id\": \"US-2\", \"title\": \"New: é\", \"passes\": false}]",
            ),
        ),
    ] {
        let p = Project::build().tasks(path, text).ready();
        let first = if path == "prd.json" { "US-1" } else { "1" };
        p.run(&["task", "add", "New: é", "--after", first])
            .expect(0);
        assert_eq!(p.read(path), after);
        p.run(&["task", "add", "two\nlines"]).expect(3);
        p.run(&["task", "add", "x", "--depends", "nobody"])
            .expect(3);
        assert_eq!(p.read(path), after);
    }
}

#[test]
fn a_task_under_a_running_agent_is_not_changed_by_hand() {
    let p = Project::build().agent("tell on now; hang\n").ready();
    p.fifo("on");
    let live = p.start(&["run"]);
    p.hear("on");
    let before = p.read("PRD.md");
    let ran = p.run(&["task", "done", "T1"]).expect(2);
    assert!(
        ran.stderr.contains(&live.pid().to_string()),
        "{}",
        ran.stderr
    );
    assert_eq!(p.read("PRD.md"), before);
    live.signal(rustix::process::Signal::TERM);
    live.wait();
}

#[test]
fn a_task_file_is_converted_and_worked_through_in_its_new_form() {
    let p = Project::build().ready();
    p.run(&["convert", "PRD.md", "tasks.yaml"]).expect(0);
    p.run(&["convert", "PRD.md", "tasks.yaml"])
        .expect(3)
        .says("is there already");
    p.run(&["convert", "nope.md", "x.json"])
        .expect(3)
        .says("nope.md");
    p.run(&["convert", "PRD.md", "../x.json"]).expect(2);
    std::fs::remove_file(p.root().join("PRD.md")).unwrap();
    let toml = p.read("ralph.toml") + "\n[files]\ntasks = \"tasks.yaml\"\n";
    p.write("ralph.toml", toml);
    p.commit_all("yaml");
    p.trust();
    p.run(&["run"]).expect(0);
    let yaml = p.read("tasks.yaml");
    assert_eq!(yaml.matches("completed: true").count(), 2, "{yaml}");
}

/// The line that ralph itself writes after a rejected attempt is none of the next attempt's work.
#[test]
fn the_progress_file_is_nobodys_work_wherever_it_is() {
    let p = Project::build()
        .agent("cat >/dev/null\nif [ $(count agent) = 1 ]; then echo x >work.txt; else rm -f work.txt; fi\necho 'EXIT_SIGNAL: true'\n")
        .gate("g", "exit 1\n")
        .in_loop("max_attempts = 2\nmax_iterations = 2")
        .toml("[files]\nprogress = \"PROGRESS.md\"")
        .ready();
    p.run(&["run"]).expect(1).says("nothing had changed");
    assert!(p.read("PROGRESS.md").contains("gate failed"));
}

#[test]
fn a_prd_names_the_branch_its_work_is_for() {
    let prd = |branch: &str| {
        format!(
            "{{\"branchName\": \"{branch}\", \"userStories\": [{{\"id\": \"US-1\", \"title\": \"a\", \"passes\": false}}]}}\n"
        )
    };
    let p = Project::build()
        .tasks("prd.json", prd("feature/login"))
        .toml("[git]\nbranch = \"work/{branch_name}\"\n")
        .ready();
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.git(&["branch", "--show-current"]).trim(),
        "work/feature/login"
    );
    for (text, word) in [
        (prd("-x..y"), "can't be a branch"),
        (
            "{\"userStories\": [{\"id\": \"US-1\", \"title\": \"a\", \"passes\": false}]}".into(),
            "names no branch",
        ),
    ] {
        let p = Project::build()
            .tasks("prd.json", text)
            .toml("[git]\nbranch = \"{branch_name}\"\n")
            .ready();
        p.run(&["run"]).expect(3).says(word).says("ralph.toml:");
        assert!(!p.exists(".ralph/journal.jsonl"));
    }
}
