//! The editor's extension in `examples/vscode`: built with npm below `target/`, and its own tests
//! run with this build of `ralph`. Where that can't be, the reason is on standard error.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_tests::{Project, examples, target};

/// What the extension's editors bring, and its tests need.
const NODE: u32 = 20;

#[test]
fn the_editors_extension_is_built_and_passes_its_own_tests() {
    let p = Project::bare();
    let dir = target().join("vscode");
    fs::create_dir_all(&dir).unwrap();
    let lock = fs::File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    if let Some(reason) = build(&p, &dir) {
        // Past the capture of the test's output.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the tests of examples/vscode: {reason}"
        );
        return;
    }
    let mut tests: Vec<PathBuf> = fs::read_dir(dir.join("out/test"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    tests.sort();
    assert!(tests.len() >= 4, "{tests:?}");
    let ralph = p.command(&[]);
    let mut node = Command::new("node");
    node.arg("--test")
        .args(tests)
        .current_dir(&dir)
        .env_clear()
        .envs(
            ralph
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .env("RALPH_BIN", ralph.get_program())
        // Where `vscode` is found: the tests' stand-in.
        .env("NODE_PATH", dir.join("out/test/stub"))
        .stdin(Stdio::null());
    p.start_command(node)
        .wait_at_most(5 * ralph_tests::LIMIT)
        .expect(0)
        .says("# fail 0");
}

/// Builds it in `dir`; why not, if that can't be done here.
fn build(p: &Project, dir: &Path) -> Option<String> {
    let said = |program: &str| {
        let out = Command::new(program).arg("--version").output().ok()?;
        String::from_utf8(out.stdout).ok()
    };
    let node = said("node").unwrap_or_default();
    let major = node.trim().trim_start_matches('v').split('.').next()?;
    if major.parse().unwrap_or(0) < NODE {
        return Some(format!("node {NODE} is needed, there is {:?}", node.trim()));
    }
    if said("npm").is_none() {
        return Some("there is no npm".into());
    }
    let source = examples("vscode");
    for part in ["src", "test"] {
        // What was there, and is no more, must not be tested.
        let _ = fs::remove_dir_all(dir.join(part));
        copy(&source.join(part), &dir.join(part));
    }
    let _ = fs::remove_dir_all(dir.join("out"));
    for file in ["package.json", "package-lock.json", "tsconfig.json"] {
        fs::copy(source.join(file), dir.join(file)).unwrap();
    }
    let npm = |args: &[&str]| {
        let mut npm = Command::new("npm");
        npm.args(args).current_dir(dir).stdin(Stdio::null());
        p.start_command(npm).wait_at_most(3 * ralph_tests::LIMIT)
    };
    let (locked, stamp) = (dir.join("package-lock.json"), dir.join("installed"));
    let locked = fs::read_to_string(locked).unwrap();
    if fs::read_to_string(&stamp).ok().as_ref() != Some(&locked) {
        if npm(&["ping", "--fetch-retries=1", "--fetch-timeout=20000"]).code != 0 {
            return Some("npm's registry can't be reached".into());
        }
        npm(&["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).expect(0);
        fs::write(stamp, locked).unwrap();
    }
    npm(&["run", "compile"]).expect(0);
    None
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
