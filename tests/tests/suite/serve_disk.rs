//! A disk that is full while runs are submitted and prompts edited: what was asked for is in the
//! audit before it is done, what can't be done is left as it was, and the service goes on once there
//! is room.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use ralph_tests::{Answer, Event, Project, Service};
use rustix::process::Signal;
use serde_json::{Value, json};

const PAGE: u64 = 4096;

/// Can a file system be mounted here?
fn mounts() -> bool {
    let own = ["--user", "--map-root-user", "--mount"];
    let tried = Command::new("unshare")
        .args(own)
        .args(["sh", "-c", "mount -t tmpfs none /mnt"])
        .output();
    let said = match tried {
        Ok(tried) if tried.status.success() => return true,
        Ok(tried) => String::from_utf8_lossy(&tried.stderr).into_owned(),
        Err(e) => e.to_string(),
    };
    // Past the capture of the test's output.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: no file system can be mounted here: {said}"
    );
    false
}

/// A service in a view of its own, in which the script has mounted something.
fn started(p: &Project, mount: &str) -> Service {
    let inner = Service::command(p, &["serve", "--json"]);
    let script = format!(
        "set -eu\n{mount}\nexec {} \"$@\"",
        inner.get_program().display()
    );
    let path = p.script("mounted", &script);
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", &path])
        .args(inner.get_args())
        .env_clear()
        .envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .env("ALL", p.all())
        .env("ROOT", p.root());
    Service::started(p, command)
}

/// What takes the room away.
struct Ballast(PathBuf);

impl Ballast {
    /// In a directory as the service sees it.
    fn new(s: &Service, dir: PathBuf) -> Ballast {
        let seen = format!("/proc/{}/root{}", s.live.pid(), dir.display());
        Ballast(PathBuf::from(seen).join("ballast"))
    }

    /// Leaves so many pages.
    fn leave(&self, pages: u64) {
        let _ = fs::remove_file(&self.0);
        let mut file = fs::File::create(&self.0).unwrap();
        while file.write_all(&[0; PAGE as usize]).is_ok() {}
        let len = file.metadata().unwrap().len() / PAGE * PAGE;
        file.set_len(len - pages * PAGE).unwrap();
    }

