//! What goes in and out of the TCP protocol's methods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema::{Document, NoParams, calls};
use crate::tools::{Done, Tool};

calls! { both:
    /// Is it there? May come before `hello`
    Ping = "ping": NoParams => Pong;
    /// Says who asks; comes first
    Greet = "hello": Hello => Welcome;
    /// This document
    Discover = "rpc.discover": NoParams => Document;
}

calls! { of_tools:
    /// Which tools there are, and what each wants
    ListTools = "tools/list": AnyParams => Tools;
    /// Calls one
    CallTool = "tools/call": CallParams => Called;
    /// There are none
    ListResources = "resources/list": AnyParams => Resources;
    /// There are none
    ListPrompts = "prompts/list": AnyParams => Prompts;
}

calls! { of_commands:
    /// Carries out a command line, as after `ralph`
    Eval = "eval": EvalParams => Evaluation;
}

/// Whatever is there isn't looked at.
#[derive(JsonSchema)]
pub(crate) struct AnyParams {}

impl<'de> Deserialize<'de> for AnyParams {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(from).map(|_| AnyParams {})
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Pong {
    pub(crate) status: &'static str,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Hello {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) pid: Option<u64>,
    /// Wanted if the server has one.
    pub(crate) token: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Welcome {
    pub(crate) success: bool,
    pub(crate) message: &'static str,
    pub(crate) server: ServerName,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ServerName {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Tools {
    pub(crate) tools: Vec<Tool>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct CallParams {
    /// As in `tools/list`.
    pub(crate) name: String,
    /// As the tool's `inputSchema` says.
    #[serde(default)]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub(crate) arguments: Option<Value>,
}

/// What a tool answers: fields of its own, and once more all of them as text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Called {
    #[serde(flatten)]
    pub(crate) fields: Map<String, Value>,
    pub(crate) success: bool,
    pub(crate) content: [TextBlock; 1],
}

impl Called {
    pub(crate) fn of(done: Done) -> Called {
        let text = done.text();
        let Done {
            mut fields,
            success,
        } = done;
        // These have a meaning of their own here; what a component's tool says by them is in the text.
        for taken in ["success", "content"] {
            fields.shift_remove(taken);
        }
        Called {
            fields,
            success,
            content: [TextBlock { kind: "text", text }],
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TextBlock {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Resources {
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub(crate) resources: [(); 0],
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Prompts {
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub(crate) prompts: [(); 0],
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EvalParams {
    pub(crate) code: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Evaluation {
    pub(crate) success: bool,
    /// What it would print.
    pub(crate) result: String,
    /// What went wrong.
    pub(crate) error: Option<String>,
    pub(crate) exit_code: u8,
}
