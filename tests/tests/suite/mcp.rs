//! `ralph mcp`: the tools, as an agent calls them over the Model Context Protocol.

use ralph_tests::{
    Listening, MCP_VERSION, Mcp, Peer, Project, below, components, go, ready, waiting,
};
use rustix::process::Signal;
use serde_json::{Value, json};

fn code(said: &Value) -> i64 {
    said["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn it_introduces_itself_and_offers_tools_and_nothing_else() {
    let p = Project::build().ready();
    let mut mcp = Mcp::raw(&p, &[], &[]);
    assert_eq!(mcp.call("ping", json!({}))["result"], json!({}));
    let said = mcp.introduce();
    assert_eq!(said["protocolVersion"], MCP_VERSION);
    assert_eq!(said["serverInfo"]["name"], "ralph");
    assert!(said["serverInfo"]["version"].is_string(), "{said}");
    assert!(said["instructions"].is_string(), "{said}");
    let can: Vec<&String> = said["capabilities"].as_object().unwrap().keys().collect();
    assert_eq!(can, ["tools"]);
    assert_eq!(mcp.call("ping", json!({}))["result"], json!({}));
    assert_eq!(code(&mcp.call("nope", json!({}))), -32601);
    let ended = mcp.close();
    assert_eq!((ended.code, ended.rest.len()), (Some(0), 0));
}

#[test]
fn its_tools_are_those_of_the_tcp_port() {
    let p = Project::build().gate("g", "exit 0\n").ready();
    let server = Listening::of(&p, &[], |_| {});
    let over_tcp = Peer::hello(server.tools).call("tools/list", json!({}));
    let mut mcp = Mcp::of(&p);
    let tools = mcp.result("tools/list", json!({}))["tools"].clone();
    assert_eq!(tools, over_tcp["result"]["tools"]);
    let status = mcp.tool("status", json!({}))["result"].clone();
    assert_eq!(status["isError"], false, "{status}");
    assert_eq!(status["structuredContent"]["total"], 2);
    let text = status["content"][0]["text"].as_str().unwrap();
    let again: Value = serde_json::from_str(text).unwrap();
    assert_eq!(again["next"], status["structuredContent"]["next"]);
    assert_eq!(again["success"], true);
    let of = |said: Value| said["result"]["structuredContent"].clone();
    assert_eq!(of(mcp.tool("tasks", json!({})))["tasks"][0]["id"], "T1");
    assert_eq!(of(mcp.tool("check", json!({})))["gates"][0]["name"], "g");
    assert_eq!(of(mcp.tool("step", json!({})))["task_id"], "T1");
    let log = of(mcp.tool("log", json!({"newest": 1})));
    assert_eq!(log["iterations"][0]["task"], "T1");
    assert!(of(mcp.tool("plugins", json!({})))["plugins"].is_array());
    assert_eq!(p.commits().len(), 1);
}

#[test]
fn what_is_wrong_with_a_call_is_told_as_over_tcp() {
    let p = Project::build().ready();
    std::os::unix::fs::symlink("/", p.root().join("link")).unwrap();
    let mut mcp = Mcp::of(&p);
    for (name, arguments, want) in [
        ("nope", json!({}), -32601),
        ("status", json!({"odd": 1}), -32602),
        ("status", json!([]), -32602),
        ("status", json!("x"), -32602),
        ("run", json!({"max_iterations": 0}), -32602),
        ("run", json!({"agent": "nobody"}), -32602),
        ("status", json!({"workspace": ".."}), -32002),
        ("status", json!({"workspace": "link/etc"}), -32002),
        ("check", json!({"workspace": "/etc"}), -32002),
    ] {
        let said = mcp.tool(name, arguments.clone());
        assert_eq!(code(&said), want, "{name} {arguments}: {said}");
        if want == -32002 {
            assert_eq!(said["error"]["data"]["roots"], json!([p.root()]), "{said}");
        }
    }
    assert_eq!(code(&mcp.call("tools/call", json!({}))), -32602);
    assert_eq!(code(&mcp.call("tools/call", json!({"name": 5}))), -32602);
    // What a tool itself fails with is its result: the model is to read it.
    p.write("ralph.toml", "[nope]\n");
    let failed = mcp.tool("status", json!({}))["result"].clone();
    assert_eq!(failed["isError"], true, "{failed}");
    assert_eq!(failed["structuredContent"]["code"], -32000);
    assert_eq!(failed["structuredContent"]["data"]["exitCode"], 3);
    let text = failed["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("nope"), "{text}");
}

#[test]
fn nothing_of_a_configuration_runs_that_nobody_has_accepted() {
    let p = Project::build().gate("g", "count g\n").untrusted();
    let mut mcp = Mcp::of(&p);
    for name in ["check", "step", "run"] {
        let said = mcp.tool(name, json!({}))["result"].clone();
        assert_eq!(said["isError"], true, "{name}: {said}");
        assert!(
            said["content"][0]["text"].to_string().contains("trust"),
            "{said}"
        );
    }
    assert_eq!((p.count("g"), p.count("agent")), (0, 0));
    assert_eq!(mcp.tool("status", json!({}))["result"]["isError"], false);
}

#[test]
fn a_component_s_tools_are_called_by_its_name() {
    let p = Project::build()
        .toml("[tools]\nplugins = [\"kinds\"]\n[plugins.kinds]\nsource = \"kinds.wasm\"\nconfig = { dir = \"/workspace/kept\" }\n[plugins.kinds.allow]\nwrite = [\"kept\"]")
        .untrusted();
    p.write("kinds.wasm", components("tests/kinds"));
    p.write("kept/.gitkeep", "");
    p.commit_all("component");
    p.trust();
    let mut mcp = Mcp::of(&p);
    let tools = mcp.result("tools/list", json!({}))["tools"].clone();
    let add = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["name"] == "kinds.add");
    assert_eq!(add.unwrap()["inputSchema"]["required"], json!(["a", "b"]));
    let sum = mcp.tool("kinds.add", json!({"a": 2, "b": 40}))["result"].clone();
    assert_eq!(sum["structuredContent"]["sum"], 42, "{sum}");
    let odd = mcp.tool("kinds.add", json!({"a": 2}));
    assert_eq!(code(&odd), -32602, "{odd}");
    let failed = mcp.tool("kinds.fail", json!({}))["result"].clone();
    assert_eq!(failed["isError"], true);
    assert!(
        failed["content"][0]["text"]
            .to_string()
            .contains("it never answers"),
        "{failed}"
    );
    assert_eq!(code(&mcp.tool("kinds.none", json!({}))), -32601);
}

#[test]
fn what_goes_on_in_a_call_is_told_before_its_answer_to_who_wants_it() {
    let p = Project::build().gate("g", "exit 0\n").ready();
    let mut mcp = Mcp::of(&p);
    let check = mcp.ask_tool("check", json!({}));
    let said: Vec<Value> = (0..2).map(|_| mcp.line()).collect();
    assert_eq!(said[0]["params"]["message"], "gate g is asked");
    let passed = said[1]["params"]["message"].as_str().unwrap();
    assert!(passed.starts_with("gate g: pass"), "{passed}");
    assert_eq!(
        [
            &said[0]["params"]["progress"],
            &said[1]["params"]["progress"]
        ],
        [1.0, 2.0]
    );
    assert_eq!(mcp.line()["id"], check);
    let step = mcp.ask_tool("step", json!({}));
    assert_eq!(mcp.progress(step)["message"], "T1 First thing");
    assert_eq!(
        mcp.answer(step)["result"]["structuredContent"]["task_id"],
        "T1"
    );
    // Without a token nothing is told.
    mcp.tool("check", json!({}));
    let ended = mcp.close();
    assert!(
        ended
            .rest
            .iter()
            .all(|said| said["params"]["progressToken"] == step),
        "{:?}",
        ended.rest
    );
}

#[test]
fn a_call_that_is_given_up_ends_its_agent_and_is_not_answered() {
    let p = ready(waiting());
    let mut mcp = Mcp::of(&p);
    let step = mcp.ask_tool("step", json!({}));
    assert_eq!(p.hear("here"), "1");
    // Others are answered meanwhile, and one agent is enough.
    assert_eq!(
        mcp.tool("status", json!({}))["result"]["structuredContent"]["running"],
        true
    );
    let second = mcp.tool("step", json!({}))["result"].clone();
    assert_eq!(second["isError"], true, "{second}");
    mcp.notify("notifications/cancelled", json!({"requestId": 12345}));
    mcp.notify(
        "notifications/cancelled",
        json!({"requestId": step, "reason": "enough"}),
    );
    // It is over when the next one begins.
    let again = loop {
        let again = mcp.ask_tool("step", json!({}));
        let said = mcp.find("a step", |said| {
            let told = &said["params"];
            said["id"] == again
                || told["progressToken"] == again && told["message"] == "the agent works"
        });
        if said["id"] != again {
            break again;
        }
        assert!(said.to_string().contains("already active"), "{said}");
    };
    assert_eq!(p.hear("here"), "2");
    go(&p);
    let said = mcp.answer(again)["result"].clone();
    assert_eq!(said["structuredContent"]["task_id"], "T1", "{said}");
    let ended = mcp.close();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.rest.iter().all(|said| said["id"] != step),
        "{:?}",
        ended.rest
    );
    assert!(below(p.all()).is_empty());
}

