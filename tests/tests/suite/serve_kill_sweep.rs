//! kill -9 of the service at random moments, while clients submit runs, follow them and edit prompts:
//! nothing is lost, doubled or half written.
//!
//! Ten runs and twenty edits are killed ten times, and `RALPH_SERVE_KILLS` says how often in all (10
//! if not set). For a hundred: `RALPH_SERVE_KILLS=100 cargo test -p ralph-tests --test suite serve_kill_sweep`.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use ralph_tests::{Answer, Door, Event, Live, Moments, Project, Ran, Service};
use rustix::process::Signal;
use serde_json::{Value, json};

const KILLS_EACH: u32 = 10;
const RUNS: usize = 10;
const PROMPTS: usize = 4;
/// Of each prompt: twenty in all.
const EDITS: u32 = 5;

fn kills_wanted() -> u32 {
    let set = std::env::var("RALPH_SERVE_KILLS").ok();
    set.and_then(|s| s.parse().ok()).unwrap_or(10)
}

fn content(prompt: usize, version: u32) -> String {
    format!(
        "id: p{prompt}\ntype: prompt-set\nversion: '1.0'\nprompts:\n  - id: p\n    text: version {version} of it\n"
    )
}

/// What clients do and know.
#[derive(Default)]
struct Clients {
    door: Door,
    /// By prompt: the newest version whose edit was acknowledged.
    saved: Mutex<[u32; PROMPTS]>,
    /// All events of each run, in the order in which they came.
    followed: Mutex<BTreeMap<String, Vec<Event>>>,
}

fn submission(number: usize) -> Value {
    let mut wanted = json!({ "workspace_slug": "site" });
    if number.is_multiple_of(3) {
        wanted["config"] = json!({ "parallel": 2 });
    }
    if number.is_multiple_of(2) {
        wanted["prompt_path"] = format!("prompts/p{}.yaml", number % PROMPTS).into();
    }
    wanted
}

fn submit(addr: SocketAddr, number: usize) -> io::Result<Answer> {
    let key = format!("key-{number}");
    let headers = [("idempotency-key", key.as_str())];
    let wanted = Some(submission(number));
    Service::attempt(addr, "operator", "POST", "/v1/runs", wanted, &headers)
}

impl Clients {
    /// Submits a run, and follows it to its end. Of each task it tells the editors.
    fn run(&self, number: usize, news: &Sender<()>) {
        let answer = self.door.insist(|addr| submit(addr, number));
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        let id = answer.json()["run_id"].as_str().unwrap().to_owned();
        let mut seen: Vec<Event> = Vec::new();
        while seen.last().is_none_or(|e| e.kind != "terminal") {
            let last = seen.last().map(|e| e.id.to_string());
            let events = self
                .door
                .insist(|addr| Service::follow(addr, "observer", &id, last.as_deref()));
            for event in events {
                if matches!(event.kind.as_str(), "selected" | "attempt") {
                    let _ = news.send(());
                }
                seen.push(event);
            }
        }
        self.followed.lock().unwrap().insert(id, seen);
    }

    /// Edits every second prompt, one version after the other, as the runs go on.
    fn edit(&self, first: usize, news: &Receiver<()>) {
        for version in 1..=EDITS {
            for prompt in (first..PROMPTS).step_by(2) {
                // When the runs are over, the rest is edited at once.
                let _ = news.recv();
                self.door
                    .insist(|addr| save(addr, prompt, version).map(|_| ()));
                self.saved.lock().unwrap()[prompt] = version;
            }
        }
    }
}

