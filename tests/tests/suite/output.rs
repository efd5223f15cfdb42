//! What an agent prints, however much and of whatever kind.

use std::os::unix::fs::PermissionsExt;

use ralph_tests::Project;

/// A session with one event of more than 100 MiB in one line; the rest is a success.
const LONG: &str = r#"
cat >/dev/null
echo '{"type":"system","subtype":"init","session_id":"2837809c-5e34-49b3-a0b0-442d5e2a90cf"}'
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"'
head -c 104857600 /dev/zero | tr '\0' x
echo '"}]}}'
echo x >>work.txt
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"said \342\230 afterwards"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"EXIT_SIGNAL: true","usage":{"input_tokens":7,"output_tokens":3}}'
"#;

#[test]
fn a_line_of_100_mib_is_left_out_with_a_mark_and_the_rest_is_read() {
    let p = Project::build()
        .toml("[agents.long]\nplugin = \"claude\"\nargv = [\"SIDE/long\"]")
        .ready();
    let script = p.script("long", LONG);
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).unwrap();
    p.run(&["step", "--agent", "long"])
        .expect(0)
        .says("left out a line of 104857")
        .says("said \u{fffd} afterwards");
    let ended = &p.facts("agent_ended")[0];
    assert_eq!(ended["outcome"]["type"], "finished", "{ended:?}");
    assert_eq!(ended["usage"]["output_tokens"], 3);
}
