//! The host's own tools: their names, and what they want.

use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The directory of the project, absolute or relative to the server's first root; that root if it
/// is left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Where {
    #[serde(default)]
    pub(super) workspace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LogArguments {
    #[serde(default)]
    pub(super) workspace: Option<String>,
    /// So many iterations, the newest; 20 if it is left out.
    #[serde(default)]
    pub(super) newest: Option<u32>,
    /// Only of this task.
    #[serde(default)]
    pub(super) task: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StepArguments {
    #[serde(default)]
    pub(super) workspace: Option<String>,
    /// The agent that works; that of the configuration if it is left out.
    #[serde(default)]
    pub(super) agent: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunArguments {
    #[serde(default)]
    pub(super) workspace: Option<String>,
    /// The agent that works; that of the configuration if it is left out.
    #[serde(default)]
    pub(super) agent: Option<String>,
    /// Iterations of this run, 1 to 100000.
    #[serde(default)]
    pub(super) max_iterations: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StopArguments {
    #[serde(default)]
    pub(super) workspace: Option<String>,
    /// End the agent too, at once.
    #[serde(default)]
    pub(super) force: bool,
}

/// One tool, as a client is told of it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(rename = "inputSchema")]
    #[schemars(with = "Map<String, Value>")]
    pub(crate) input_schema: Map<String, Value>,
}

/// A schema's fields; one that is `true` or `false` has none.
pub(super) fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The host's own.
pub(super) fn own() -> Vec<Tool> {
    fn tool<A: JsonSchema>(name: &'static str, description: &'static str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: object(schema_for!(A).into()),
        }
    }
    vec![
        tool::<Where>(
            "status",
            "Where a project stands: tasks done, the next one, the run that is on",
        ),
        tool::<Where>("tasks", "All tasks with their states, attempts and notes"),
        tool::<LogArguments>("log", "The newest iterations and what they came to"),
        tool::<Where>(
            "check",
            "Ask the gates about what differs from the last commit",
        ),
        tool::<StepArguments>("step", "Run one iteration and wait for its end"),
        tool::<RunArguments>("run", "Start the loop; it goes on by itself"),
        tool::<StopArguments>(
            "stop",
            "End the run that was started here, after its iteration",
        ),
        tool::<Where>("pause", "Let no new iteration start"),
        tool::<Where>("resume", "Let new iterations start again"),
        tool::<Where>("plugins", "The components that are built in"),
    ]
}