#[test]
fn a_check_that_is_given_up_ends_its_gate() {
    let p = ready(Project::build().gate("g", "tell here x\nhang\n"));
    let mut mcp = Mcp::of(&p);
    let check = mcp.ask_tool("check", json!({}));
    assert_eq!(p.hear("here"), "x");
    mcp.notify("notifications/cancelled", json!({"requestId": check}));
    let ended = mcp.close();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.rest.iter().all(|said| said["id"] != check),
        "{:?}",
        ended.rest
    );
    assert!(below(p.all()).is_empty());
}

#[test]
fn the_end_of_its_input_ends_a_step_and_its_agent() {
    let p = ready(waiting());
    let mut mcp = Mcp::of(&p);
    let step = mcp.ask_tool("step", json!({}));
    assert_eq!(p.hear("here"), "1");
    let ended = mcp.close();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let answer = ended.rest.iter().find(|said| said["id"] == step);
    let answer = &answer.unwrap()["result"]["structuredContent"];
    assert_eq!(answer["status"], "interrupted", "{answer}");
    assert_eq!(answer["end"], "stopped", "{answer}");
    assert!(below(p.all()).is_empty());
    p.run(&["verify"]).expect(0);
}

#[test]
fn a_signal_ends_runs_and_checks_and_its_number_is_the_exit_code() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let p = ready(waiting().gate("g", "tell here gate\nhang\n"));
        let mut mcp = Mcp::of(&p);
        assert_eq!(mcp.tool("run", json!({}))["result"]["isError"], false);
        assert_eq!(p.hear("here"), "1");
        mcp.ask_tool("check", json!({}));
        assert_eq!(p.hear("here"), "gate");
        mcp.signal(signal);
        let ended = mcp.ended();
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        assert!(below(p.all()).is_empty());
        p.run(&["verify"]).expect(0);
    }
}