/// Brings a prompt from the version before to this one, unless it was brought there already.
fn save(addr: SocketAddr, prompt: usize, version: u32) -> io::Result<()> {
    let path = format!("/v1/workspaces/site/prompts/p{prompt}.yaml");
    let read = Service::attempt(addr, "observer", "GET", &path, None, &[])?
        .expect(200)
        .json();
    assert_eq!(read["status"], "verified", "{read}");
    if read["content"] == content(prompt, version) {
        return Ok(());
    }
    assert_eq!(read["content"], content(prompt, version - 1));
    let body = json!({
        "content": content(prompt, version),
        "expected_prior_fingerprint": read["fingerprint_stored"],
    });
    Service::attempt(addr, "operator", "PUT", &path, Some(body), &[])?.expect(200);
    Ok(())
}

fn audit(p: &Project, args: &[&str]) -> Ran {
    let args = [&["audit"], args].concat();
    p.start_command(Service::command(p, &args)).wait()
}

fn start(p: &Project) -> Live {
    p.start_command(Service::command(p, &["serve", "--json"]))
}

/// What a death has left, before the next service comes.
fn left(p: &Project, clients: &Clients, repair: bool) {
    let saved = *clients.saved.lock().unwrap();
    let verify = |args: &[&str]| p.run(&[&["fingerprint"], args, &["--json"]].concat());
    let looked = verify(&["verify"]);
    let looked = looked.json()["result"]["files"].clone();
    for file in looked.as_array().unwrap() {
        let cut_off = file["problem"].as_str().unwrap_or_default();
        assert!(
            file["status"] == "verified" || cut_off.contains("ralph fingerprint repair"),
            "{file}"
        );
    }
    if repair {
        verify(&["repair"]).expect(0);
        for (prompt, saved) in saved.iter().enumerate() {
            let now = p.read(&format!("prompts/p{prompt}.yaml"));
            let old_or_new = [content(prompt, *saved), content(prompt, saved + 1)];
            assert!(old_or_new.contains(&now), "{now}");
        }
    }
    let whole = audit(p, &["verify", "--json"]);
    // The line that was being written may be a part of one; the next service cuts it off.
    if whole.code != 0 && p.operator("service/audit.jsonl").exists() {
        let text = std::fs::read_to_string(p.operator("service/audit.jsonl")).unwrap();
        assert!(!text.ends_with('\n'), "{whole:?}");
        assert!(whole.stdout.contains("unfinished"), "{whole:?}");
    }
}

/// Ten runs and twenty edits; how often the service was killed meanwhile.
fn round(p: &Project, mut moments: impl FnMut() -> Option<Duration>) -> (u32, Clients, Live) {
    let clients = Clients::default();
    let mut kills = 0;
    let last = std::thread::scope(|scope| {
        let (news, editors): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
        let mut all = Vec::new();
        for number in 0..RUNS {
            let (clients, news) = (&clients, news[number % 2].clone());
            all.push(scope.spawn(move || clients.run(number, &news)));
        }
        drop(news);
        for (first, hear) in editors.into_iter().enumerate() {
            let clients = &clients;
            all.push(scope.spawn(move || clients.edit(first, &hear)));
        }
        loop {
            let service = start(p);
            let moment = moments().map(|m| Instant::now() + m);
            let mut open = false;
            loop {
                if all.iter().all(|client| client.is_finished()) {
                    return service;
                }
                if moment.is_some_and(|moment| Instant::now() > moment) {
                    break;
                }
                if !open && let Some(said) = service.said() {
                    clients.door.set(Some(Service::place(&said)));
                    open = true;
                }
                // The moment is what is random, and the file tells nobody that it has grown.
                std::thread::sleep(Duration::from_millis(2));
            }
            service.kill();
            clients.door.set(None);
            service.wait();
            kills += 1;
            left(p, &clients, kills % 2 == 0);
        }
    });
    (kills, clients, last)
}

fn ready() -> Project {
    let p = Project::build()
        .agent("id=$(sed -n 's/^## Task \\(T[0-9]*\\):.*/\\1/p'); echo \"work on $id\" >>\"$id.txt\"; echo 'EXIT_SIGNAL: true'\n")
        .in_loop("max_iterations = 100\nmax_attempts = 20")
        .untrusted();
    for prompt in 0..PROMPTS {
        p.write(&format!("prompts/p{prompt}.yaml"), content(prompt, 0));
    }
    p.trust();
    p.run(&["fingerprint", "write"]).expect(0);
    p.commit_all("prompts");
    Service::configure(&p, "rate = 10000", "");
    p
}

