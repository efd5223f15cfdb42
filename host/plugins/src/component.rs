//! A loaded component: what it is, before anything is granted.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wasmtime::component::ResourceAny;
use wasmtime::component::types::{self as wasm, ComponentItem};

use crate::bindings::exports::ralph::plugin::{
    agent_check, agent_driver, judge, notifier, tool, tracker,
};
use crate::bindings::ralph::plugin::types;
use crate::builtin::BuiltIn;
use crate::error::{PluginError, Who};
use crate::facts::Facts;
use crate::guests::Ready;
use crate::host::Inner;
use crate::kind::Kind;
use crate::manifest::Manifest;

/// A component that was verified and compiled. Does nothing until it is bound.
pub struct Component {
    pub(crate) name: String,
    pub(crate) origin: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    pub(crate) manifest: Option<Manifest>,
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) host: Arc<Inner>,
}

/// What is the same for every component of the same bytes. Its code is loaded when it
/// is first needed: most of a run's plugins aren't before an agent has worked.
pub(crate) struct Compiled {
    pub(crate) facts: Facts,
    ready: OnceLock<Ready>,
    /// What to load it by, until it is loaded.
    source: Mutex<Option<Source>>,
}

/// The component's bytes, should its code have gone or be damaged, and their hash.
pub(crate) struct Source {
    pub(crate) digest: [u8; 32],
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Given(Vec<u8>),
    BuiltIn(&'static BuiltIn),
}

impl Source {
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Given(bytes) => bytes,
            Content::BuiltIn(found) => found.bytes(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        match &self.content {
            Content::Given(bytes) => bytes.len(),
            Content::BuiltIn(found) => found.size,
        }
    }
}

impl Compiled {
    /// With its code.
    pub(crate) fn now(facts: Facts, ready: Ready) -> Compiled {
        Compiled {
            facts,
            ready: OnceLock::from(ready),
            source: Mutex::default(),
        }
    }

    /// With code to be loaded.
    pub(crate) fn later(facts: Facts, source: Source) -> Compiled {
        Compiled {
            facts,
            ready: OnceLock::new(),
            source: Mutex::new(Some(source)),
        }
    }

    /// The code, if it is there.
    pub(crate) fn ready(&self) -> Option<&Ready> {
        self.ready.get()
    }

    /// Loads the code, once for all who ask at the same time. Takes a while: for a
    /// blocking thread.
    pub(crate) fn load(
        &self,
        load: impl FnOnce(&Source) -> wasmtime::Result<Ready>,
    ) -> wasmtime::Result<()> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*source {
            let ready = load(found)?;
            let _ = self.ready.set(ready);
            *source = None;
        }
        Ok(())
    }
}

impl Component {
    /// The name it was loaded by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it came from, for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// SHA-256 of the file, in lower-case hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What it says of itself. `None` for a built-in one, which nobody has to ask; its
    /// bytes have it.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// The kind of plugin it is; the first, should it be several.
    pub fn kind(&self) -> Kind {
        // `Host::load` refuses a component without any.
        self.compiled
            .facts
            .kinds
            .first()
            .copied()
            .unwrap_or(Kind::Gate)
    }

    /// All kinds of plugin it can be bound as.
    pub fn kinds(&self) -> &[Kind] {
        &self.compiled.facts.kinds
    }

    /// Full names of what it imports, as `ralph:plugin/log@0.1.0`.
    pub fn imports(&self) -> &[String] {
        &self.compiled.facts.imports
    }

    /// Full names of what it exports.
    pub fn exports(&self) -> &[String] {
        &self.compiled.facts.exports
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Component")
            .field("name", &self.name)
            .field("origin", &self.origin)
            .field("digest", &self.digest)
            .field("kinds", &self.compiled.facts.kinds)
            .finish_non_exhaustive()
    }
}

/// Answers of functions that may refuse.
type Answer<T> = (Result<T, types::PluginError>,);

/// One exported interface, to be compared with `wit/`.
struct Exported<'a> {
    who: &'a Who,
    engine: &'a wasmtime::Engine,
    ty: &'a wasm::Component,
    name: &'a str,
    interface: wasm::ComponentInstance,
}