/// A script writes its requests and closes the pipe.
#[test]
fn what_was_asked_before_the_input_ends_has_its_answer() {
    let p = Project::build().ready();
    let mut mcp = Mcp::of(&p);
    let ids: Vec<u64> = ["tools/list", "ping", "tools/list"]
        .map(|method| mcp.ask(method, json!({})))
        .to_vec();
    let status = mcp.ask_tool("status", json!({}));
    let ended = mcp.close();
    assert_eq!(ended.code, Some(0));
    for id in ids.iter().chain([&status]) {
        let answer = ended.rest.iter().find(|said| said["id"] == *id);
        assert!(
            answer.is_some_and(|a| a["result"].is_object()),
            "{id}: {:?}",
            ended.rest
        );
    }
}

/// Whatever a gate, an agent or a log level does.
#[test]
fn standard_output_is_the_protocol_s_alone() {
    let p = Project::build()
        .agent("cat >/dev/null\necho loud; echo louder >&2\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .gate("g", "echo noise; echo noise >&2\n")
        .ready();
    let mut mcp = Mcp::with(
        &p,
        &["-vvv"],
        &[("RALPH_LOG", "trace"), ("RUST_BACKTRACE", "1")],
    );
    assert_eq!(mcp.tool("step", json!({}))["result"]["isError"], false);
    assert_eq!(mcp.tool("check", json!({}))["result"]["isError"], false);
    let ended = mcp.close();
    assert_eq!((ended.code, ended.rest.len()), (Some(0), 0));
    assert!(ended.stderr.contains("TRACE"), "{}", ended.stderr);
}

#[test]
fn it_works_from_below_the_root_and_where_there_is_no_project_it_says_so() {
    let p = Project::build().ready();
    std::fs::create_dir(p.root().join("deep")).unwrap();
    let mut mcp = Mcp::with(&p, &["-C", "deep"], &[]);
    assert_eq!(
        mcp.tool("status", json!({}))["result"]["structuredContent"]["total"],
        2
    );
    drop(mcp);
    let elsewhere = p.side("");
    let mut mcp = Mcp::with(&p, &["-C", elsewhere.to_str().unwrap()], &[]);
    let said = mcp.tool("status", json!({}))["result"].clone();
    assert_eq!(said["isError"], true, "{said}");
    assert!(mcp.result("tools/list", json!({}))["tools"].is_array());
    p.run(&["-C", "gone", "mcp"]).expect(3).says("gone");
}
