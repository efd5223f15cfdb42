//! One connection: `hello` first, then what its port offers.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::Listen;
use super::calls::{self, *};
use super::repeats::{Key, Repeats};
use super::token::Failures;
use crate::access::TARGET;
use crate::message::{AUTH_FAILED, INVALID_PARAMS, INVALID_REQUEST, Params, RpcError, Service};
use crate::outbox::Marker;
use crate::schema::{Call, NoParams};
use crate::server::{Client, Offer};
use crate::tools::{self, Caller};

/// Which of the two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Port {
    Tools,
    Commands,
}

/// What all connections share.
pub(super) struct Shared {
    pub(super) tools: Arc<tools::Tools>,
    listen: Listen,
    repeats: Repeats,
    failures: Failures,
}

impl Shared {
    pub(super) fn new(listen: Listen) -> Shared {
        Shared {
            tools: Arc::new(tools::Tools::new(
                listen.roots.clone(),
                listen.host.clone(),
                listen.version,
            )),
            listen,
            repeats: Repeats::default(),
            failures: Failures::default(),
        }
    }
}

/// One client.
pub(super) struct Session {
    shared: Arc<Shared>,
    port: Port,
    peer: OnceLock<Peer>,
    since: Instant,
}

/// Who it says it is.
struct Peer {
    pid: Option<u64>,
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, port: Port) -> Session {
        Session {
            shared,
            port,
            peer: OnceLock::new(),
            since: Instant::now(),
        }
    }

    async fn hello(&self, client: &Client, hello: Hello) -> Result<Welcome, RpcError> {
        if let Some(token) = &self.shared.listen.token
            && !hello.token.as_deref().is_some_and(|given| token.is(given))
        {
            tokio::time::sleep(self.shared.failures.one_more()).await;
            let what = if hello.token.is_some() {
                "Authentication failed: the token is not the server's"
            } else {
                "Authentication failed: this server wants `token` in `hello`"
            };
            tracing::warn!(target: TARGET, port = ?self.port, "a client is refused: no or a wrong token");
            return Err(RpcError::new(AUTH_FAILED, what).and_close());
        }
        if let Some(access) = client.access() {
            let said = [&hello.name, &hello.version, &hello.agent];
            access.named(said.map(Option::as_deref), hello.pid);
        }
        let _ = self.peer.set(Peer { pid: hello.pid });
        Ok(Welcome {
            success: true,
            message: "Client identified",
            server: ServerName {
                name: "ralph",
                version: self.shared.listen.version,
            },
        })
    }

    async fn call_tool(&self, id: Option<&str>, params: CallParams) -> Result<Value, RpcError> {
        let arguments = params.arguments.unwrap_or_else(|| json!({}));
        if !arguments.is_object() {
            let text = "Invalid params: `arguments` is an object";
            return Err(RpcError::new(INVALID_PARAMS, text));
        }
        let pid = self.peer.get().and_then(|peer| peer.pid);
        let asked = format!("{}\n{arguments}", params.name);
        let tools = self.shared.tools.clone();
        let call = async move {
            let caller = Caller::default();
            let done = tools.call(&params.name, arguments, &caller).await?;
            CallTool::done(Called::of(done))
        };
        match (pid, id) {
            (Some(pid), Some(id)) => {
                let key = Key {
                    pid,
                    id: id.to_owned(),
                    asked: Sha256::digest(asked.as_bytes()).into(),
                };
                self.shared.repeats.once(key, call).await
            }
            _ => call.await,
        }
    }
}

#[async_trait]
impl Service for Session {
    async fn call(
        &self,
        client: &Arc<Client>,
        method: &str,
        params: Params<'_>,
    ) -> Result<Value, RpcError> {
        match method {
            // Whatever it brings along.
            Ping::NAME => return Ping::done(Pong { status: "ok" }),
            Greet::NAME => return Greet::done(self.hello(client, Greet::read(params)?).await?),
            _ => {}
        }
        if self.peer.get().is_none() {
            let text = "Invalid request: `hello` comes first";
            let hint = json!({ "hint": "send hello {name, version, agent, pid, token?}" });
            return Err(RpcError::new(INVALID_REQUEST, text).with(hint));
        }
        match (self.port, method) {
            (_, Discover::NAME) => {
                let NoParams {} = Discover::read(params)?;
                let version = self.shared.listen.version;
                Discover::done(super::document_of(&[self.port], version))
            }
            (Port::Tools, ListTools::NAME) => ListTools::done(calls::Tools {
                tools: self.shared.tools.list().await,
            }),
            (Port::Tools, CallTool::NAME) => {
                let id = params.id();
                self.call_tool(id, CallTool::read(params)?).await
            }
            // Clients of the older server ask for these too.
            (Port::Tools, ListResources::NAME) => ListResources::done(Resources { resources: [] }),
            (Port::Tools, ListPrompts::NAME) => ListPrompts::done(Prompts { prompts: [] }),
            (Port::Commands, Eval::NAME) => {
                let EvalParams { code } = Eval::read(params)?;
                let evaluated = self.shared.listen.commands.eval(&code).await;
                Eval::done(Evaluation {
                    success: evaluated.code == 0,
                    result: evaluated.output,
                    error: evaluated.error,
                    exit_code: evaluated.code,
                })
            }
            _ => Err(RpcError::no_method(method)),
        }
    }

    fn takes_long(&self, method: &str) -> bool {
        matches!(method, CallTool::NAME | ListTools::NAME | Eval::NAME)
    }

    fn only_speakers(&self) -> bool {
        self.peer.get().is_none()
    }
}

impl Offer for Session {
    fn came(&self, _: &Arc<Client>) {}

    fn marker(&self) -> Marker {
        // Nobody is sent events here.
        |_| String::new()
    }

    fn transport(&self) -> &'static str {
        match self.port {
            Port::Tools => "tcp-tools",
            Port::Commands => "tcp-commands",
        }
    }

    /// Who hasn't said hello gets no more by sending a byte now and then.
    fn may_idle(&self, since: Instant) -> Option<Instant> {
        let since = match self.peer.get() {
            Some(_) => since,
            None => self.since,
        };
        since.checked_add(self.shared.listen.idle)
    }
}
