//! What a plugin may do is what its manifest asks for and `ralph.toml` allows, at the least
//! of it: arguments of programs, single files, values of its own, telling people. The plugin
//! does what its configuration says (`plugins/tests/granted`).

use std::fs;
use std::os::unix::fs::symlink;

use ralph_tests::{Project, components};
use serde_json::Value;

/// What isn't said is granted, for the component imports it.
fn project(allow: &str, more: &str) -> Project {
    let mut allow = allow.to_owned();
    for (key, value) in [
        ("process", "['touch x']"),
        ("state", "true"),
        ("notify", "true"),
    ] {
        if !allow.contains(key) {
            allow += &format!("\n{key} = {value}");
        }
    }
    let p = Project::build()
        .toml(&format!(
            "{more}\n[plugins.g]\nsource = \"g.wasm\"\n[plugins.g.allow]\n{allow}\n[[gates]]\nname = \"g\"\nplugin = \"g\"\nconfig = {{ acts = [] }}\n"
        ))
        .untrusted();
    p.write("g.wasm", components("tests/granted"));
    p.write("one.txt", "one");
    p.write("two.txt", "two");
    p.write("three.txt", "three");
    p.write("notes/a", "a");
    p.commit_all("all");
    p
}

/// Has it act, and gives what it says of each.
fn acts(p: &Project, acts: &[&[&str]]) -> Vec<String> {
    let list = serde_json::to_string(acts).unwrap();
    let text = p.read("ralph.toml");
    let (before, _) = text.split_once("config = { acts = ").unwrap();
    p.write(
        "ralph.toml",
        format!("{before}config = {{ acts = {list} }}\n"),
    );
    p.trust();
    let told = p.run(&["check", "--json"]).expect(0).json();
    let findings = told["result"]["gates"][0]["verdict"]["findings"].clone();
    let said = |(finding, act): (&Value, &&[&str])| {
        let text = finding["message"].as_str().unwrap();
        text.strip_prefix(&format!("{}: ", act.join(" ")))
            .unwrap()
            .to_owned()
    };
    findings
        .as_array()
        .unwrap()
        .iter()
        .zip(acts)
        .map(said)
        .collect()
}

#[test]
fn a_program_runs_with_the_arguments_that_both_sides_grant() {
    let p = project(
        "process = [\"touch made*\", \"touch -c *\", \"sh -c true\"]",
        "",
    );
    let said = acts(
        &p,
        &[
            &["run", "touch", "made.txt"],
            &["run", "touch", "other.txt"],
            &["run", "touch", "-c", "x"],
            &["run", "touch", "made.txt", "more"],
            &["run", "sh", "-c", "true"],
            &["run", "sh", "-c", "touch pwned"],
            &["run", "rm", "one.txt"],
            &["run", "./touch", "made.txt"],
            &["env", "PATH", "/evil", "sh"],
        ],
    );
    assert_eq!(said[0], "Some(0)");
    assert_eq!(said[4], "Some(0)");
    assert!(p.exists("made.txt") && !p.exists("other.txt") && !p.exists("pwned"));
    assert!(p.exists("one.txt"));
    // ralph.toml is what doesn't grant it.
    for at in [1, 5] {
        assert!(
            said[at].contains("Denied") && said[at].contains("[plugins.g.allow]"),
            "{said:?}"
        );
    }
    // Its manifest doesn't ask for it: `touch *` is one argument, and no option.
    for at in [2, 3, 6, 7, 8] {
        assert!(
            said[at].contains("its manifest doesn't ask"),
            "{at}: {said:?}"
        );
    }
    let log = p.run(&["check", "-v"]).expect(0);
    assert!(
        log.stderr.contains("may not run `sh -c touch pwned`"),
        "{}",
        log.stderr
    );
}

#[test]
fn a_program_that_is_planted_in_the_workspace_is_not_run_in_anothers_place() {
    let p = project("process = [\"sh\"]", "");
    p.write("evil/sh", "#!/bin/sh\ntouch pwned\n");
    let path = p.root().join("evil");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path.join("sh"), mode).unwrap();
    let path = path.to_str().unwrap();
    let said = acts(
        &p,
        &[
            &["env", "PATH", path, "sh"],
            &["env", "LD_PRELOAD", path, "sh"],
        ],
    );
    for said in said {
        assert!(said.contains("may not set"), "{said}");
    }
    assert!(!p.exists("pwned"));
}

