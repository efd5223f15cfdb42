//! The requests and results that this server knows, each by a type of its own.

use rmcp::model::{
    CallToolRequest, ClientRequest, DiscoverRequest, GetMeta, InitializeRequest, ListToolsRequest,
    PingRequest, RequestMetaObject, ServerResult,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::message::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};

/// Only what is served here is read, by what its method is: a request whose parameters don't fit is
/// told why. And whether it says of itself which protocol it speaks.
pub(super) fn typed(method: &str, params: &str) -> Result<(ClientRequest, bool), RpcError> {
    #[derive(Deserialize)]
    struct Meta {
        #[serde(default, rename = "_meta")]
        meta: RequestMetaObject,
    }
    fn read<T: DeserializeOwned>(params: &str) -> Result<T, RpcError> {
        if !params.starts_with('{') {
            let text = "Invalid params: an object with names is wanted";
            return Err(RpcError::new(INVALID_PARAMS, text));
        }
        serde_json::from_str(params).map_err(|e| RpcError::bad_params(&e))
    }
    let mut request: ClientRequest = match method {
        "ping" => PingRequest::default().into(),
        "initialize" => InitializeRequest::new(read(params)?).into(),
        "server/discover" => {
            // Nothing but what every request may have.
            let mut own: Map<String, Value> = read(params)?;
            own.shift_remove("_meta");
            let own = serde_json::from_value(Value::Object(own));
            DiscoverRequest::new(own.map_err(|e| RpcError::bad_params(&e))?).into()
        }
        "tools/list" => ListToolsRequest {
            params: Some(read(params)?),
            ..ListToolsRequest::default()
        }
        .into(),
        "tools/call" => CallToolRequest::new(read(params)?).into(),
        _ => return Err(RpcError::no_method(method)),
    };
    let Meta { meta } = read(params)?;
    let modern = meta.protocol_version().is_some();
    *request.get_meta_mut() = meta;
    Ok((request, modern))
}

/// Of what this server answers with.
pub(super) fn value(result: &ServerResult) -> Result<Value, RpcError> {
    let value = match result {
        ServerResult::InitializeResult(result) => serde_json::to_value(result),
        ServerResult::DiscoverResult(result) => serde_json::to_value(result),
        ServerResult::ListToolsResult(result) => serde_json::to_value(result),
        ServerResult::CallToolResult(result) => serde_json::to_value(result),
        ServerResult::EmptyResult(result) => serde_json::to_value(result),
        _ => return Err(RpcError::new(INTERNAL_ERROR, "Internal error")),
    };
    value.map_err(|e| RpcError::new(INTERNAL_ERROR, e.to_string()))
}
