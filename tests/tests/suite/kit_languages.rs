//! Plugins built from source by their languages' real tool chains: each language's template, each
//! kind of the Rust ones, the examples. What can't be built here is said on standard error, with
//! the reason.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_tests::web::{Reply, Web};
use ralph_tests::{LIMIT, Project, Ran, examples, target};

/// Where `cargo xtask kit` has put them.
fn tools() -> PathBuf {
    target().join("kit")
}

/// Why nothing can be built in a language here; past the capture of the test's output.
fn skipped(lang: &str, what: &str) -> bool {
    let reason = |name: &str| {
        let text = fs::read_to_string(tools().join(format!("{name}.skipped")));
        Some(text.unwrap_or_else(|_| "run `cargo xtask kit`".into()))
    };
    let installed = |name: &str| tools().join(format!("{name}.installed")).is_file();
    let clang = Path::new("/usr/include/wasm32-wasi").is_dir();
    let why = match lang {
        "js" | "ts" if !installed("npm") => reason("npm"),
        "python" | "c" | "go" if !installed("pypi") => reason("pypi"),
        "c" if !clang => Some("there is no clang with wasi-libc".into()),
        _ => None,
    };
    if let Some(why) = &why {
        let why = why.trim();
        let _ = writeln!(std::io::stderr(), "SKIPPED: {what} ({lang}): {why}");
    }
    why.is_some()
}

/// Lends a project the installed tools.
fn lend(dir: &Path) {
    let _ = std::os::unix::fs::symlink(tools().join("node_modules"), dir.join("node_modules"));
    let _ = std::os::unix::fs::symlink(tools().join("venv"), dir.join(".venv"));
}

/// With the user's tool chains, and one folder for all that cargo builds.
fn ralph(p: &Project, args: &[&str]) -> Ran {
    with_tools(p, p.command(args))
}

fn with_tools(p: &Project, mut command: Command) -> Ran {
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        match std::env::var_os(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let shared = target().join("kit");
    command
        .env("CARGO_TARGET_DIR", shared.join("cargo"))
        .env("GOCACHE", shared.join("go"))
        .env("GOFLAGS", "-mod=mod");
    p.start_command(command).wait_at_most(6 * LIMIT)
}

/// Builds it and tries its cases.
fn passes(p: &Project, dir: &str) {
    ralph(p, &["plugin", "build", dir]).expect(0).says("sha256");
    let ran = ralph(p, &["plugin", "test", dir]).expect(0);
    assert!(ran.stdout.contains(" passed, 0 failed"), "{}", ran.stdout);
}

/// What is new builds, passes its own test, and notices a case that isn't met.
fn new(lang: &str, kind: &str) {
    if skipped(lang, "a new plugin") {
        return;
    }
    let p = Project::bare();
    ralph(
        &p,
        &["plugin", "new", "mine", "--lang", lang, "--kind", kind],
    )
    .expect(0);
    lend(&p.root().join("mine"));
    passes(&p, "mine");
    if kind == "gate" {
        p.write("mine/cases/few/expected.json", r#"{"status": "fail"}"#);
        ralph(&p, &["plugin", "test", "mine"]).expect(1);
        gates(&p, lang);
    }
}

/// In a project it is granted what it asks for and ralph.toml allows, and rules.
fn gates(p: &Project, lang: &str) {
    let user = Project::build()
        .toml("[plugins.mine]\nsource = \"mine.wasm\"\nallow = { changes = true }\n[[gates]]\nname = \"mine\"\nplugin = \"mine\"\nconfig = { max_files = 1 }")
        .untrusted();
    user.write("mine.wasm", p.bytes("mine/mine.wasm"));
    user.commit_all("a gate");
    user.trust();
    user.write("one.txt", "1\n");
    ralph(&user, &["check"])
        .expect(0)
        .says("1 of at most 1 files changed");
    user.write("two.txt", "2\n");
    let told = ralph(&user, &["--json", "check"]).expect(1).json();
    let findings = &told["result"]["gates"][0]["verdict"]["findings"];
    assert_eq!(findings[0]["path"], "two.txt", "{lang}: {told}");
    assert_eq!(findings[0]["rule"], "max-files", "{lang}: {told}");
}

#[test]
fn new_plugins_in_javascript() {
    for kind in ["gate", "judge", "canonicaliser", "tool", "notifier"] {
        new("js", kind);
    }
}

#[test]
fn new_plugins_in_typescript_which_the_type_checker_accepts() {
    for kind in ["gate", "judge", "canonicaliser", "tool", "notifier"] {
        new("ts", kind);
        typed(kind);
    }
}

/// What is new has no mistake in its types.
fn typed(kind: &str) {
    if skipped("ts", "the types of a new plugin") {
        return;
    }
    let p = Project::bare();
    let args = ["plugin", "new", "mine", "--lang", "ts", "--kind", kind];
    ralph(&p, &args).expect(0);
    let mut tsc = p.command(&[]);
    let env: Vec<_> = tsc
        .get_envs()
        .map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned)))
        .collect();
    tsc = Command::new(tools().join("node_modules/.bin/tsc"));
    tsc.arg("--noEmit")
        .current_dir(p.root().join("mine"))
        .env_clear();
    tsc.envs(env.into_iter().filter_map(|(k, v)| Some((k, v?))));
    p.start_command(tsc).wait().expect(0);
}

