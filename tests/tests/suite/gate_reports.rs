//! `ralph gates run`: gates as a step of CI, without the loop.

use std::process::Command;

use ralph_tests::{Project, tree};
use serde_json::Value;

/// A built-in gate that names files and lines, one that warns, one that passes.
fn project() -> Project {
    let gate = |name: &str, script: &str, more: &str| {
        format!("[[gates]]\nname = \"{name}\"\nrun = [\"sh\", \"-c\", \"{script}\"]\n{more}\n")
    };
    let toml = "[[gates]]\nname = \"secrets\"\nplugin = \"no-secrets\"\n".to_owned()
        + &gate("soft", "echo '<a> & b'; exit 1", "severity = \"warn\"")
        + &gate("fine", "true", "");
    let p = Project::build().toml(&toml).ready();
    p.git(&["branch", "-M", "main"]);
    p.git(&["switch", "-qc", "topic"]);
    let key = format!("AKIA{}", "Q7YH3ZK2M5N6P4RT");
    p.write("src/a b.txt", format!("first\nkey = {key}\n"));
    p.commit_all("topic");
    p
}

#[test]
fn a_branch_is_judged_as_a_whole_and_leaves_nothing_behind() {
    let p = project();
    // git's own directory aside, and the one in which programs are noted while they run: that is left empty.
    let files = || {
        let mut all = tree(&p.root());
        all.retain(|path, _| {
            !path.starts_with(".git") && ![".ralph", ".ralph/tmp"].contains(&path.as_str())
        });
        all
    };
    let before = files();
    // All is committed: nothing differs from the last commit, much from the branch it came from.
    p.run(&["gates", "run", "secrets"]).expect(0);
    let ran = p.run(&["gates", "run", "--against", "main", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&ran.expect(1).stdout).unwrap();
    ralph_tests::sarif(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let of = |rule: &str| {
        let is = |r: &&Value| r["ruleId"].as_str().is_some_and(|id| id.starts_with(rule));
        results.iter().find(is).unwrap()
    };
    assert_eq!(of("secrets")["level"], "error");
    let place = &of("secrets")["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/a%20b.txt");
    assert_eq!(place["region"]["startLine"], 2);
    assert_eq!(of("soft")["level"], "warning");
    assert_eq!(results.len(), 2, "{results:?}");

    let ran = p.run(&["gates", "run", "--against", "main", "--format", "github"]);
    let ran = ran.expect(1);
    let place = ",file=src/a b.txt,line=2::";
    assert!(
        ran.stdout
            .lines()
            .any(|l| l.starts_with("::error title=secrets") && l.contains(place)),
        "{}",
        ran.stdout
    );
    assert!(files() == before, "{:?}", files().keys());
}

#[test]
fn a_report_goes_into_a_file_and_words_for_people_to_the_terminal() {
    let p = project();
    let args = [
        "gates",
        "run",
        "--against",
        "main",
        "--format",
        "junit",
        "--output",
        "r.xml",
    ];
    p.run(&args).expect(1).says("secrets").says("fine");
    let Ok(ran) = Command::new("python3")
        .args(["-I", "-c", "import sys, xml.dom.minidom as m\nd = m.parse(sys.argv[1])\nfor c in d.getElementsByTagName('testcase'): print(c.getAttribute('name'), *[n.tagName for n in c.childNodes])"])
        .arg(p.root().join("r.xml"))
        .output()
    else {
        eprintln!("skipped: there is no python3 to read the XML");
        return;
    };
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let cases = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(cases, "fine\nsecrets failure\nsoft system-out\n");
}

#[test]
fn what_is_not_there_is_said_and_no_report_is_written() {
    let p = project();
    for (args, says) in [
        (
            &["nope"][..],
            "there is no gate `nope`; there are fine, secrets, soft",
        ),
        (&["--against", "nope"], "there is no commit `nope`"),
        (&["--against=--all"], "there is no commit `--all`"),
        (&["--against=-x"], "there is no commit `-x`"),
    ] {
        let all = [
            &["gates", "run", "--format", "sarif", "--output", "r"],
            args,
        ]
        .concat();
        p.run(&all).expect(3).says(says);
        assert!(!p.exists("r"), "{args:?}");
    }
    p.run(&["gates", "run", "--output", "r"])
        .expect(3)
        .says("--format");
    let other = p.git(&["commit-tree", "-m", "other", "HEAD^{tree}"]);
    let args = ["gates", "run", "--against", other.trim()];
    p.run(&args).expect(3).says("in common");
}

#[test]
fn a_signal_ends_it_without_a_report() {
    let hang = "[[gates]]\nname = \"hang\"\nrun = [\"sh\", \"-c\", \"echo x >SIDE/here.fifo; exec sleep 600\"]\n";
    let p = Project::build().toml(hang).ready();
    p.fifo("here");
    let run = p.start(&["gates", "run", "--format", "sarif", "--output", "r"]);
    p.hear("here");
    run.signal(rustix::process::Signal::TERM);
    let ran = run.wait().expect(143);
    assert_eq!(ran.stdout, "");
    assert!(!p.exists("r"));
}
