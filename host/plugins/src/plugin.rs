//! A component with its grants and limits: what the loop calls.

use std::sync::Arc;

use ralph_engine::hosts::HostList;
use ralph_engine::types::{AgentOutcome, Evidence, Iteration, Verdict};
use wasmtime::component::ResourceAny;

use crate::bindings::exports::ralph::plugin::agent_driver;
use crate::bindings::ralph::plugin::types;
use crate::call::Live;
use crate::component::Component;
use crate::convert;
use crate::driver::{Launch, Session};
use crate::error::{PluginError, Who};
use crate::grants::{self, GrantedPlace, Grants, Limits};
use crate::http;
use crate::kind::Kind;
use crate::preopen::GUEST_ROOT;
use crate::programs::Programs;
use crate::services::CallContext;
use crate::world::{self, CONTRACT_VERSION, Listed, f};

/// What a function gives that may refuse.
pub(crate) type Answer<T> = Result<T, types::PluginError>;

/// A component that is ready to be called. Cheap to clone.
///
/// Every call runs in an instance of its own (a driver's session in one for all of
/// it) and can be given up by dropping its future. A call that fails does not
/// affect the next. All calls return [`PluginError`]s of the kinds `Trap`,
/// `TimeOut`, `WaitLimit`, `MemoryLimit`, `CountLimit`, `CrossingLimit`, `OutputLimit`,
/// `Malformed`, `Io` and
/// `Engine`, and `Refused` where the contract lets the plugin refuse.
#[derive(Clone, Debug)]
pub struct Plugin(Arc<Bound>);

#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) who: Who,
    pub(crate) component: Arc<Component>,
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    pub(crate) places: Vec<GrantedPlace>,
    pub(crate) programs: Programs,
    pub(crate) hosts: HostList,
    pub(crate) needs_wasi: bool,
    pub(crate) needs_http: bool,
    kind: Kind,
}

/// Was it ralph.toml that didn't grant it, or the plugin that didn't ask?
fn whose_fault(component: &Component, error: PluginError) -> PluginError {
    match (component.manifest(), error) {
        (Some(manifest), PluginError::MissingGrant { who, import, .. })
            if !manifest.asks_for(&import) =>
        {
            PluginError::Manifest {
                who,
                origin: component.origin().into(),
                reason: format!(
                    "the component imports {import} and its manifest doesn't ask for it, so that ralph.toml \
                     can't grant it; its author has to"
                ),
            }
        }
        (_, error) => error,
    }
}

impl Plugin {
    /// Gives a component its grants and limits. `name` is the one in
    /// `[plugins.<name>]`, and messages tell it.
    ///
    /// # Errors
    /// [`WrongWorld`](PluginError::WrongWorld) if it isn't of this kind,
    /// [`MissingGrant`](PluginError::MissingGrant) and
    /// [`UnknownImport`](PluginError::UnknownImport) if it needs more than it gets,
    /// [`BadGrant`](PluginError::BadGrant) for a grant that can't be given.
    pub fn bind(
        component: Arc<Component>,
        name: &str,
        kind: Kind,
        grants: Grants,
        limits: Limits,
    ) -> Result<Plugin, PluginError> {
        let who = Who {
            kind: Some(kind),
            name: name.into(),
        };
        if !component.kinds().contains(&kind) {
            return Err(PluginError::WrongWorld {
                who,
                expected: format!("ralph:plugin/{kind}@{CONTRACT_VERSION}"),
                found: Listed(component.exports()).to_string(),
            });
        }
        let (places, hosts) = grants::check(&who, kind, &grants)?;
        let programs = Programs::new(&who, &grants, component.manifest())?;
        world::check_grants(&who, kind, component.imports(), &grants)
            .map_err(|error| whose_fault(&component, error))?;
        let needs_http = http::needed(component.imports());
        let needs_wasi = world::needs_wasi(component.imports());
        Ok(Plugin(Arc::new(Bound {
            who,
            component,
            grants,
            limits,
            places,
            programs,
            hosts,
            needs_wasi,
            needs_http,
            kind,
        })))
    }

    /// Its name, as in `[plugins.<name>]`.
    pub fn name(&self) -> &str {
        &self.0.who.name
    }

    /// SHA-256 of its component.
    pub fn digest(&self) -> &str {
        self.0.component.digest()
    }

    /// What it was bound as.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The component.
    pub fn component(&self) -> &Arc<Component> {
        &self.0.component
    }

