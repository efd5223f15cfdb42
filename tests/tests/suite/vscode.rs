//! The editor's extension in `examples/vscode`: built with npm below `target/`, and its own tests
//! run with this build of `ralph`. Where that can't be, the reason is on standard error.

use std::fs;
use std::path::PathBuf;

use ralph_tests::{Npm, Project, examples};

#[test]
fn the_editors_extension_is_built_and_passes_its_own_tests() {
    let p = Project::bare();
    let parts = ["src", "test", "tsconfig.json"];
    let Some(npm) = Npm::install(&p, &examples("vscode"), "vscode", &parts) else {
        return;
    };
    let dir = npm.dir();
    let _ = fs::remove_dir_all(dir.join("out"));
    npm.npm(&p, &["run", "compile"]).expect(0);
    let mut tests: Vec<PathBuf> = fs::read_dir(dir.join("out/test"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    tests.sort();
    assert!(tests.len() >= 4, "{tests:?}");
    let mut node = npm.node(&p);
    node.arg("--test")
        .args(tests)
        // Where `vscode` is found: the tests' stand-in.
        .env("NODE_PATH", dir.join("out/test/stub"));
    p.start_command(node)
        .wait_at_most(5 * ralph_tests::LIMIT)
        .expect(0)
        .says("# fail 0");
}
