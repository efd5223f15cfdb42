//! What an agent does to the task file beyond ticking its own task is undone and told.

use ralph_tests::Project;

const STORIES: &str = r#"{"userStories":[
{"id":"A","title":"first","passes":false},
{"id":"B","title":"second","passes":false}]}
"#;

/// E11: name, what the agent does to `prd.json`.
const BREAKS: [(&str, &str); 9] = [
    ("missing comma", r#"sed -i 's/"A",/"A"/' prd.json"#),
    (
        "duplicate key",
        r#"sed -i 's/"id":"A"/"id":"A","id":"A"/' prd.json"#,
    ),
    ("truncated", "head -c 30 prd.json >x && mv x prd.json"),
    ("empty", ": >prd.json"),
    ("deleted", "rm prd.json"),
    (
        "a directory",
        "rm prd.json; mkdir prd.json; echo x >prd.json/x",
    ),
    ("duplicate ids", r#"sed -i 's/"B"/"A"/' prd.json"#),
    (
        "passes is text",
        r#"sed -i 's/"passes":false/"passes":"true"/' prd.json"#,
    ),
    ("no stories", "echo '{\"userStories\":[]}' >prd.json"),
];

#[test]
fn a_task_file_broken_in_mid_run_is_put_back_told_and_never_means_all_done() {
    for (name, breaking) in BREAKS {
        let p = Project::build()
            .tasks("prd.json", STORIES)
            .agent(&format!("n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\necho \"work $n\" >>work.txt\nif [ $n = 1 ]; then {breaking}; fi\necho 'EXIT_SIGNAL: false'\n"))
            .in_loop("max_attempts = 9\nmax_iterations = 2")
            .ready();
        let ran = p.run(&["run"]);
        assert_eq!(ran.code, 1, "{name}\n{}\n{}", ran.stdout, ran.stderr);
        assert_eq!(p.read("prd.json"), STORIES, "{name}");
        assert_eq!(p.count("agent"), 2, "{name}: the loop goes on");
        let prompt = p.noted("prompt.2");
        assert!(
            prompt.contains("task file prd.json was put back"),
            "{name}: {prompt}"
        );
        assert_eq!(p.commits(), [""; 0], "{name}");
    }
}

#[test]
fn the_place_of_the_damage_is_told_and_what_the_agent_wrote_is_kept() {
    let p = Project::build()
        .tasks("prd.json", STORIES)
        .agent(&format!("n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\necho x >>work.txt\nif [ $n = 1 ]; then {}; fi\n", BREAKS[0].1))
        .in_loop("max_attempts = 9\nmax_iterations = 2")
        .ready();
    p.run(&["run"]).expect(1);
    assert!(
        p.noted("prompt.2").contains("prd.json:2:"),
        "{}",
        p.noted("prompt.2")
    );
    let first = p.receipts("A", "iteration").remove(0);
    let kept = first["prompt_path"]
        .as_str()
        .unwrap()
        .replace("prompt.md", "task-file.refused");
    assert!(
        p.read(&kept).contains("\"A\"\"title\""),
        "{}",
        p.read(&kept)
    );
}

#[test]
fn other_tasks_that_an_agent_ticks_are_taken_back_and_worked_on() {
    let p = Project::build()
        .agent("n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\necho \"work $n\" >>work.txt\nif [ $n = 1 ]; then sed -i 's/\\[ \\]/[x]/' PRD.md; fi\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"])
        .expect(0)
        .says("T2 had been ticked in PRD.md");
    assert_eq!(
        p.commits(),
        ["ralph: T1 First thing", "ralph: T2 Second thing"]
    );
    assert_eq!(p.count("agent"), 2);
    let first = p.git(&["show", "HEAD~1:PRD.md"]);
    assert!(
        first.contains("- [x] First") && first.contains("- [ ] Second"),
        "{first}"
    );
}

#[test]
fn an_open_task_that_an_agent_takes_out_comes_back() {
    let p = Project::build()
        .agent("n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\necho \"work $n\" >>work.txt\nif [ $n = 1 ]; then sed -i '/Second/d' PRD.md; fi\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.commits(),
        ["ralph: T1 First thing", "ralph: T2 Second thing"]
    );
}

#[test]
fn an_agent_may_add_a_task_which_is_then_worked_on() {
    let p = Project::build()
        .agent("n=$(count agent)\ncat >/dev/null\necho \"work $n\" >>work.txt\nif [ $n = 1 ]; then echo '- [ ] Third thing' >>PRD.md; fi\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"]).expect(0);
    assert_eq!(p.commits().len(), 3);
    assert_eq!(p.commits()[2], "ralph: T3 Third thing");
}

