//! Fingerprints: computed, written, verified, repaired; as a hook and as a gate.

use std::os::unix::fs::symlink;

use ralph_tests::Project;

use crate::kill::hook;

const UNIT: &str = "# by hand\nid: unit\ntype: prompt-set\nversion: '1.0'\nprompts:\n  - id: a\n    text: |\n      Do it.\n    title:\n";
/// The same, spelled otherwise.
const SAME: &str = "\u{feff}{\"version\": \"1.0\", \"id\": unit,\r\n \"prompts\": [ {text: \"Do it.\\n\", id: \"a\"} ],\r\n \"type\": prompt-set}\r\n";

fn binary() -> String {
    let command = Project::bare().command(&[]);
    command.get_program().to_str().unwrap().to_owned()
}

fn computed(p: &Project, path: &str) -> String {
    let ran = p.run(&["fingerprint", "compute", path, "--json"]).expect(0);
    ran.json()["result"]["files"][0]["fingerprint"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn the_fingerprint_is_that_of_the_canonical_form() {
    let p = Project::bare();
    // sha256sum of {"a":1}
    let want = "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
    for (path, text) in [
        ("a.yaml", "a: 1.0 # one\n"),
        ("a.yml", "fingerprint: sha256:x\nb: ~\n'a': 0x1\n"),
        ("a.json", "{ \"a\" : 1e0 }\r\n"),
        ("a.md", "\u{feff}{\"a\":1}"),
    ] {
        p.write(path, text);
        // Markdown ends with a line feed.
        assert_eq!(computed(&p, path) == want, path != "a.md", "{path}");
    }
    p.write("a.txt", "{\"a\":1}");
    assert_eq!(computed(&p, "a.txt"), want);
    p.write("empty.txt", "");
    p.run(&[
        "fingerprint",
        "compute",
        "empty.txt",
        "--algorithm",
        "blake3",
    ])
    .expect(0)
    .says("blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262  empty.txt");
    p.write("one.yaml", UNIT);
    p.write("other.yaml", SAME);
    assert_eq!(computed(&p, "one.yaml"), computed(&p, "other.yaml"));
    p.write("a1.md", "# T  \r\n\r\ne\u{301} \r\n");
    p.write("a2.md", "# T  \n\n\u{e9}\n\n");
    assert_eq!(computed(&p, "a1.md"), computed(&p, "a2.md"));
}

#[test]
fn verify_tells_verified_tampered_missing_and_errors_apart() {
    let p = Project::bare();
    p.write("prompts/a.yaml", UNIT);
    p.write("prompts/deep/b.md", "# B\n");
    let verify = ["fingerprint", "verify"];
    p.run(&verify).expect(3).says("missing   prompts/a.yaml");
    assert!(!p.exists(".ralph/prompt-edits"), "verifying writes nothing");
    p.run(&["fingerprint", "write"]).expect(0);
    let untracked = p.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(!untracked.contains(".ralph"), "{untracked}");
    let sidecar = p.read("prompts/a.yaml.fp");
    assert_eq!(sidecar, format!("{}\n", computed(&p, "prompts/a.yaml")));
    p.run(&verify).expect(0).says("verified  prompts/deep/b.md");

    // Another spelling is the same prompt.
    p.write("prompts/a.yaml", SAME);
    p.run(&verify).expect(0);
    p.write("prompts/a.yaml", UNIT.replace("Do it", "Do something else"));
    let ran = p.run(&["fingerprint", "verify", "--json"]).expect(2);
    let files = &ran.json()["result"]["files"];
    assert_eq!(files[0]["status"], "tampered");
    assert_eq!(files[0]["fingerprint_stored"], sidecar.trim());
    assert_ne!(files[0]["fingerprint_computed"], sidecar.trim());
    assert_eq!(files[1]["status"], "verified");
    // Only the file that is named.
    p.run(&["fingerprint", "verify", "prompts/deep/b.md"])
        .expect(0);
    p.run(&[
        "-C",
        "prompts/deep",
        "fingerprint",
        "verify",
        "b.md",
        "../a.yaml",
    ])
    .expect(2);

    // Nothing that can be read any more, but it had a fingerprint.
    p.write("prompts/a.yaml", "a: 1\na: 2\n");
    p.run(&verify).expect(2).says("stands twice");
    p.write("prompts/a.yaml", UNIT);
    p.write("prompts/c.yaml", "a: 1\na: 2\n");
    p.run(&verify).expect(1).says("stands twice");
    std::fs::remove_file(p.root().join("prompts/c.yaml")).unwrap();
    std::fs::remove_file(p.root().join("prompts/a.yaml")).unwrap();
    p.run(&verify).expect(2).says("the sidecar's file is gone");
    for path in ["nothing.yaml", "../x", "/etc/passwd", ".git/config"] {
        p.run(&["fingerprint", "verify", path]).expect(1);
    }
    p.run(&["fingerprint", "verify", "--nonsense"]).expect(3);
}

#[test]
fn a_link_among_the_prompts_is_an_error_and_is_not_followed() {
    let p = Project::bare();
    p.write("prompts/a.md", "a\n");
    p.write("real.md", "real\n");
    symlink("../real.md", p.root().join("prompts/l.md")).unwrap();
    p.run(&["fingerprint", "write"])
        .expect(1)
        .says("a link stands on the way");
    assert!(!p.exists("prompts/l.md.fp"));
    p.run(&["fingerprint", "verify"]).expect(1);
    p.run(&["fingerprint", "verify", "prompts/a.md"]).expect(0);
}

#[test]
fn what_has_no_one_meaning_has_no_fingerprint() {
    let p = Project::bare();
    let laughs = format!(
        "a: &a [x, x, x, x, x, x, x, x, x]\n{}",
        (1..9)
            .map(|i| format!(
                "a{i}: &a{i} [{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}]\n",
                if i == 1 {
                    "*a".into()
                } else {
                    format!("*a{}", i - 1)
                }
            ))
            .collect::<String>()
    );
    for (text, why) in [
        ("a: 1\na: 2\n", "stands twice"),
        ("\u{e9}: 1\ne\u{301}: 2\n", "stands twice"),
        ("a: .inf\n", "no place in JSON"),
        ("a: 9007199254740993\n", "beyond 2^53"),
        ("a: !!binary aGk=\n", "tag"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "`<<`"),
        ("1: x\n", "not a string"),
        ("__proto__: x\n", "`__proto__`"),
        ("- a\n", "root must be a mapping"),
        ("a: 1\n---\nb: 2\n", "second document"),
        (&laughs, "anchors and aliases"),
    ] {
        p.write("prompts/a.yaml", text);
        p.run(&["fingerprint", "compute", "prompts/a.yaml"])
            .expect(1)
            .says(why);
        p.run(&["fingerprint", "write"]).expect(1).says(why);
        assert!(!p.exists("prompts/a.yaml.fp"), "{text}");
    }
}

#[test]
fn a_units_own_field_is_verified_and_written_in_its_place() {
    let p = Project::bare();
    let zeros = "0".repeat(64);
    let unit = format!("id: x\nfingerprint: \"blake3:{zeros}\" # sealed\nprompts: []\n");
    p.write("prompts/u.yaml", &unit);
    p.run(&["fingerprint", "verify"]).expect(2);
    p.run(&["fingerprint", "write"]).expect(0);
    let now = p.read("prompts/u.yaml");
    assert_eq!(
        now.replace(&computed_blake3(&p), &format!("blake3:{zeros}")),
        unit
    );
    assert!(!p.exists("prompts/u.yaml.fp"));
    p.run(&["fingerprint", "verify"]).expect(0);
    p.write("prompts/u.yaml", now.replace("id: x", "id: y"));
    p.run(&["fingerprint", "verify"]).expect(2);
    // Half of one is no draft's.
    let damaged = p
        .read("prompts/u.yaml")
        .replace("\" # sealed", "0\" # sealed");
    p.write("prompts/u.yaml", &damaged);
    p.run(&["fingerprint", "verify"])
        .expect(2)
        .says("the field `fingerprint` can't be read");
    p.run(&["fingerprint", "write"]).expect(0);
    assert!(!p.exists("prompts/u.yaml.fp"));
    p.run(&["fingerprint", "verify"]).expect(0);
    // A word in its place is a draft's.
    p.write(
        "prompts/u.yaml",
        "id: x\nfingerprint: \"blake3:placeholder\"\n",
    );
    p.run(&["fingerprint", "verify"]).expect(3);
    p.run(&["fingerprint", "write", "--algorithm", "blake3"])
        .expect(0);
    assert!(p.read("prompts/u.yaml.fp").starts_with("blake3:"));
    p.run(&["fingerprint", "verify"]).expect(0);
}

fn computed_blake3(p: &Project) -> String {
    let args = [
        "fingerprint",
        "compute",
        "prompts/u.yaml",
        "--algorithm",
        "blake3",
    ];
    let ran = p.run(&args).expect(0);
    ran.stdout.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn the_configuration_gives_an_ending_another_canonicaliser_once_it_is_trusted() {
    let p = Project::bare();
    let built = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/components/canonicaliser-json.wasm"
    );
    std::fs::copy(built, p.root().join("mine.wasm")).unwrap();
    p.write(
        "ralph.toml",
        "[fingerprints]\nhash = \"blake3\"\n[fingerprints.forms]\nconf = \"mine\"\n[plugins.mine]\nsource = \"mine.wasm\"\n",
    );
    p.write("a.conf", "{ \"b\": 1,\n  \"a\": 2 }\n");
    p.write("b.conf", "{\"a\":2,\"b\":1}");
    p.run(&["fingerprint", "compute", "a.conf"])
        .expect(1)
        .says("isn't trusted yet");
    p.run(&["trust"]).says("files that end in .");
    p.run(&["trust", "--yes"]).expect(0);
    assert!(computed(&p, "a.conf").starts_with("blake3:"));
    assert_eq!(computed(&p, "a.conf"), computed(&p, "b.conf"));
    p.write("ralph.toml", "[fingerprints.forms]\nconf = \"jsno\"\n");
    p.run(&["fingerprint", "compute", "a.conf"])
        .expect(1)
        .says("did you mean \"json\"?");
}

#[test]
fn repair_finishes_what_was_cut_off_and_says_what_is_left() {
    let p = Project::bare();
    p.write("prompts/a.md", "a\n");
    p.write("prompts/.ralph-tmp-1-1", "half");
    p.run(&["fingerprint", "write"]).expect(0);
    p.run(&["fingerprint", "repair"])
        .expect(0)
        .says("prompts/.ralph-tmp-1-1: was only being written");
    assert!(!p.exists("prompts/.ralph-tmp-1-1"));
    p.write("prompts/a.md", "b\n");
    p.run(&["fingerprint", "repair"])
        .expect(2)
        .says("tampered  prompts/a.md");
    assert_eq!(p.read("prompts/a.md"), "b\n");
}

#[test]
fn a_directory_stands_for_all_below_it_and_a_sidecar_for_its_file() {
    let p = Project::bare();
    p.write("prompts/a.yaml", UNIT);
    p.write("prompts/deep/b.md", "# B\n");
    p.write("docs/c.md", "# C\n");
    p.run(&["fingerprint", "write", "prompts/deep", "docs"])
        .expect(0);
    assert!(!p.exists("prompts/a.yaml.fp"));
    p.run(&["fingerprint", "verify", "prompts"])
        .expect(3)
        .says("missing   prompts/a.yaml")
        .says("verified  prompts/deep/b.md");
    p.run(&["fingerprint", "write", "prompts/a.yaml.fp"])
        .expect(0);
    let both = [
        "fingerprint",
        "verify",
        "prompts/a.yaml",
        "prompts/a.yaml.fp",
    ];
    let ran = p.run(&both).expect(0);
    assert_eq!(ran.stdout.matches("prompts/a.yaml").count(), 1);
    p.run(&["-C", "prompts", "fingerprint", "verify", "deep/b.md.fp"])
        .expect(0);
    p.write("prompts/deep/b.md", "# X\n");
    p.run(&["fingerprint", "verify", "prompts"]).expect(2);
    // Neither is it left by a link, nor is the whole project meant by its root.
    symlink("docs", p.root().join("link")).unwrap();
    p.run(&["fingerprint", "verify", "link"]).expect(1);
    p.run(&["fingerprint", "verify", "."]).expect(1);
}

#[test]
fn what_lies_too_deep_or_has_a_name_that_hides_something_is_told() {
    let p = Project::bare();
    let deep = |levels: usize| format!("prompts/{}a.md", "d/".repeat(levels));
    p.write(&deep(16), "a\n");
    p.write("prompts/b\u{202e}dm.md", "b\n");
    p.run(&["fingerprint", "write"])
        .expect(0)
        .says("prompts/b\\u{202e}dm.md")
        .never_says("\u{202e}");
    p.run(&["fingerprint", "verify"])
        .expect(0)
        .says("verified  prompts/b\\u{202e}dm.md")
        .never_says("\u{202e}");
    p.write(&deep(17), "a\n");
    p.run(&["fingerprint", "verify"])
        .expect(1)
        .says("deeper than 16");
    p.run(&["fingerprint", "verify", &deep(17)])
        .expect(1)
        .says("deeper than 16");
}

#[test]
fn as_a_hook_of_git_it_keeps_out_what_would_be_committed_and_not_what_lies_about() {
    let p = Project::bare();
    hook(&p, "pre-commit", &hook_of_readme());
    p.write("prompts/a.md", "a\n");
    p.run(&["fingerprint", "write"]).expect(0);
    p.commit_all("sealed");
    let commit = |args: &[&str]| {
        let mut commit = std::process::Command::new("git");
        commit
            .args(["commit", "-q", "-m", "x"])
            .args(args)
            .current_dir(p.root());
        let home = p.command(&[]);
        commit.envs(home.get_envs().filter_map(|(n, v)| Some((n, v?))));
        commit.env("TMPDIR", p.side(""));
        let ran = commit.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        (ran.status.success(), said)
    };
    p.write("prompts/a.md", "b\n");
    p.git(&["add", "."]);
    let (done, said) = commit(&[]);
    assert!(!done && said.contains("tampered  prompts/a.md"), "{said}");
    // Sealed in the working tree, and not in the index.
    p.run(&["fingerprint", "write"]).expect(0);
    assert!(!commit(&[]).0);
    p.git(&["add", "."]);
    assert!(commit(&[]).0);
    // Changed in the working tree, and not in what is committed.
    p.write("prompts/a.md", "c\n");
    p.write("other.txt", "x\n");
    p.git(&["add", "other.txt"]);
    assert!(commit(&[]).0);
    assert!(!commit(&["-a"]).0);
    p.git(&["checkout", "-q", "prompts/a.md"]);
    p.write("other.txt", "y\n");
    assert!(commit(&["-a"]).0);
    // Nothing of it is left.
    let left: Vec<_> = std::fs::read_dir(p.side(""))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("tmp."))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

/// What the README has for a hook, with the built program.
fn hook_of_readme() -> String {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let begin = readme.find("    index=$(mktemp").unwrap();
    let lines = readme[begin..].lines();
    let script: Vec<&str> = lines.map_while(|line| line.strip_prefix("    ")).collect();
    let called = script
        .join("\n")
        .replace("ralph -C", &format!("{} -C", binary()));
    assert_ne!(called, script.join("\n"));
    called
}

#[test]
fn as_a_gate_it_refuses_work_that_leaves_a_prompt_and_its_fingerprint_apart() {
    let ralph = binary();
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n- [ ] Reword prompts/a.md\n")
        .in_loop("max_attempts = 3")
        .agent(
            "n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\necho \"work $n\" >>work.txt\n[ $n = 1 ] && echo changed >prompts/a.md || echo 'as it was' >prompts/a.md\necho 'EXIT_SIGNAL: true'\n",
        )
        .toml(&format!(
            "[[gates]]\nname = \"prompts\"\nrun = [{ralph:?}, \"fingerprint\", \"verify\"]\nprotect = [\"prompts/\"]\n"
        ))
        .ready();
    p.write("prompts/a.md", "as it was\n");
    p.run(&["fingerprint", "write"]).expect(0);
    p.commit_all("sealed");
    p.run(&["run"]).expect(0);
    let gate = p.facts("gate_answered");
    assert_eq!(gate[0]["result"]["verdict"]["status"], "fail", "{gate:?}");
    assert_eq!(gate.last().unwrap()["result"]["verdict"]["status"], "pass");
    assert!(
        p.noted("prompt.2").contains("tampered"),
        "{}",
        p.noted("prompt.2")
    );
}

#[test]
fn as_a_gate_with_protect_it_refuses_work_that_deletes_or_reseals_a_prompt() {
    let ralph = binary();
    for work in [
        "rm prompts/a.md prompts/a.md.fp".to_owned(),
        format!("echo otherwise >prompts/a.md; {ralph} fingerprint write >/dev/null"),
    ] {
        let p = Project::build()
            .tasks("PRD.md", "## Tasks\n- [ ] Something else\n")
            .in_loop("max_iterations = 1")
            .agent(&format!("echo work >>work.txt\n{work}\necho 'EXIT_SIGNAL: true'\n"))
            .toml(&format!(
                "[[gates]]\nname = \"prompts\"\nrun = [{ralph:?}, \"fingerprint\", \"verify\"]\nprotect = [\"prompts/\"]\n"
            ))
            .untrusted();
        p.write("prompts/a.md", "as it was\n");
        p.run(&["fingerprint", "write"]).expect(0);
        p.commit_all("sealed");
        p.trust();
        p.run(&["run"]).expect(1);
        assert_eq!(p.facts("committed").len(), 0, "{work}");
    }
}