#[test]
fn single_files_are_seen_alone_and_written_as_granted() {
    let p = project("read = [\"notes\", \"one.txt\"]\nwrite = [\"two.txt\"]", "");
    symlink("three.txt", p.root().join("link.txt")).unwrap();
    let said = acts(
        &p,
        &[
            &["read", "one.txt"],
            &["read", "two.txt"],
            &["read", "notes/a"],
            &["read", "three.txt"],
            &["read", "link.txt"],
            &["read", "notes/../three.txt"],
            &["names", "."],
            &["names", "notes"],
            &["write", "one.txt", "x"],
            &["write", "two.txt", "2"],
            &["read", "two.txt"],
            &["write", "new.txt", "x"],
            &["write", "notes/a", "x"],
            &["rename", "two.txt", "four.txt"],
            &["rename", "one.txt", "two.txt"],
            &["read", "ralph.toml"],
        ],
    );
    let ok = [
        (0, "one"),
        (1, "two"),
        (2, "a"),
        (6, ""),
        (7, "a"),
        (9, "ok"),
        (10, "2"),
    ];
    for (at, said) in said.iter().enumerate() {
        match ok.iter().find(|(good, _)| *good == at) {
            Some((_, text)) => assert_eq!(said, text, "{at}"),
            None => assert!(said.starts_with("error: "), "{at}: {said}"),
        }
    }
    let read = |name: &str| p.read(name);
    assert_eq!(
        (read("one.txt").as_str(), read("two.txt").as_str()),
        ("one", "2")
    );
    assert!(!p.exists("new.txt") && !p.exists("four.txt") && read("notes/a") == "a");
}

#[test]
fn a_link_in_a_granted_files_place_is_refused_with_its_name() {
    let p = project("write = [\"two.txt\"]", "");
    fs::remove_file(p.root().join("two.txt")).unwrap();
    symlink("three.txt", p.root().join("two.txt")).unwrap();
    p.trust();
    let told = p.run(&["check"]).expect(1);
    let all = format!("{}{}", told.stdout, told.stderr);
    assert!(
        all.contains("two.txt") && all.contains("symbolic link"),
        "{all}"
    );
}

#[test]
fn values_are_kept_from_call_to_call() {
    let p = project("state = true", "");
    let count: &[&[&str]] = &[&["count", "n"], &["keys", ""]];
    assert_eq!(acts(&p, count), ["1", "n"]);
    assert_eq!(acts(&p, count), ["2", "n"]);
    let said = acts(
        &p,
        &[
            &["set", "a/1", "x"],
            &["set", "a/2", "y"],
            &["keys", "a/"],
            &["delete", "a/1"],
            &["get", "a/1"],
            &["get", "a/2"],
            &["set", "", "x"],
            &["big", "b", "65536"],
            &["big", "b", "65537"],
            &["keys", ""],
        ],
    );
    assert_eq!(said[..6], ["ok", "ok", "a/1 a/2", "ok", "none", "y"]);
    assert!(
        said[6].contains("Invalid") && said[8].contains("Invalid"),
        "{said:?}"
    );
    assert_eq!((said[7].as_str(), said[9].as_str()), ("ok", "a/2 b n"));
    // It is ralph's own record: nothing that a gate sees or git commits.
    let status = p.git(&["status", "--porcelain", "--ignored=no"]);
    assert!(!status.contains("plugin-state"), "{status}");
}

#[test]
fn what_is_told_reaches_who_is_named() {
    let tell = "[notify]\ncommand = [\"sh\", \"-c\", \"printf '%s\\\\n' \\\"$1\\\" >>told\", \"sh\", \"{event} {text}\"]\n";
    let p = project("notify = true", tell);
    let long = "x".repeat(201);
    let said = acts(
        &p,
        &[
            &["tell", "disk", "nearly full"],
            &["tell", "", "x"],
            &["tell", &long, "x"],
            &["tell", "2", ""],
            &["tell", "3", ""],
            &["tell", "4", ""],
            &["tell", "5", ""],
            &["tell", "6", ""],
        ],
    );
    assert_eq!((said[0].as_str(), said[6].as_str()), ("ok", "ok"));
    assert!(
        said[1].contains("Invalid") && said[2].contains("Invalid"),
        "{said:?}"
    );
    assert!(said[7].contains("TooMany"), "{said:?}");
    let told = p.read("told");
    assert_eq!(told.lines().next(), Some("plugin g: disk"), "{told}");
    assert_eq!(told.matches("plugin g: ").count(), 5);
}

#[test]
fn what_is_not_granted_is_said_with_the_side_and_the_key() {
    let p = project("state = false", "");
    p.trust();
    let ran = p.run(&["gates", "run"]);
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        all.contains("state = true") && all.contains("[plugins.g.allow]"),
        "{all}"
    );
}

#[test]
fn inspect_tells_what_it_may_do_in_words() {
    let allow =
        "process = [\"touch\", \"git\"]\nread = [\"one.txt\", \"three.txt\"]\nnotify = false";
    let p = project(allow, "");
    let may = p
        .run(&["plugin", "inspect", "g", "--json"])
        .expect(0)
        .json();
    let may = may["result"]["plugins"][0]["may"].to_string();
    for words in [
        "have ralph run touch *",
        "read one.txt",
        "keep values of its own",
    ] {
        assert!(may.contains(words), "{words}: {may}");
    }
    assert!(
        !may.contains("three") && !may.contains("git") && !may.contains("tell people"),
        "{may}"
    );
}
