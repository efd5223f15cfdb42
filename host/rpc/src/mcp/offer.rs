//! What an agent is offered: tools, and nothing else.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode,
    Implementation, InitializeRequestParams, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::progress;
use crate::message::{INTERNAL_ERROR, NOT_NOW, RpcError};
use crate::tools::{Caller, Done, Tools, Waits};

/// Calls at work at once.
const AT_WORK: usize = 16;

/// What a model is told of all tools together.
const INSTRUCTIONS: &str = "ralph runs coding agents on the tasks of a project, one task at a time, and accepts work only if its gates agree. `check` asks the gates about uncommitted work, `tasks` lists the tasks, `status` and `log` tell how things stand. `step` and `run` start agents: that takes long and costs tokens.";

/// One client's server.
pub(super) struct Offer {
    tools: Arc<Tools>,
    waits: watch::Receiver<Waits>,
    at_work: Arc<Semaphore>,
    version: &'static str,
}

impl Offer {
    /// `waits` says how long anybody waits for answers.
    pub(super) fn new(
        tools: Arc<Tools>,
        waits: watch::Receiver<Waits>,
        version: &'static str,
    ) -> Offer {
        Offer {
            tools,
            waits,
            at_work: Arc::new(Semaphore::new(AT_WORK)),
            version,
        }
    }

    fn begin(&self) -> Result<OwnedSemaphorePermit, ErrorData> {
        let permit = self.at_work.clone().try_acquire_owned();
        permit.map_err(|_| {
            let text = format!("{AT_WORK} calls are at work already; wait for one of them");
            data(RpcError::new(NOT_NOW, text))
        })
    }
}

/// A request's own task: one that panics is answered too.
async fn caught<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, ErrorData> {
    tokio::spawn(work).await.map_err(|e| {
        tracing::error!("a request can't be carried out: {e}");
        data(RpcError::new(INTERNAL_ERROR, "Internal error"))
    })
}

fn data(e: RpcError) -> ErrorData {
    ErrorData::new(ErrorCode(e.code), e.message, e.data)
}

/// What a tool fails with is its result, for the model to read; that it can't be called so is an error.
fn answered(done: Result<Done, RpcError>) -> Result<CallToolResponse, ErrorData> {
    Ok(match done {
        Ok(done) => {
            let mut result = CallToolResult::structured(Value::Null);
            result.content = vec![ContentBlock::text(done.text())];
            result.is_error = Some(!done.success);
            result.structured_content = Some(Value::Object(done.fields));
            result.into()
        }
        Err(e) if e.code == NOT_NOW => {
            let mut result = CallToolResult::error(vec![ContentBlock::text(e.message.clone())]);
            let told =
                json!({ "success": false, "code": e.code, "message": e.message, "data": e.data });
            result.structured_content = Some(told);
            result.into()
        }
        Err(e) => return Err(data(e)),
    })
}

impl ServerHandler for Offer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ralph", self.version))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        mut asked: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let agreed = self.negotiate_initialize(&asked)?;
        asked.protocol_version = agreed.protocol_version.clone();
        context.peer.set_peer_info(asked);
        Ok(agreed)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let permit = self.begin()?;
        let tools = self.tools.clone();
        let all = caught(async move {
            let _permit = permit;
            tokio::select! {
                all = tools.list() => all,
                () = context.ct.cancelled() => Vec::new(),
            }
        });
        let shown = |tool: crate::tools::Tool| {
            Tool::new(tool.name, tool.description, Arc::new(tool.input_schema))
        };
        let tools = all.await?.into_iter().map(shown).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        asked: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let permit = self.begin()?;
        let (view, telling) = match context.meta.get_progress_token() {
            Some(token) => {
                let (view, telling) = progress::tell(context.peer.clone(), token);
                (Some(view), Some(telling))
            }
            None => (None, None),
        };
        // Whoever is gone, or has given this call up, waits no more.
        let (leave, waits) = watch::channel(*self.waits.borrow());
        let (tools, mut all) = (self.tools.clone(), self.waits.clone());
        let mut call = std::pin::pin!(caught(async move {
            let _permit = permit;
            let caller = Caller::new(waits, view);
            let arguments = Value::Object(asked.arguments.unwrap_or_default());
            tools.call(&asked.name, arguments, &caller).await
        }));
        let done = loop {
            let waits = *leave.borrow();
            tokio::select! {
                done = &mut call => break done?,
                () = context.ct.cancelled(), if waits != Waits::No => {
                    leave.send_replace(Waits::No);
                }
                changed = all.changed(), if waits != Waits::No => {
                    let now = if changed.is_ok() { *all.borrow() } else { Waits::No };
                    leave.send_replace(now);
                }
            }
        };
        if let Some(telling) = telling {
            telling.end().await;
        }
        answered(done)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;

    #[tokio::test]
    async fn a_request_that_panics_is_answered() {
        let refused = caught(async { panic!("as a test wants it") }).await;
        let e: Result<(), ErrorData> = refused;
        assert_eq!(e.unwrap_err().code.0, INTERNAL_ERROR);
        assert_eq!(caught(async { 1 }).await.unwrap(), 1);
    }
}