#[test]
fn new_plugins_in_python() {
    for kind in ["gate", "judge", "canonicaliser"] {
        new("python", kind);
    }
}

#[test]
fn new_plugins_in_python_that_ask_others() {
    for kind in ["tool", "notifier", "tracker"] {
        new("python", kind);
    }
}

#[test]
fn a_plugin_in_python_sends_requests() {
    if skipped("python", "a plugin that sends requests") {
        return;
    }
    let web = Web::http();
    web.on(
        "/hello",
        Reply::ok("hello to you").header("X-Said", "welcome"),
    );
    web.on(
        "/away",
        Reply::status(302, "gone").header("location", "http://127.0.0.2:9/"),
    );
    web.on("/long", Reply::ok("x".repeat(300_000)));
    let url = |path: &str| format!("http://{}{path}", web.authority());
    let asks = [
        format!("{{ url = {:?} }}", url("/hello")),
        format!(
            "{{ url = {:?}, method = \"POST\", body = {:?} }}",
            url("/hello"),
            "y".repeat(10_000)
        ),
        format!("{{ url = {:?} }}", url("/away")),
        format!("{{ url = {:?} }}", url("/long")),
        "{ url = \"http://127.0.0.1:9/\" }".to_owned(),
        "{ url = \"nonsense\" }".to_owned(),
    ];
    // Compiled once for both.
    let p = Project::build()
        .toml(&format!(
            "[plugins.mine]\nsource = \"mine/mine.wasm\"\nallow = {{ http = [{:?}] }}\n[[gates]]\nname = \"mine\"\nplugin = \"mine\"\nconfig = {{ asks = [{}] }}",
            web.authority(),
            asks.join(", ")
        ))
        .untrusted();
    ralph(&p, &["plugin", "new", "mine", "--lang", "python"]).expect(0);
    lend(&p.root().join("mine"));
    let manifest = p.read("mine/plugin.toml");
    p.write(
        "mine/plugin.toml",
        manifest.replace("changes = true", "http = [\"*\"]"),
    );
    p.write("mine/src/plugin.py", ASKS);
    for other in ["misspelt", "too-many"] {
        fs::remove_dir_all(p.root().join("mine/cases").join(other)).unwrap();
    }
    // What it sends, and what comes back, stand in the case.
    p.write(
        "mine/cases/few/input.json",
        r#"{"config": {"asks": [{"url": "https://example.org/a?b#c", "method": "POST", "body": "hello"}, {"url": "https://example.org"}]},
            "requests": [{"url": "https://example.org/a?b", "method": "POST", "sent": "hello", "status": 201, "headers": {"X-Said": "yes"}, "body": "made"},
                         {"url": "https://example.org/", "error": "nobody is there"}]}"#,
    );
    p.write(
        "mine/cases/few/expected.json",
        r#"{"status": "pass", "findings": [{"message": "201 yes made"}, {"message": "failed: GET https://example.org: InternalError: nobody is there"}]}"#,
    );
    passes(&p, "mine");
    p.commit_all("a gate");
    p.trust();
    let told = ralph(&p, &["--json", "check"]).expect(0).json();
    let findings = &told["result"]["gates"][0]["verdict"]["findings"];
    let said: Vec<&str> = findings
        .as_array()
        .unwrap_or_else(|| panic!("{told}"))
        .iter()
        .map(|f| f["message"].as_str().unwrap())
        .collect();
    assert_eq!(said[..2], ["200 welcome hello to you"; 2]);
    assert_eq!(said[2], "302 None gone");
    assert_eq!(
        said[3],
        format!("200 None {}", "x".repeat(300_000))
            .get(..80)
            .unwrap()
    );
    assert!(
        said[4].starts_with("denied: GET http://127.0.0.1:9/: HttpRequestDenied"),
        "{said:?}"
    );
    assert!(
        said[5].starts_with("failed: nonsense: an address"),
        "{said:?}"
    );
    assert_eq!(web.bodies()[1].len(), 10_000);
}