    fn away(&self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// A problem that says whose fault it is: the disk's.
#[track_caller]
fn refused(answer: &Answer) {
    assert!(matches!(answer.status, 500 | 507), "{answer:?}");
    assert_eq!(
        answer.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(answer.json()["status"], answer.status);
}

fn unit(text: &str) -> String {
    format!("id: a\ntype: prompt-set\nversion: '1.0'\nprompts:\n  - id: p\n    text: {text}\n")
}

fn with_prompt() -> Project {
    let p = Project::build().untrusted();
    p.write("prompts/a.yaml", unit("zero"));
    p.run(&["fingerprint", "write"]).expect(0);
    p.trust();
    p.commit_all("a prompt");
    p
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

#[test]
fn submissions_on_a_full_disk_are_taken_whole_or_not_at_all() {
    if !mounts() {
        return;
    }
    let p = with_prompt();
    Service::configure(&p, "rate = 10000", "");
    fs::create_dir(p.operator("service")).unwrap();
    let s = started(
        &p,
        "mount -t tmpfs -o size=16m none $SIDE/../operator/service",
    );
    let ballast = Ballast::new(&s, p.operator("service"));
    let submit = |n: u64| {
        let mut body = json!({ "workspace_slug": "site", "config": { "max_iterations": 1 } });
        if n.is_multiple_of(2) {
            body["prompt_path"] = "prompts/a.yaml".into();
        }
        let key = format!("key-{n}");
        let key = [("idempotency-key", key.as_str())];
        s.ask_with("operator", "POST", "/v1/runs", Some(body), &key)
    };
    let (mut taken, mut refusals) = (Vec::new(), 0);
    let id = |answer: &Answer| answer.json()["run_id"].as_str().unwrap().to_owned();
    taken.push(id(&submit(1000).expect(201)));
    s.ask("", "GET", "/readyz", None).expect(200);
    for pages in 0..12 {
        ballast.leave(pages);
        for n in [2 * pages, 2 * pages + 1] {
            let answer = submit(n);
            if answer.status == 201 {
                taken.push(id(&answer));
            } else {
                refused(&answer);
                refusals += 1;
            }
        }
    }
    assert!(refusals > 0, "there was room all the time");
    let full = s.ask("", "GET", "/readyz", None).expect(503);
    assert_eq!(full.json()["type"], "urn:ralph:problem:disk-full");
    s.ask("", "GET", "/healthz", None).expect(200);
    ballast.away();
    s.ask("", "GET", "/readyz", None).expect(200);
    // What was taken comes to an end, whichever, and what wasn't can be taken now.
    for n in 0..24 {
        let answer = submit(n);
        match answer.status {
            201 => taken.push(id(&answer)),
            _ => assert!(taken.contains(&id(&answer.expect(200)))),
        }
    }
    taken.sort();
    taken.dedup();
    assert_eq!(taken.len(), 25, "each once");
    let last = id(&submit(2000).expect(201));
    for id in taken.iter().chain([&last]) {
        let events: Vec<Event> = s.events(id, None).collect();
        let ids: Vec<u64> = events.iter().map(|e| e.id).collect();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
        assert_eq!(events.last().unwrap().kind, "terminal", "{events:#?}");
    }
    assert_eq!(s.run(&last)["reason"], "max_iterations");
    let listed = s.ask("observer", "GET", "/v1/runs?limit=500", None);
    assert_eq!(listed.json()["runs"].as_array().unwrap().len(), 26);
    let data = ballast.0.parent().unwrap();
    let all = lines(&fs::read(data.join("audit.jsonl")).unwrap());
    for id in taken.iter().chain([&last]) {
        let of_run: Vec<(&str, &str)> = all
            .iter()
            .filter(|l| l["run_id"] == **id)
            .map(|l| (l["type"].as_str().unwrap(), l["stage"].as_str().unwrap()))
            .collect();
        assert_eq!(of_run[0], ("ralph.run.submitted", "intent"));
        let ends = of_run.iter().filter(|l| l.0 == "ralph.run.terminal");
        assert_eq!(ends.count(), 1, "{of_run:?}");
    }
    // What the disk didn't take at its time was written later.
    let outcomes: Vec<&Value> = all.iter().map(|l| &l["of"]).collect();
    for intent in all.iter().filter(|l| l["stage"] == "intent") {
        let told = outcomes.iter().filter(|of| ***of == intent["seq"]);
        assert_eq!(told.count(), 1, "{intent}");
    }
    let mut kept: Vec<String> = fs::read_dir(data.join("runs"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    taken.push(last);
    taken.sort();
    assert_eq!(kept, taken, "nothing is left of what was refused");
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0).never_says("panicked");
}

#[test]
fn edits_on_a_full_disk_are_made_whole_or_not_at_all() {
    if !mounts() {
        return;
    }
    let p = with_prompt();
    Service::configure(&p, "rate = 10000", "");
    let s = started(
        &p,
        "mkdir $ALL/mnt; mount -t tmpfs -o size=4m none $ALL/mnt\n\
         cp -a $ROOT/. $ALL/mnt/; mount --move $ALL/mnt $ROOT; cd $ROOT",
    );
    let ballast = Ballast::new(&s, p.root());
    let prompts = ballast.0.parent().unwrap().join("prompts");
    let at = "/v1/workspaces/site/prompts/a.yaml";
    let read = || s.ask("observer", "GET", at, None).expect(200).json();
    let (mut saved, mut refusals) = (0, 0);
    for pages in (0..16).chain([1000]) {
        match pages {
            1000 => ballast.away(),
            _ => ballast.leave(pages),
        }
        let before = read();
        // Of some pages, so that it doesn't fit here or there.
        let text = unit(&format!("{pages} {}", "x".repeat(6000)));
        let body = json!({
            "content": text, "expected_prior_fingerprint": before["fingerprint_stored"],
        });
        let answer = s.ask("operator", "PUT", at, Some(body));
        let now = read();
        assert_eq!(now["status"], "verified", "{pages} pages: {now}");
        let audit = lines(&fs::read(p.operator("service/audit.jsonl")).unwrap());
        if answer.status == 200 {
            saved += 1;
            assert_eq!(now["content"], text);
            let [intent, outcome] = audit.last_chunk().unwrap();
            assert_eq!(intent["new_fp"], now["fingerprint_stored"]);
            assert_eq!(
                (&outcome["of"], &outcome["ok"]),
                (&intent["seq"], &json!(true))
            );
        } else {
            refused(&answer);
            refusals += 1;
            assert_eq!(now, before, "{pages} pages");
            // Each that came as far as the audit is there as one that failed.
            let intents = audit.iter().filter(|l| l["stage"] == "intent").count();
            assert_eq!(audit.len(), 2 * intents);
            let failed = audit.iter().filter(|l| l["ok"] == false).count();
            assert_eq!(intents - failed, saved);
        }
        let mut names: Vec<String> = fs::read_dir(&prompts)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["a.yaml", "a.yaml.fp"], "{pages} pages");
    }
    assert!(
        saved > 0 && refusals > 0,
        "{saved} saved, {refusals} refused"
    );
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0).never_says("panicked");
}
