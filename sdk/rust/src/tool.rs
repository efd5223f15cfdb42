//! World `tool-plugin`.

use serde_json::{Map, Value};

use crate::Error;
pub use crate::bindings::tool::exports::ralph::plugin::tool::Definition as Tool;

/// Offers tools to other programs.
pub trait Tools {
    /// Which there are. Must be pure: same configuration, same answer.
    ///
    /// # Errors
    /// The configuration is wrong.
    fn tools() -> Result<Vec<Tool>, Error>;

    /// Calls one by its name. The host has checked `arguments` against its schema.
    ///
    /// # Errors
    /// Why there is no answer.
    fn call(name: &str, arguments: Map<String, Value>) -> Result<Map<String, Value>, Error>;
}

impl Tool {
    /// `schema` is a JSON Schema of the arguments; see `wit/tool.wit` for what the host knows.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: &Value) -> Self {
        Tool {
            name: name.into(),
            description: description.into(),
            input_schema: schema.to_string(),
        }
    }
}

/// For [`tools!`]: from and to JSON text.
#[doc(hidden)]
pub fn call<T: Tools>(name: &str, arguments: &str) -> Result<String, Error> {
    let arguments = serde_json::from_str(arguments)
        .map_err(|e| Error::failed(format!("the arguments are no JSON object: {e}")))?;
    T::call(name, arguments).map(|answer| Value::Object(answer).to_string())
}

/// Exports a type that implements [`Tools`].
#[macro_export]
macro_rules! tools {
    ($tools:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphTools;
            impl $crate::__private::tool::exports::ralph::plugin::tool::Guest for RalphTools {
                fn tools() -> Result<Vec<$crate::Tool>, $crate::Error> {
                    <$tools as $crate::Tools>::tools()
                }
                fn call(name: String, arguments: String) -> Result<String, $crate::Error> {
                    $crate::__private::call_tool::<$tools>(&name, &arguments)
                }
            }
    $crate::__private::tool::export!(RalphTools with_types_in $crate::__private::tool);
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_tools<T: $crate::Tools>() {}
            is_tools::<$tools>();
        };
    };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    struct Echo;
    impl Tools for Echo {
        fn tools() -> Result<Vec<Tool>, Error> {
            Ok(vec![Tool::new(
                "echo",
                "says it again",
                &json!({ "type": "object" }),
            )])
        }
        fn call(_: &str, arguments: Map<String, Value>) -> Result<Map<String, Value>, Error> {
            Ok(arguments)
        }
    }
    tools!(Echo);

    #[test]
    fn arguments_and_answers_are_json_text() {
        assert_eq!(
            Echo::tools().unwrap()[0].input_schema,
            r#"{"type":"object"}"#
        );
        assert_eq!(
            call::<Echo>("echo", r#"{"a":[1]}"#).unwrap(),
            r#"{"a":[1]}"#
        );
        assert!(call::<Echo>("echo", "[]").is_err());
    }
}