/// A gate that sends the requests which its configuration says.
const ASKS: &str = r#"import ralph
import ralph_http


def said(ask) -> str:
    body = ask.get("body", "").encode()
    try:
        r = ralph_http.request(ask["url"], ask.get("method", "GET"), {"x-by": "gate"}, body)
        return f"{r.status} {r.header('X-Said')} {r.body.decode()}"[:80]
    except ralph.Refusal as e:
        return f"{e.kind}: {e}"


def check(it: ralph.Iteration) -> ralph.Verdict:
    asks = ralph.config(asks=[])["asks"]
    return ralph.passes("asked", [ralph.finding(said(ask)) for ask in asks])


Gate = ralph.gate(check)
"#;

#[test]
fn where_requests_can_t_be_sent_the_build_says_so() {
    for lang in ["js", "ts", "c", "go"] {
        let p = Project::bare();
        ralph(&p, &["plugin", "new", "mine", "--lang", lang]).expect(0);
        let manifest = p.read("mine/plugin.toml");
        let world = p.read("mine/wit/world.wit");
        p.write(
            "mine/plugin.toml",
            manifest.replace("changes = true", "http = [\"example.org\"]"),
        );
        let said = format!("plugins in {lang} can't use yet");
        ralph(&p, &["plugin", "build", "mine"])
            .expect(3)
            .says(&said);
        assert_eq!(p.read("mine/wit/world.wit"), world);
    }
}

#[test]
fn a_new_gate_in_c() {
    new("c", "gate");
}

#[test]
fn a_new_gate_in_go() {
    new("go", "gate");
}

#[test]
fn new_plugins_in_rust_of_every_kind() {
    for kind in [
        "gate",
        "judge",
        "canonicaliser",
        "tool",
        "notifier",
        "tracker",
        "agent-driver",
        "agent",
    ] {
        new("rust", kind);
    }
}

/// An example in `examples/plugins`, built in a copy without links.
fn example(name: &str, lang: &str) {
    if skipped(lang, name) {
        return;
    }
    let p = Project::bare();
    copy(&examples("plugins").join(name), &p.root().join(name));
    if lang == "rust" {
        let sdk = examples("../sdk/rust").canonicalize().unwrap();
        let manifest = p.read(&format!("{name}/Cargo.toml"));
        let manifest = manifest.replace("../../../sdk/rust", &sdk.display().to_string());
        p.write(&format!("{name}/Cargo.toml"), manifest);
    }
    lend(&p.root().join(name));
    passes(&p, name);
    if lang == "rust" {
        let mut cargo = Command::new("cargo");
        cargo.arg("test").current_dir(p.root().join(name));
        with_tools(&p, cargo).expect(0).says("1 passed");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        let made = ["target", "build", "node_modules", ".venv"].map(|name| path.ends_with(name));
        if made.contains(&true) {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn the_example_in_rust_licence_headers() {
    example("licence-headers", "rust");
}

#[test]
fn the_example_in_javascript_task_reference() {
    example("task-reference", "js");
}

#[test]
fn the_example_in_python_coverage_delta() {
    example("coverage-delta", "python");
}

#[test]
fn the_example_in_c_large_files() {
    example("large-files", "c");
}

#[test]
fn the_example_in_go_dependencies() {
    example("dependencies", "go");
}
