//! An agent that speaks the Agent Client Protocol, played by a script.

use ralph_tests::Project;
use serde_json::Value;

/// Answers what it is asked; what it is told goes to `told`. `END` is what it does at its end.
const AGENT: &str = r#"
say() { printf '%s\n' "$1"; }
update() { say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":$1}}"; }
while read -r line; do
  printf '%s\n' "$line" >>"$SIDE/told"
  case $line in
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}' ;;
    *'"session/new"'*) say '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}' ;;
    *'"session/prompt"'*)
      update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"Write work.txt","kind":"edit","status":"pending"}'
      say '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"Write work.txt","kind":"edit","locations":[{"path":"work.txt"}]},"options":[{"optionId":"go","name":"Go","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}' ;;
    *'"go"'*)
      echo x >>work.txt
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Written.\nEXIT_"}}'
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"SIGNAL: true"}}'
      say '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":11,"outputTokens":3,"cachedReadTokens":5}}}' ;;
    *'"no"'* | *'"cancelled"'*)
      say '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"refusal"}}' ;;
  esac
done
"#;

fn project(end: &str, keys: &str) -> Project {
    Project::build()
        .agent(&format!("{AGENT}{end}\n"))
        .in_agent(&format!("plugin = \"acp\"\n{keys}"))
        .ready()
}

fn told(p: &Project) -> Vec<Value> {
    let text = p.noted("told");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn it_is_asked_answered_counted_and_its_work_accepted() {
    let p = project("", "");
    p.run(&["step"]).expect(0).says("Write work.txt");
    let told = told(&p);
    assert_eq!(
        told[1]["params"]["cwd"],
        p.root().canonicalize().unwrap().to_str().unwrap()
    );
    let kept = p.receipts("T1", "iteration")[0]["prompt_path"].clone();
    assert_eq!(
        told[2]["params"]["prompt"][0]["text"],
        p.read(kept.as_str().unwrap())
    );
    let ended = &p.facts("agent_ended")[0];
    assert_eq!(ended["usage"]["input_tokens"], 11);
    assert_eq!(ended["usage"]["cached_tokens"], 5);
    assert_eq!(ended["outcome"]["text"], "Written.\nEXIT_SIGNAL: true");
    p.run(&["replay", "1"]).expect(0);
}

#[test]
fn one_that_may_only_read_is_refused() {
    let p = project("", "sandbox = \"read-only\"");
    p.run(&["step"]).expect(1).says("refused: Write work.txt");
    assert!(!p.exists("work.txt"));
    assert_eq!(p.facts("agent_ended")[0]["outcome"]["type"], "failed");
}

#[test]
fn one_that_does_not_go_when_its_input_is_closed_is_ended_and_its_work_counts() {
    let p = project("hang", "");
    p.run(&["step"]).expect(0);
    assert_eq!(p.facts("agent_ended")[0]["outcome"]["type"], "finished");
}
