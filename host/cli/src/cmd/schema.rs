//! `ralph schema`, `ralph rpc schema` and `ralph completions`

use std::process::ExitCode;

use ralph_rpc::schema::{Transport, document};
use ralph_runner::Error;

use crate::args::{RpcArgs, RpcCommand, RpcTransport, SchemaArgs, SchemaOf};
use crate::out::Out;

pub fn schema(args: &SchemaArgs, out: &Out) -> Result<ExitCode, Error> {
    let schema = match args.of {
        SchemaOf::Config => ralph_config::schema(),
        SchemaOf::PromptSet => serde_json::from_str(ralph_prompts::unit::SCHEMA)
            .map_err(|e| Error::Internal(e.to_string()))?,
    };
    out.text(serde_json::to_string_pretty(&schema).map_err(|e| Error::Internal(e.to_string()))?);
    Ok(out.done(0, &schema))
}

/// The JSON-RPC methods, as OpenRPC documents: one transport's, or all by name.
pub fn rpc(args: &RpcArgs, out: &Out) -> Result<ExitCode, Error> {
    let RpcCommand::Schema { transport } = &args.command;
    let of = |transport: &RpcTransport| {
        let transport = match transport {
            RpcTransport::Tui => Transport::Tui,
            RpcTransport::Bridge => Transport::Bridge,
            RpcTransport::Tcp => Transport::Tcp,
        };
        serde_json::to_value(document(transport, env!("CARGO_PKG_VERSION")))
            .map_err(|e| Error::Internal(e.to_string()))
    };
    let said = match transport {
        Some(transport) => of(transport)?,
        None => serde_json::json!({
            "tui": of(&RpcTransport::Tui)?,
            "bridge": of(&RpcTransport::Bridge)?,
            "tcp": of(&RpcTransport::Tcp)?,
        }),
    };
    out.text(serde_json::to_string_pretty(&said).map_err(|e| Error::Internal(e.to_string()))?);
    Ok(out.done(0, &said))
}

pub fn completions(shell: clap_complete::Shell, out: &Out) -> Result<ExitCode, Error> {
    let script = crate::complete::script(shell).map_err(|e| Error::Internal(e.to_string()))?;
    if !out.json {
        out.raw(&script);
    }
    Ok(out.done(
        0,
        &serde_json::json!({ "script": String::from_utf8_lossy(&script) }),
    ))
}