impl<'a> Exported<'a> {
    fn new(
        who: &'a Who,
        engine: &'a wasmtime::Engine,
        ty: &'a wasm::Component,
        name: &'a str,
    ) -> Result<Self, PluginError> {
        match ty.get_export(engine, name).map(|export| export.ty) {
            Some(ComponentItem::ComponentInstance(interface)) => Ok(Exported {
                who,
                engine,
                ty,
                name,
                interface,
            }),
            _ => Err(wrong(who, name, "something else by that name".into())),
        }
    }

    /// It has this function with these types.
    fn has<P, R>(&self, function: &str) -> Result<&Self, PluginError>
    where
        P: wasmtime::component::ComponentNamedList + wasmtime::component::Lower,
        R: wasmtime::component::ComponentNamedList + wasmtime::component::Lift,
    {
        let found = self.interface.get_export(self.engine, function);
        match found.map(|export| export.ty) {
            Some(ComponentItem::ComponentFunc(func)) => func
                .typecheck::<P, R>(&self.ty.instance_type())
                .map(|()| self)
                .map_err(|e| {
                    let what = format!("`{function}` with another type: {e:#}");
                    wrong(self.who, self.name, what)
                }),
            _ => Err(wrong(
                self.who,
                self.name,
                format!("it without `{function}`"),
            )),
        }
    }
}

fn wrong(who: &Who, export: &str, found: String) -> PluginError {
    PluginError::WrongWorld {
        who: who.clone(),
        expected: format!("{export} as it stands in wit/"),
        found,
    }
}

/// Checks that an exported interface has the functions of `wit/`, with their types.
pub(crate) fn check_signatures(
    who: &Who,
    engine: &wasmtime::Engine,
    ty: &wasm::Component,
    kind: Kind,
    export: &str,
) -> Result<(), PluginError> {
    let it = Exported::new(who, engine, ty, export)?;
    match kind {
        Kind::Gate => it.has::<(&types::Iteration,), Answer<types::Verdict>>("check"),
        Kind::Agent => it.has::<(&types::Iteration, &str), Answer<types::Outcome>>("run"),
        Kind::AgentDriver => it
            .has::<(&types::Iteration, &str), Answer<agent_driver::Launch>>("prepare")?
            .has::<(&types::Iteration,), (ResourceAny,)>("[constructor]session")?
            .has::<(ResourceAny, &[u8]), (agent_driver::Reaction,)>("[method]session.feed")?
            .has::<(ResourceAny, &agent_driver::Exit), (agent_driver::Ending,)>(
                "[method]session.finish",
            ),
        Kind::Judge => it
            .has::<(&types::Iteration, &judge::Evidence), Answer<String>>("prompt")?
            .has::<(&str,), Answer<types::Verdict>>("decide"),
        Kind::Canonicaliser => it
            .has::<(), (String,)>("algorithm")?
            .has::<(&str, &[u8]), Answer<Vec<u8>>>("canonicalise"),
        Kind::Tool => it
            .has::<(), Answer<Vec<tool::Definition>>>("tools")?
            .has::<(&str, &str), Answer<String>>("call"),
        Kind::Notifier => it.has::<(&notifier::Notice,), Answer<()>>("notify"),
        Kind::Tracker => it
            .has::<(), Answer<Vec<tracker::Entry>>>("load")?
            .has::<(&str,), Answer<()>>("begin")?
            .has::<(&str, &tracker::Outcome), Answer<bool>>("apply")?
            .has::<(&tracker::NewTask,), Answer<String>>("add"),
    }
    .map(|_| ())
}

/// The same for `agent-check`, which a driver may export beside its own interface.
pub(crate) fn check_signatures_of_check(
    who: &Who,
    engine: &wasmtime::Engine,
    ty: &wasm::Component,
    export: &str,
) -> Result<(), PluginError> {
    Exported::new(who, engine, ty, export)?
        .has::<(), Answer<Vec<agent_check::Probe>>>("probes")?
        .has::<(&[agent_check::Answer], &[String]), Answer<agent_check::Condition>>("read")
        .map(|_| ())
}
