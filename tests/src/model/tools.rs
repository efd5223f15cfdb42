//! Calls of tools, in the words of whichever client asks.

use serde_json::{Value, json};

use super::Asked;

/// What the model has the agent do.
#[derive(Debug, Clone)]
pub enum Tool {
    /// A file, relative to where the agent works, and its content.
    Write(String, String),
    /// A command for a shell.
    Shell(String),
    /// Any other, by the end of its name as the client has it, and its input.
    Other(String, Value),
}

/// A call as it goes over the wire.
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
    /// A tool whose input is one text instead of an object.
    pub(super) free: bool,
}

/// The client's own tool for it.
pub(super) fn calls(asked: &Asked, tools: &[Tool]) -> Vec<Call> {
    tools
        .iter()
        .enumerate()
        .map(|(i, tool)| {
            let (name, input) = match tool {
                Tool::Write(path, text) => write(asked, path, text),
                Tool::Shell(command) => shell(asked, command),
                Tool::Other(name, input) => (asked.tool(name), input.clone()),
            };
            Call {
                id: format!("call_{}_{i}", asked.number),
                name,
                free: input.is_string(),
                input,
            }
        })
        .collect()
}

fn write(asked: &Asked, path: &str, text: &str) -> (String, Value) {
    let whole = match &asked.cwd {
        Some(cwd) => format!("{cwd}/{path}"),
        None => path.to_owned(),
    };
    let has = |name: &str| asked.tools.get(name);
    if has("Write").is_some() {
        return ("Write".into(), json!({"file_path": whole, "content": text}));
    }
    if has("create").is_some() {
        return ("create".into(), json!({"path": whole, "file_text": text}));
    }
    if let Some(tool) = has("apply_patch") {
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n");
        let free = tool["type"] == "custom" || tool.get("format").is_some();
        let input = if free {
            json!(patch)
        } else {
            json!({"input": patch})
        };
        return ("apply_patch".into(), input);
    }
    let quoted = text.replace('\'', "'\\''");
    shell(asked, &format!("printf '%s' '{quoted}' >'{path}'"))
}

fn shell(asked: &Asked, command: &str) -> (String, Value) {
    if asked.tools.contains_key("exec_command") {
        return (
            "exec_command".into(),
            json!({"cmd": command, "yield_time_ms": 10_000}),
        );
    }
    let name = match asked.tools.contains_key("Bash") {
        true => "Bash",
        false => "bash",
    };
    (
        name.into(),
        json!({"command": command, "description": "as the test says"}),
    )
}
