//! A loaded component: what it is, before anything is granted.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wasmtime::component::ResourceAny;
use wasmtime::component::types::{self as wasm, ComponentItem};

use crate::bindings::exports::ralph::plugin::{agent_driver, judge};
use crate::bindings::ralph::plugin::types;
use crate::error::{PluginError, Who};
use crate::facts::Facts;
use crate::guests::Ready;
use crate::host::Inner;
use crate::kind::Kind;

/// A component that was verified and compiled. Does nothing until it is bound.
pub struct Component {
    pub(crate) name: String,
    pub(crate) origin: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
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
    pub(crate) bytes: Cow<'static, [u8]>,
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

/// Checks that an exported interface has the functions of `wit/`, with their types.
pub(crate) fn check_signatures(
    who: &Who,
    engine: &wasmtime::Engine,
    ty: &wasm::Component,
    kind: Kind,
    export: &str,
) -> Result<(), PluginError> {
    let wrong = |found: String| PluginError::WrongWorld {
        who: who.clone(),
        expected: format!("{export} as it stands in wit/"),
        found,
    };
    let Some(ComponentItem::ComponentInstance(interface)) =
        ty.get_export(engine, export).map(|export| export.ty)
    else {
        return Err(wrong("something else by that name".into()));
    };
    let cx = ty.instance_type();
    let mut result = Ok(());
    macro_rules! function {
        ($name:literal: $params:ty => $results:ty) => {
            if result.is_ok() {
                result = match interface.get_export(engine, $name).map(|export| export.ty) {
                    Some(ComponentItem::ComponentFunc(func)) => func
                        .typecheck::<$params, $results>(&cx)
                        .map_err(|e| wrong(format!("`{}` with another type: {e:#}", $name))),
                    _ => Err(wrong(format!("it without `{}`", $name))),
                };
            }
        };
    }
    type Answer<T> = (Result<T, types::PluginError>,);
    match kind {
        Kind::Gate => {
            function!("check": (&types::Iteration,) => Answer<types::Verdict>);
        }
        Kind::Agent => {
            function!("run": (&types::Iteration, &str) => Answer<types::Outcome>);
        }
        Kind::AgentDriver => {
            function!("prepare": (&types::Iteration, &str) => Answer<agent_driver::Launch>);
            function!("[constructor]session": (&types::Iteration,) => (ResourceAny,));
            function!("[method]session.feed": (ResourceAny, &[u8]) => (agent_driver::Reaction,));
            function!("[method]session.finish": (ResourceAny, &agent_driver::Exit) => (agent_driver::Ending,));
        }
        Kind::Judge => {
            function!("prompt": (&types::Iteration, &judge::Evidence) => Answer<String>);
            function!("decide": (&str,) => Answer<types::Verdict>);
        }
        Kind::Canonicaliser => {
            function!("algorithm": () => (String,));
            function!("canonicalise": (&str, &[u8]) => Answer<Vec<u8>>);
        }
    }
    result
}
