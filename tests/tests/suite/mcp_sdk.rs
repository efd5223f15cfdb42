//! `ralph mcp` and the protocol's own client, from npm. Where that can't be had, the reason is on
//! standard error.

use std::path::Path;

use ralph_tests::{Npm, Project, below};
use serde_json::json;

#[test]
fn the_official_client_lists_calls_watches_and_gives_up() {
    let p = Project::build()
        .agent("cat >/dev/null\nhang\n")
        .gate("g", "exit 0\n")
        .ready();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("npm/mcp");
    let Some(npm) = Npm::install(&p, &source, "mcp-client", &["client.mjs"]) else {
        return;
    };
    let mut node = npm.node(&p);
    node.arg(npm.dir().join("client.mjs")).current_dir(p.root());
    let said = p.start_command(node).wait().expect(0).json();
    assert!(
        below(p.all()).is_empty(),
        "the agent is ended with the step"
    );
    for name in ["status", "tasks", "check", "step"] {
        assert!(
            said["names"].as_array().unwrap().contains(&json!(name)),
            "{said}"
        );
    }
    assert_eq!(said["passed"], true);
    assert_eq!(said["tasks"], 2);
    // What is told right before an answer, this client may drop: it calls back later than it answers.
    let steps = said["steps"].to_string();
    assert!(steps.contains("gate g is asked"), "{steps}");
}
