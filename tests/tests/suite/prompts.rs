//! What agents are told, in which words they answer, and modes.

use ralph_tests::Project;

fn prompt(p: &Project, n: usize) -> String {
    p.noted(&format!("prompt.{n}"))
}

#[test]
fn a_template_is_filled_in_and_the_ending_is_added() {
    let p = Project::build()
        .toml("[files]\ntemplate = \"prompt.j2\"\n")
        .in_loop("max_iterations = 1")
        .untrusted();
    p.write(
        "prompt.j2",
        "Do {{ id }} ({{ title }}), try {{ attempt }} of {{ max_attempts }}, as {{ agent }}.\n",
    );
    p.commit_all("template");
    p.trust();
    p.run(&["run"]).expect(1);
    let seen = prompt(&p, 1);
    assert!(
        seen.starts_with("Do T1 (First thing), try 1 of 3, as fake.\n\n## How to end"),
        "{seen}"
    );
    assert_eq!(p.facts("committed").len(), 1);
    let shown = p.run(&["prompt", "T1"]).expect(0);
    assert!(
        shown.stdout.starts_with("Do T1 (First thing)"),
        "{}",
        shown.stdout
    );
    p.run(&["prompt", "--variables"])
        .expect(0)
        .says("max_attempts");
}

#[test]
fn a_template_that_cannot_be_used_is_said_with_its_line_before_anything_runs() {
    for (text, line) in [
        ("a\n{{ titel }}\n", "prompt.j2:2"),
        ("{% for %}", "prompt.j2:1"),
    ] {
        let p = Project::build()
            .toml("[files]\ntemplate = \"prompt.j2\"\n")
            .untrusted();
        p.write("prompt.j2", text);
        p.commit_all("template");
        p.trust();
        p.run(&["run"]).expect(3).says(line).says("template");
        assert!(!p.exists(".ralph/journal.jsonl"));
    }
}

#[test]
fn specifications_are_shown_within_their_budget_and_what_is_left_out_is_said() {
    let p = Project::build()
        .toml("[prompt]\nspecs_max = \"1KiB\"\n")
        .in_loop("max_iterations = 1")
        .untrusted();
    p.write("specs/a.md", format!("first {}END_OF_A", "x".repeat(900)));
    p.write(
        "specs/b.md",
        format!("second {}END_OF_B", "é".repeat(900_000)),
    );
    p.write("specs/c.md", "third");
    p.write("specs/notes.txt", "NOT_A_SPEC");
    p.commit_all("specs");
    p.trust();
    p.run(&["run"]).expect(1);
    let seen = prompt(&p, 1);
    assert!(
        seen.contains("### specs/a.md") && seen.contains("END_OF_A"),
        "{seen}"
    );
    assert!(seen.contains("second") && seen.contains("more bytes") && !seen.contains("END_OF_B"));
    assert!(seen.contains("Not shown for want of room, read what you need: specs/c.md"));
    assert!(!seen.contains("NOT_A_SPEC"));
    assert!(seen.len() < 4096, "{}", seen.len());
}

/// A04
#[test]
fn an_empty_token_is_an_error_that_names_the_key_and_is_never_found() {
    for (key, token) in [("done", ""), ("done", "   "), ("not_done", "**")] {
        let p = Project::build()
            .toml(&format!("[claims]\n{key} = [\"{token}\"]\n"))
            .untrusted();
        let ran = p.run(&["run", "--trust"]).expect(3);
        ran.says("claims").says("would match").says("ralph.toml:");
    }
    Project::build()
        .toml("[claims]\ndone = [\"EXIT_SIGNAL: false\"]\n")
        .untrusted()
        .run(&["run", "--trust"])
        .expect(3)
        .says("not_done");
}

#[test]
fn a_projects_own_token_is_asked_for_and_is_the_only_one_that_counts() {
    let agent = |last: &str| {
        Project::build()
            .agent(&format!(
                "cat >$SIDE/prompt.1; echo x >>work.txt; echo '{last}'\n"
            ))
            .toml("[claims]\ndone = [\"ALL DONE HERE\"]\n")
            .in_loop("max_iterations = 1")
            .ready()
    };
    let p = agent("**All done here.**");
    p.run(&["run"]).expect(1);
    assert_eq!(p.commits().len(), 1);
    assert!(
        prompt(&p, 1).contains("\nALL DONE HERE\n"),
        "{}",
        prompt(&p, 1)
    );
    let p = agent("EXIT_SIGNAL: true");
    p.run(&["run"]).expect(1);
    assert_eq!(p.commits().len(), 0);
}

/// A14
#[test]
fn an_agent_that_only_asks_is_not_asked_again_and_a_person_is_told_what_it_wants() {
    let p = Project::build()
        .agent(
            "n=$(count agent); cat >$SIDE/prompt.$n\n\
             if grep -q 'use the second' $SIDE/prompt.$n; then echo x >>work.txt; echo 'EXIT_SIGNAL: true'; exit; fi\n\
             printf 'Before I begin:\\n1. Which table?\\n2. Which way?\\n3. May I drop it?\\n'\n",
        )
        .tasks("PRD.md", "# Tasks\n\n- [ ] First\n")
        .ready();
    p.run(&["run"]).expect(1);
    assert_eq!(p.count("agent"), 1, "asked once");
    assert!(
        p.read("PRD.md").contains("- [-] First"),
        "{}",
        p.read("PRD.md")
    );
    p.run(&["blocked"])
        .expect(0)
        .says("needs input")
        .says("May I drop it?")
        .says("ralph task unblock T1");
    p.write(".ralph/FEEDBACK.md", "use the second\n");
    p.run(&["task", "unblock", "T1"]).expect(0);
    p.run(&["run"]).expect(0);
    assert!(prompt(&p, 2).contains("Which table?"), "{}", prompt(&p, 2));
    assert_eq!(p.commits().len(), 1);
}

#[test]
fn what_failed_twice_in_the_same_words_is_told_once_with_its_number() {
    let p = Project::build()
        .agent("n=$(count agent); cat >$SIDE/prompt.$n; echo x$n >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .gate("noisy", "i=0; while [ $i -lt 500 ]; do echo same line; i=$((i+1)); done; echo last; exit 1\n")
        .in_loop("max_iterations = 3")
        .ready();
    p.run(&["run"]).expect(1);
    let third = prompt(&p, 3);
    assert_eq!(third.matches("same line").count(), 1, "{third}");
    assert!(
        third.contains("(500 times)") && third.contains("last"),
        "{third}"
    );
    assert!(
        third.contains("attempt 2: gate failed: noisy, with the same words as before"),
        "{third}"
    );
}

#[test]
fn a_mode_is_laid_over_the_configuration() {
    let p = Project::build()
        .other_agent(
            "other",
            "cat >$SIDE/prompt.1; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n",
        )
        .toml("[modes.slow]\nagent = \"other\"\nmax_iterations = 1\nprompt = \"slow.md\"\n")
        .untrusted();
    p.write("slow.md", "Take your time.\n");
    p.commit_all("mode");
    p.trust();
    p.run(&["run", "--mode", "fast"])
        .expect(3)
        .says("no mode `fast`; there are exploration, quality, slow, speed");
    p.run(&["run", "--mode", "slow"]).expect(1);
    assert!(
        prompt(&p, 1).starts_with("Take your time."),
        "{}",
        prompt(&p, 1)
    );
    assert_eq!(p.facts("iteration_ended").len(), 1);
    p.run(&["trust", "--json"])
        .says("other")
        .says("works in mode `slow`");
    p.run(&["run", "--dry-run", "--mode", "quality"])
        .expect(0)
        .says("50 iterations");
}
