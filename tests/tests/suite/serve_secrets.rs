//! `ralph serve`: what its runs' agents don't come to.

use ralph_tests::{Project, Service, TOKENS};
use serde_json::{Value, json};

/// Notes what of the service's own it could read or change, and says a token that it may have heard of.
const NOSY: &str = r#"cat >/dev/null
own="$SIDE/../operator"
for f in "$own/admin" "$own/serve.toml" ../base.json ../../../audit.jsonl ../../../store.sqlite; do
    if cat "$f" >/dev/null 2>&1; then echo "read $f" >>nosy.txt; fi
    if (echo x >>"$f") 2>/dev/null; then echo "changed $f" >>nosy.txt; fi
done
env | grep -E '^(KEY_1|RALPH_SERVE_TOKEN|OTHER)=' >>nosy.txt
cat ralph.toml work.txt >/dev/null 2>&1 && echo "read the project" >>nosy.txt
echo "the token is admin-0123456789abcdef and the key k1-0123456789abcdef0123456789abcdef"
echo 'EXIT_SIGNAL: true'
"#;

/// The service's data are where they are if nobody says anything else.
fn in_the_usual_place(p: &Project) {
    let path = Service::configure(p, "", "");
    let text = std::fs::read_to_string(&path).unwrap();
    let place = format!("data = {:?}\n", p.operator("service"));
    assert!(text.contains(&place), "{text}");
    std::fs::write(&path, text.replace(&place, "")).unwrap();
}

fn tried(p: &Project, layer: &str, usual_place: bool) -> Option<String> {
    match usual_place {
        true => in_the_usual_place(p),
        false => drop(Service::configure(p, "", "")),
    }
    let mut command = Service::command(p, &["serve", "--json"]);
    command.env("RALPH_SERVE_TOKEN", "env-0123456789abcdef");
    command.env("OTHER", "variable");
    let s = Service::started(p, command);
    let id = s.submit(json!({ "max_iterations": 1 }));
    let events: Vec<_> = s.events(&id, None).collect();
    let artifact = |name: &str| {
        let path = format!("/v1/runs/{id}/artifacts/{name}");
        let body = s.ask("observer", "GET", &path, None).expect(200).body;
        String::from_utf8(body).unwrap()
    };
    let listed = s
        .ask("observer", "GET", &format!("/v1/runs/{id}/artifacts"), None)
        .expect(200)
        .json();
    let names = listed["artifacts"].as_array().expect("artifacts");
    let receipt = names
        .iter()
        .filter_map(|a| a["path"].as_str())
        .find(|path| path.ends_with("runner.json"))
        .unwrap_or_else(|| panic!("{listed}"));
    let receipt: Value = serde_json::from_str(&artifact(receipt)).unwrap();
    if receipt["sandbox"]["layer"] != layer {
        eprintln!("skipped: {layer} holds nothing here: {receipt}");
        return None;
    }
    let mut said: String = events.iter().map(|e| e.data.to_string()).collect();
    for artifact_of in names.iter().filter_map(|a| a["path"].as_str()) {
        said.push_str(&artifact(artifact_of));
    }
    assert!(said.contains("[redacted tokens.admin]"), "{said}");
    for secret in TOKENS
        .map(|(_, token)| token)
        .iter()
        .chain([&ralph_tests::KEY])
    {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
    Some(artifact("diff.patch"))
}

#[test]
fn an_agent_comes_to_no_token_and_to_nothing_that_the_service_keeps() {
    for (layer, usual_place) in [
        ("landlock", false),
        ("bubblewrap", false),
        ("bubblewrap", true),
    ] {
        let p = Project::build()
            .agent(NOSY)
            .in_agent("env = [\"*\"]")
            .toml(&format!("[sandbox]\nlayer = {layer:?}"))
            .outside_tmp()
            .ready();
        p.write("work.txt", "work\n");
        p.commit_all("work");
        if let Some(patch) = tried(&p, layer, usual_place) {
            let noted: Vec<&str> = patch
                .lines()
                .filter(|l| l.starts_with('+') && !l.starts_with("+++"))
                .filter(|l| !l.contains("[x]"))
                .collect();
            assert_eq!(
                noted,
                ["+OTHER=variable", "+read the project"],
                "{layer}: {patch}"
            );
        }
    }
}

#[test]
fn workers_of_a_run_work_in_what_is_hidden_from_them_otherwise() {
    for layer in ["landlock", "bubblewrap"] {
        let p = Project::build()
            .agent("cat >/dev/null\ngit status --short\nls ../../.. >/dev/null\necho x >\"work.$$\"\necho 'EXIT_SIGNAL: true'\n")
            .toml(&format!("[sandbox]\nlayer = {layer:?}"))
            .gate("work", "cat work.* && test -f PRD.md && git log --oneline -1")
            .outside_tmp()
            .ready();
        in_the_usual_place(&p);
        let s = Service::again(&p);
        let id = s.submit(json!({ "parallel": 2, "max_iterations": 4 }));
        let end = s.ended(&id);
        assert_eq!(end["status"], "completed", "{layer}: {end}");
        assert_eq!(end["attempts"], 2, "{layer}: {end}");
    }
}

#[test]
fn an_agent_of_the_command_line_reads_of_ralph_s_settings_what_a_ralph_of_its_own_needs() {
    let p = Project::build()
        .agent(
            "cat >/dev/null\ncd \"$SIDE/../home/config/ralph\"\nfor f in console.token serve.toml config.toml; do cat $f && echo $f >>\"$SIDE/read\"; done 2>>\"$SIDE/refused\"\n",
        )
        .ready();
    let config = p.all().join("home/config/ralph");
    std::fs::create_dir_all(&config).unwrap();
    for file in ["console.token", "serve.toml"] {
        std::fs::write(config.join(file), "secret-0123456789\n").unwrap();
    }
    std::fs::write(config.join("config.toml"), "trusted_keys = []\n").unwrap();
    p.run(&["run", "--max-iterations", "1"]);
    let receipt = p.receipts("T1", "runner").remove(0);
    if receipt["sandbox"]["layer"] != "landlock" {
        eprintln!("skipped: {}", receipt["sandbox"]);
        return;
    }
    assert_eq!(p.noted("read"), "config.toml\n");
    assert_eq!(p.noted("refused").matches("Permission denied").count(), 2);
}