    /// Loads its code now, if it isn't yet, instead of with the first call. Should that
    /// fail, the first call tells.
    pub async fn warm(&self) {
        let component = &self.0.component;
        let _ = component.host.ready(&self.0.who, &component.compiled).await;
    }

    /// Has a gate check the work of one iteration.
    pub async fn check(&self, ctx: &CallContext, it: &Iteration) -> Result<Verdict, PluginError> {
        let mut live = self.start(ctx, Kind::Gate).await?;
        let answer: Answer<types::Verdict> = live.call(f::GATE, (&self.iteration(it),)).await?;
        self.accept(answer).map(Into::into)
    }

    /// Has a judge write its question.
    pub async fn judge_prompt(
        &self,
        ctx: &CallContext,
        it: &Iteration,
        evidence: &Evidence,
    ) -> Result<String, PluginError> {
        let mut live = self.start(ctx, Kind::Judge).await?;
        let (it, evidence) = (self.iteration(it), convert::evidence(evidence));
        let answer: Answer<String> = live.call(f::QUESTION, (&it, &evidence)).await?;
        self.accept(answer)
    }

    /// Has a judge read the answer to its question.
    pub async fn judge_decide(
        &self,
        ctx: &CallContext,
        answer: &str,
    ) -> Result<Verdict, PluginError> {
        let mut live = self.start(ctx, Kind::Judge).await?;
        let answer: Answer<types::Verdict> = live.call(f::DECIDE, (answer,)).await?;
        self.accept(answer).map(Into::into)
    }

    /// Name and version of a canonicaliser's form.
    pub async fn algorithm(&self, ctx: &CallContext) -> Result<String, PluginError> {
        let mut live = self.start(ctx, Kind::Canonicaliser).await?;
        live.call(f::ALGORITHM, ()).await
    }

    /// Has a canonicaliser bring a document into its form. `path` is not opened.
    pub async fn canonicalise(
        &self,
        ctx: &CallContext,
        path: &str,
        content: &[u8],
    ) -> Result<Vec<u8>, PluginError> {
        let mut live = self.start(ctx, Kind::Canonicaliser).await?;
        let answer: Answer<Vec<u8>> = live.call(f::CANONICALISE, (path, content)).await?;
        self.accept(answer)
    }

    /// Has a driver say what to launch.
    pub async fn prepare(
        &self,
        ctx: &CallContext,
        it: &Iteration,
        prompt: &str,
    ) -> Result<Launch, PluginError> {
        let mut live = self.start(ctx, Kind::AgentDriver).await?;
        let it = self.iteration(it);
        let answer: Answer<agent_driver::Launch> = live.call(f::PREPARE, (&it, prompt)).await?;
        self.accept(answer).map(Into::into)
    }

    /// Starts a driver's session for one agent call.
    pub async fn session(&self, ctx: &CallContext, it: &Iteration) -> Result<Session, PluginError> {
        let mut live = self.start(ctx, Kind::AgentDriver).await?;
        let handle: ResourceAny = live.call(f::SESSION, (&self.iteration(it),)).await?;
        Ok(Session::new(self.0.who.clone(), live, handle))
    }

    /// Has an agent work, from its start to its end. What it lets one see meanwhile
    /// goes to [`Services::event`](crate::Services::event).
    pub async fn run_agent(
        &self,
        ctx: &CallContext,
        it: &Iteration,
        prompt: &str,
    ) -> Result<AgentOutcome, PluginError> {
        let mut live = self.start(ctx, Kind::Agent).await?;
        let it = self.iteration(it);
        let answer: Answer<types::Outcome> = live.call(f::AGENT, (&it, prompt)).await?;
        self.accept(answer).map(Into::into)
    }

    pub(crate) async fn start(&self, ctx: &CallContext, kind: Kind) -> Result<Live, PluginError> {
        if self.0.kind != kind {
            return Err(PluginError::WrongWorld {
                who: self.0.who.clone(),
                expected: format!("ralph:plugin/{kind}@{CONTRACT_VERSION}"),
                found: format!("ralph:plugin/{}@{CONTRACT_VERSION}", self.0.kind),
            });
        }
        Live::start(&self.0, ctx).await
    }

    /// A plugin with directories knows the project by its guest path.
    fn iteration(&self, it: &Iteration) -> types::Iteration {
        convert::iteration(it, (!self.0.places.is_empty()).then_some(GUEST_ROOT))
    }

    pub(crate) fn accept<T>(&self, answer: Answer<T>) -> Result<T, PluginError> {
        answer.map_err(|error| convert::refusal(&self.0.who, error))
    }
}