/// Each run is there once, and has ended once, and so are its events and commits.
fn runs(p: &Project, clients: &Clients, addr: SocketAddr) {
    let s = |path: &str| {
        let answer = Service::attempt(addr, "observer", "GET", path, None, &[]);
        answer.unwrap().expect(200).json()
    };
    let listed = s("/v1/runs?limit=500")["runs"].as_array().unwrap().clone();
    let followed = clients.followed.lock().unwrap();
    let ids: Vec<&str> = listed
        .iter()
        .map(|run| run["run_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), RUNS, "{ids:?}");
    assert_eq!(followed.len(), RUNS);
    for number in 0..RUNS {
        let again = submit(addr, number).unwrap().expect(200).json();
        assert!(followed.contains_key(again["run_id"].as_str().unwrap()));
    }
    for run in &listed {
        let id = run["run_id"].as_str().unwrap();
        assert_eq!(run["status"], "completed", "{run}");
        let events = &followed[id];
        let kept: Vec<Event> = Service::follow(addr, "observer", id, None)
            .unwrap()
            .collect();
        assert_eq!(
            *events, kept,
            "what was followed over the deaths is what is kept"
        );
        let numbers: Vec<u64> = events.iter().map(|e| e.id).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        let of = |kind: &str| events.iter().filter(|e| e.kind == kind).count();
        assert_eq!((of("start"), of("terminal")), (1, 1), "{events:#?}");
        assert_eq!(events[0].kind, "start", "{events:#?}");
        assert_eq!(
            events[0].data["prompt_fingerprint"],
            run["prompt_fingerprint"]
        );
        let branch = run["branch"].as_str().unwrap();
        let log = p.git(&["log", "--format=%s", &format!("main..{branch}")]);
        for task in ["T1", "T2"] {
            let accepted = |e: &&Event| {
                e.kind == "attempt" && e.data["task"] == task && e.data["result"] == "accepted"
            };
            assert_eq!(
                events.iter().filter(accepted).count(),
                1,
                "{task}: {events:#?}"
            );
            assert_eq!(log.matches(&format!("ralph: {task} ")).count(), 1, "{log}");
            nodes(events, task);
        }
        assert_eq!(log.lines().count(), 2, "{log}");
    }
    let branches = p.git(&["branch", "-v", "--list", "ralph/*"]);
    assert_eq!(branches.lines().count(), RUNS, "{branches}");
}

/// Each attempt was selected before, and each node of it that started ended before it did.
fn nodes(events: &[Event], task: &str) {
    let mut on = None;
    let mut open = false;
    for event in events.iter().filter(|e| e.data["task"] == task) {
        match (event.kind.as_str(), event.data["status"].as_str()) {
            ("selected", _) => on = Some(event.data["iteration"].clone()),
            ("node", Some("started")) => open = true,
            ("node", _) => open = false,
            ("attempt", _) => {
                assert!(!open, "{event:?}: {events:#?}");
                assert_eq!(on, Some(event.data["iteration"].clone()), "{events:#?}");
            }
            _ => {}
        }
    }
}

/// What was done was in the audit before it was, and each end is there once.
fn audited(p: &Project, clients: &Clients) {
    audit(p, &["verify"]).expect(0);
    let text = std::fs::read_to_string(p.operator("service/audit.jsonl")).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    for id in clients.followed.lock().unwrap().keys() {
        let of_run: Vec<(&str, &str)> = lines
            .iter()
            .filter(|l| l["run_id"] == **id)
            .map(|l| (l["type"].as_str().unwrap(), l["stage"].as_str().unwrap()))
            .collect();
        assert_eq!(of_run[0], ("ralph.run.submitted", "intent"), "{of_run:?}");
        let ends = of_run.iter().filter(|l| l.0 == "ralph.run.terminal");
        assert_eq!(ends.count(), 1, "{of_run:?}");
        assert_eq!(of_run.last().unwrap().0, "ralph.run.terminal");
    }
    for line in lines.iter().filter(|l| l["stage"] == "outcome") {
        if line["type"] != "ralph.run.terminal" {
            let of = usize::try_from(line["of"].as_u64().unwrap()).unwrap();
            let intent = &lines[of - 1];
            assert_eq!(
                (&intent["stage"], &intent["type"]),
                (&json!("intent"), &line["type"])
            );
        }
    }
    for prompt in 0..PROMPTS {
        let path = json!(format!("prompts/p{prompt}.yaml"));
        let mut steps: Vec<(&Value, &Value)> = lines
            .iter()
            .filter(|l| l["prompt_path"] == path && l["type"] == "prompt.edited")
            .filter(|l| l["stage"] == "intent")
            .map(|l| (&l["old_fp"], &l["new_fp"]))
            .collect();
        // One that a death kept from being made is asked for again.
        steps.dedup();
        assert_eq!(steps.len(), EDITS as usize, "{steps:#?}");
        for pair in steps.windows(2) {
            assert_eq!(pair[0].1, pair[1].0);
        }
        let sidecar = p.read(&format!("prompts/p{prompt}.yaml.fp"));
        assert_eq!(steps.last().unwrap().1, sidecar.trim());
    }
}

/// Nothing but what belongs there.
fn tidy(p: &Project, clients: &Clients) {
    p.run(&["fingerprint", "repair"]).expect(0);
    p.run(&["fingerprint", "verify"]).expect(0);
    for prompt in 0..PROMPTS {
        let now = p.read(&format!("prompts/p{prompt}.yaml"));
        assert_eq!(now, content(prompt, EDITS));
    }
    let names = |dir: &std::path::Path| -> Vec<String> {
        let all = std::fs::read_dir(dir).unwrap();
        let mut all: Vec<String> = all
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        all.sort();
        all
    };
    let prompts = names(&p.root().join("prompts"));
    assert_eq!(prompts.len(), 2 * PROMPTS, "{prompts:?}");
    let kept = names(&p.operator("service/runs"));
    let known: Vec<String> = clients.followed.lock().unwrap().keys().cloned().collect();
    assert_eq!(kept, known);
    for id in kept {
        assert!(!p.operator("service/runs").join(&id).join("tree").exists());
    }
    let trees = p.git(&["worktree", "list"]);
    assert_eq!(trees.lines().count(), 1, "{trees}");
}

#[test]
fn killed_at_random_moments_the_service_loses_and_doubles_nothing() {
    let seed = std::env::var("RALPH_SERVE_SEED").ok();
    let seed = seed.and_then(|s| s.parse().ok()).unwrap_or(5);
    let mut random = Moments(seed);
    let whole = {
        let (p, begun) = (ready(), Instant::now());
        round(&p, || None);
        begun.elapsed()
    };
    let mut all = 0;
    while all < kills_wanted() {
        let p = ready();
        let mut drawn = Vec::new();
        let told = Told(seed, all);
        let (kills, clients, service) = round(&p, || {
            if drawn.len() == KILLS_EACH as usize {
                return None;
            }
            // So that each has a part of the work before it.
            let moment = whole.mul_f64(2.0 * random.draw() / f64::from(KILLS_EACH));
            drawn.push(moment);
            Some(moment)
        });
        let addr = clients.door.wait();
        runs(&p, &clients, addr);
        service.signal(Signal::TERM);
        service.wait().expect(0);
        audited(&p, &clients);
        tidy(&p, &clients);
        all += kills;
        drop(told);
    }
}

/// Says by what a failure can be had again.
struct Told(u64, u32);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("RALPH_SERVE_SEED={}, after {} kills", self.0, self.1);
        }
    }
}