#[test]
fn a_tick_is_a_claim_and_no_verdict() {
    let p = Project::build()
        .agent("count agent >/dev/null; cat >/dev/null; echo x >>work.txt; sed -i 's/\\[ \\] First/[x] First/' PRD.md\n")
        .gate("g", "exit 1\n")
        .in_loop("max_attempts = 2\nmax_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1);
    assert!(
        p.read("PRD.md").contains("- [ ] First"),
        "the tick was judged and taken back: {}",
        p.read("PRD.md")
    );
}

/// E11 in Markdown, and in ways that are no text.
#[test]
fn a_markdown_task_file_that_the_agent_spoils_comes_back_and_the_work_goes_on() {
    for spoiling in [
        ": >PRD.md",
        "rm PRD.md",
        "printf '\\377\\376' >PRD.md",
        "ln -sf /etc/passwd PRD.md",
        "rm PRD.md; mkfifo PRD.md",
        "sed -i 's/\\[ \\]/[-]/' PRD.md",
    ] {
        let p = Project::build()
            .agent(&format!(
                "n=$(count agent)\ncat >/dev/null\necho \"work $n\" >>work.txt\nif [ $n = 1 ]; then {spoiling}; fi\necho 'EXIT_SIGNAL: true'\n"
            ))
            .ready();
        let ran = p.run(&["run"]);
        assert_eq!(ran.code, 0, "{spoiling}\n{}\n{}", ran.stdout, ran.stderr);
        let done = ralph_tests::TWO_TASKS.replace("[ ]", "[x]");
        assert_eq!(p.read("PRD.md"), done, "{spoiling}");
        assert_eq!(p.commits().len(), 2, "{spoiling}");
    }
}

#[test]
fn a_done_task_that_the_agent_unticks_stays_done() {
    let p = Project::build()
        .agent("n=$(count agent)\ncat >/dev/null\necho \"work $n\" >>work.txt\nif [ $n = 2 ]; then sed -i 's/\\[x\\] First/[ ] First/' PRD.md; fi\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"])
        .expect(0)
        .says("T1 had been marked otherwise");
    assert_eq!(
        p.commits(),
        ["ralph: T1 First thing", "ralph: T2 Second thing"]
    );
}

#[test]
fn a_task_put_above_the_others_does_not_take_a_name_that_is_in_use() {
    let p = Project::build()
        .agent("n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\necho \"work $n\" >>work.txt\nif [ $n = 1 ]; then sed -i 's/^- \\[ \\] First/- [ ] Sneaked in\\n&/' PRD.md; fi\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.commits(),
        [
            "ralph: T1 First thing",
            "ralph: T3 Sneaked in",
            "ralph: T2 Second thing"
        ]
    );
    p.journal();
}

/// An agent that ticks all there is costs the host one look, not one for each task.
#[test]
fn twenty_thousand_ticks_are_taken_back_at_once_and_told_in_brief() {
    let tasks: String = (1..=20_000).map(|n| format!("- [ ] Thing {n}\n")).collect();
    let p = Project::build()
        .tasks("PRD.md", tasks)
        .agent("cat >/dev/null\necho x >>work.txt\nsed -i 's/\\[ \\]/[x]/' PRD.md\necho 'EXIT_SIGNAL: true'\n")
        .in_loop("max_iterations = 1")
        .ready();
    let ran = p
        .run(&["run"])
        .expect(1)
        .says("and 19979 more had been ticked");
    assert!(ran.stdout.len() + ran.stderr.len() < 64 << 10);
    let now = p.read("PRD.md");
    assert_eq!(now.matches("[x]").count(), 1, "only its own");
    assert_eq!(p.commits(), ["ralph: T1 Thing 1"]);
}
