//! Gates that warn, groups of gates, gates that are about some files only.

use ralph_tests::Project;

fn gate(name: &str, script: &str, more: &str) -> String {
    format!("[[gates]]\nname = \"{name}\"\nrun = [\"sh\", \"-c\", \"{script}\"]\n{more}\n")
}

#[test]
fn a_warning_is_told_and_kept_and_refuses_nothing() {
    let lint = gate("lint", "echo 'a long line'; exit 1", "severity = \"warn\"");
    let p = Project::build().toml(&lint).ready();
    p.run(&["run"])
        .expect(0)
        .says("gate lint          warn")
        .says("warnings of lint");
    let first = p.noted("prompt.1");
    assert!(first.contains("gate `lint`, which only warns"), "{first}");
    // The work before this one was accepted; its warning is the next one's business.
    let second = p.noted("prompt.2");
    assert!(second.contains("a long line"), "{second}");
    assert!(second.contains("### gate lint (a warning"), "{second}");
    let receipts = p.receipts("T1", "gate_01");
    assert_eq!(receipts[0]["severity"], "warn", "{receipts:?}");
    assert_eq!(receipts[0]["verdict"]["status"], "fail");
    p.run(&["replay", "1"]).expect(0);
}

#[test]
fn of_a_group_not_each_has_to_pass() {
    let toml = gate("unit", "exit 1", "")
        + &gate("smoke", "test -e SIDE/works", "")
        + "[[gate_groups]]\nname = \"tested\"\nexpr = \"unit || smoke\"\n";
    let p = Project::build()
        .toml(&toml)
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1).says("gate group failed: tested");
    assert!(p.commits().is_empty(), "{:?}", p.commits());
    std::fs::write(p.side("works"), "").unwrap();
    p.run(&["run"]).expect(1).says("accepted");
    let prompt = p.noted("prompt.2");
    assert!(prompt.contains("(`tested`): unit || smoke"), "{prompt}");
    assert!(prompt.contains("### gate unit said"), "{prompt}");
}

#[test]
fn with_fail_fast_a_group_goes_on_until_it_is_lost() {
    let toml = gate("one", "exit 1", "")
        + &gate("two", "echo x >>SIDE/two.count", "")
        + "[[gate_groups]]\nname = \"any\"\nexpr = \"one || two\"\n";
    let p = Project::build()
        .toml(&toml)
        .in_loop("fail_fast = true")
        .ready();
    p.run(&["step"]).expect(0);
    assert_eq!(p.count("two"), 1);
}

#[test]
fn a_gate_that_is_about_other_files_is_skipped() {
    // Staged, committed, new and deleted: all of it is the iteration's change.
    let when = |path: &str| format!("when = {{ changed = [\"{path}\"] }}");
    let toml = gate("docs", "exit 1", &when("docs/**"))
        + &gate("new", "true", &when("new.txt"))
        + &gate("staged", "true", &when("staged.txt"))
        + &gate("committed", "true", &when("committed.txt"))
        + &gate("gone", "true", &when("old/**"));
    let p = Project::build()
        .toml(&toml)
        .agent(
            "cat >/dev/null\necho x >new.txt; echo x >staged.txt; git add staged.txt\n\
             echo x >committed.txt; git add committed.txt; git commit -qm x -- committed.txt\n\
             rm old/file\necho 'EXIT_SIGNAL: true'\n",
        )
        .ready();
    p.write("old/file", "x\n");
    p.commit_all("old");
    let ran = p.run(&["step"]).expect(0);
    for name in ["new", "staged", "committed", "gone"] {
        let line = format!("{:<18} pass", format!("gate {name}"));
        assert!(ran.stdout.contains(&line), "{}", ran.stdout);
    }
    assert!(
        ran.stdout.contains("gate docs          skip")
            && ran.stdout.contains("nothing changed in docs/**"),
        "{}",
        ran.stdout
    );
    p.run(&["replay", "1"]).expect(0);
    // Of a person's own work the same holds.
    p.write("docs/a.md", "x\n");
    p.run(&["check"]).expect(1).says("docs");
}

#[test]
fn a_group_that_cannot_be_read_is_told_with_its_place() {
    for (group, place, says) in [
        ("expr = \"lint && (smok\"", "6:8", "character 14"),
        (
            "expr = \"lint && smok\"",
            "6:8",
            "no gate and no group `smok`",
        ),
        ("expr = \"mine\"", "6:8", "for itself"),
        ("expr = \"!lint\"", "6:8", "`!` can't be used"),
        ("exp = \"lint\"", "6:1", "did you mean `expr`?"),
    ] {
        let p = Project::build().ready();
        let toml = format!(
            "[[gates]]\nname = \"lint\"\nrun = [\"true\"]\n[[gate_groups]]\nname = \"mine\"\n{group}\n"
        );
        p.write("ralph.toml", toml);
        p.run(&["run"]).expect(3).says(place).says(says);
    }
}
