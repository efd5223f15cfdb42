//! The methods of a transport as one OpenRPC document, made from the types that are read and
//! answered with.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::{INTERNAL_ERROR, Params, RpcError};

/// One method: its name, and the types of what goes in and what comes out.
pub(crate) trait Call {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    type Params: DeserializeOwned + JsonSchema;
    type Result: Serialize + JsonSchema;

    /// Reads its parameters.
    fn read(params: Params<'_>) -> Result<Self::Params, RpcError> {
        params.read()
    }

    /// Makes its answer.
    fn done(result: Self::Result) -> Result<Value, RpcError> {
        serde_json::to_value(result).map_err(|e| RpcError::new(INTERNAL_ERROR, e.to_string()))
    }
}

/// Declares methods, and a function that describes all of them.
macro_rules! calls {
    ($all:ident: $(#[doc = $summary:literal] $call:ident = $name:literal: $params:ty => $result:ty;)+) => {
        $(
            #[doc = $summary]
            pub(crate) struct $call;
            impl $crate::schema::Call for $call {
                const NAME: &'static str = $name;
                const SUMMARY: &'static str = $summary;
                type Params = $params;
                type Result = $result;
            }
        )+
        /// All of them.
        pub(crate) fn $all() -> Vec<$crate::schema::Method> {
            vec![$($crate::schema::describe::<$call>()),+]
        }
    };
}
pub(crate) use calls;

/// No parameters; what is there is not looked at.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoParams {}

/// An OpenRPC document.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document {
    openrpc: &'static str,
    info: Info,
    methods: Vec<Method>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Info {
    title: String,
    version: String,
    description: String,
}

/// One of its methods.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Method {
    name: String,
    summary: String,
    param_structure: &'static str,
    params: Vec<Content>,
    result: Content,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Content {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    required: bool,
    #[schemars(with = "Map<String, Value>")]
    schema: Value,
}

/// The JSON-RPC transports there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A run's Unix socket.
    Tui,
    /// An editor's standard input and output.
    Bridge,
    /// Both ports of `ralph listen`.
    Tcp,
}

/// What a transport offers. `version` is the host's.
pub fn document(transport: Transport, version: &str) -> Document {
    match transport {
        Transport::Tui => crate::tui::document(version),
        Transport::Bridge => crate::bridge::document(version),
        Transport::Tcp => crate::tcp::document(version),
    }
}

impl Document {
    pub(crate) fn new(title: &str, description: &str, version: &str, methods: Vec<Method>) -> Self {
        Document {
            openrpc: "1.3.2",
            info: Info {
                title: title.to_owned(),
                version: version.to_owned(),
                description: description.to_owned(),
            },
            methods,
        }
    }
}

/// Schemas stand on their own: whoever reads one method needs no other part of the document.
fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings
        .with(|s| {
            s.inline_subschemas = true;
            s.meta_schema = None;
        })
        .into_generator()
}

pub(crate) fn describe<C: Call>() -> Method {
    let read = generator(SchemaSettings::draft07().for_deserialize());
    let told = generator(SchemaSettings::draft07().for_serialize());
    let params: Value = read.into_root_schema_for::<C::Params>().into();
    let result: Value = told.into_root_schema_for::<C::Result>().into();
    let required = |name: &str| {
        let all = params["required"].as_array();
        all.is_some_and(|all| all.iter().any(|r| r == name))
    };
    let none = Map::new();
    let properties = params["properties"].as_object().unwrap_or(&none);
    Method {
        name: C::NAME.to_owned(),
        summary: C::SUMMARY.trim().to_owned(),
        param_structure: "by-name",
        params: properties
            .iter()
            .map(|(name, schema)| Content {
                name: name.clone(),
                description: schema["description"].as_str().map(str::to_owned),
                required: required(name),
                schema: schema.clone(),
            })
            .collect(),
        result: Content {
            name: "result".to_owned(),
            description: None,
            required: true,
            schema: result,
        },
    }
}
