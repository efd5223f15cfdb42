//! `ralph agent check`, with scripts in place of the agents' programs. With the real ones: `real`.

use ralph_tests::{Builder, Project};

/// Tells its version, and of its login what stands in `login`.
const CODEX: &str = r#"
case "$*" in
  --version) echo "codex-cli 9.8.7" ;;
  "doctor --json") cat "$SIDE/doctor" 2>/dev/null ;;
  "login status") cat "$SIDE/login" >&2; grep -q ^Logged "$SIDE/login" ;;
  *) echo "asked: $*" >>"$SIDE/asked" ;;
esac
"#;

fn codex() -> Builder {
    Project::build().agent(CODEX).in_agent("plugin = \"codex\"")
}

fn project(login: &str) -> Project {
    let p = codex().untrusted();
    // The driver takes one program, no arguments: the script itself.
    let script = p.side("agent.sh");
    let toml = p.read("ralph.toml").replace("\"sh\", ", "");
    p.write("ralph.toml", toml);
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(p.side("login"), login).unwrap();
    p.trust();
    p
}

#[test]
fn version_and_login_are_told_and_no_model_is_asked() {
    let p = project("Logged in using an API key\n");
    let ran = p.run(&["agent", "check"]).expect(0).says("ok   fake");
    ran.says("9.8.7").says("Logged in using an API key");
    assert!(!p.side("asked").exists());
    p.run(&["doctor"]).says("version 9.8.7");
}

#[test]
fn without_a_login_it_is_not_fit() {
    let p = project("Not logged in\n");
    p.run(&["agent", "check", "fake"])
        .expect(1)
        .says("codex login");
    let ran = p.run(&["agent", "check", "--json"]).expect(1);
    let agent = &ran.json()["result"]["agents"][0];
    assert_eq!(agent["fit"], false);
    assert_eq!(agent["condition"]["login"], "no");
}

#[test]
fn what_the_program_itself_knows_of_its_provider_goes_first() {
    let p = project("Not logged in\n");
    let doctor =
        r#"{"checks": {"auth.credentials": {"status": "ok", "summary": "key by variable"}}}"#;
    std::fs::write(p.side("doctor"), doctor).unwrap();
    p.run(&["agent", "check"]).expect(0).says("key by variable");
}

#[test]
fn a_program_that_is_not_there_an_unknown_agent_and_one_in_the_sandbox() {
    let p = Project::build()
        .toml("[agents.none]\nargv = [\"no-such-agent\"]")
        .ready();
    p.run(&["agent", "check", "none"])
        .expect(1)
        .says("no-such-agent");
    p.run(&["agent", "check", "scripted"])
        .expect(0)
        .says("in the sandbox");
    p.run(&["agent", "check", "nobody"])
        .expect(3)
        .says("nobody");
}

#[test]
fn nothing_is_run_before_somebody_has_accepted_it() {
    let p = project("Logged in\n");
    p.run(&["trust", "--revoke"]).expect(0);
    p.run(&["agent", "check"]).expect(3);
    p.run(&["doctor"]).never_says("9.8.7");
}

#[test]
fn an_agent_can_have_a_home_of_its_own_outside_the_repository() {
    let p = project("Logged in\n");
    let script = format!("{CODEX}\nprintf '%s' \"$CODEX_HOME\" >\"$SIDE/home\"\n");
    p.script("agent.sh", &script);
    let toml = p.read("ralph.toml");
    let toml = toml.replace(
        "plugin = \"codex\"",
        "plugin = \"codex\"\nhome = \"project\"",
    );
    p.write("ralph.toml", toml);
    p.trust();
    let ran = p.run(&["agent", "check", "--json"]).expect(0);
    let home = p.noted("home");
    assert_eq!(ran.json()["result"]["agents"][0]["home"], home.as_str());
    assert!(
        home.starts_with(p.all().join("state").to_str().unwrap()),
        "{home}"
    );
    let mode = std::fs::metadata(&home).unwrap().permissions();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
        0o700
    );
}
