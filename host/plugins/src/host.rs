//! The host: one engine for all plugins of a process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component as WasmComponent, Linker};

use crate::builtin::builtin;
use crate::cache::{self, Cache};
use crate::component::{
    Compiled, Component, Content, Source, check_signatures, check_signatures_of_check,
};
use crate::engine::{self, PARTS_PER_CALL};
use crate::error::{PluginError, Who};
use crate::facts::Facts;
use crate::guests::Ready;
use crate::kind::Kind;
use crate::manifest::Manifest;
use crate::shelf::Shelf;
use crate::state::State;
use crate::ticker::Ticker;
use crate::world;

/// The largest component that is taken, in bytes.
const MAX_COMPONENT: usize = 64 << 20;

/// A component may take so long to be compiled, unless something else is said.
const COMPILE_MAX: Duration = Duration::from_secs(300);

/// How to set up a host.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// Where compiled components are kept; `None` compiles at each start.
    pub cache_dir: Option<PathBuf>,
    /// Keep a pool of memories, tables and stacks, which makes a call cheaper and
    /// takes some 4 GiB of address space (not of memory) for each memory in it.
    /// Where that isn't to be had, each call allocates its own, as with `false`.
    pub pooling: bool,
    /// Instances at a time, from 1 to 1000; further calls wait. A driver session
    /// counts from its start to its end.
    pub max_concurrent: u32,
}

impl Default for HostOptions {
    fn default() -> Self {
        HostOptions {
            cache_dir: None,
            pooling: true,
            max_concurrent: 32,
        }
    }
}

/// Loads components. Cheap to clone; all clones are one host.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

/// What plugins keep alive. The ticker's thread ends with it.
pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) slots: Arc<Semaphore>,
    linker: Linker<State>,
    cache: Option<Cache>,
    pooled: bool,
    max_concurrent: u32,
    compiled: Shelf<Compiled>,
}

impl Host {
    /// Sets up the engine and starts its ticker thread.
    ///
    /// # Errors
    /// [`PluginError::Engine`] if this machine can't run the engine.
    pub fn new(options: HostOptions) -> Result<Host, PluginError> {
        let failed = |reason: String| PluginError::Engine { who: None, reason };
        let max_concurrent = options.max_concurrent.clamp(1, 1000);
        let (engine, pooled) = engine::engine(options.pooling, max_concurrent)
            .map_err(|error| failed(format!("{error:#}")))?;
        let linker = engine::linker(&engine).map_err(|error| failed(format!("{error:#}")))?;
        let ticker = Ticker::start(&engine).map_err(|error| failed(error.to_string()))?;
        Ok(Host(Arc::new(Inner {
            cache: options.cache_dir.as_deref().and_then(Cache::open),
            ticker: Arc::new(ticker),
            slots: Arc::new(Semaphore::new(max_concurrent as usize)),
            linker,
            engine,
            pooled,
            max_concurrent,
            compiled: Shelf::default(),
        })))
    }

    /// Are instances pooled? False also where that was asked for and can't be.
    pub fn pooled(&self) -> bool {
        self.0.pooled
    }

    /// Verifies that the bytes are a component of the contract, and compiles it or
    /// finds it in the cache; the code of one that is found is loaded with the first
    /// call. `name` and `origin` are for messages.
    ///
    /// To be called within a tokio runtime; the work is done on a blocking thread.
    ///
    /// # Errors
    /// [`NotAComponent`](PluginError::NotAComponent), [`Corrupt`](PluginError::Corrupt),
    /// [`TooLarge`](PluginError::TooLarge) (64 MiB), [`WrongWorld`](PluginError::WrongWorld),
    /// [`Manifest`](PluginError::Manifest),
    /// [`Version`](PluginError::Version), [`UnknownImport`](PluginError::UnknownImport).
    pub async fn load(
        &self,
        name: &str,
        origin: &str,
        bytes: &[u8],
    ) -> Result<Arc<Component>, PluginError> {
        self.load_within(name, origin, bytes, COMPILE_MAX).await
    }

    /// The same, with a time for compiling. A compiler can't be stopped: it goes on in the
    /// background, and should it come to its end, the next start finds the code in the cache.
    ///
    /// # Errors
    /// Those of [`load`](Host::load), and [`CompileTime`](PluginError::CompileTime).
    pub async fn load_within(
        &self,
        name: &str,
        origin: &str,
        bytes: &[u8],
        limit: Duration,
    ) -> Result<Arc<Component>, PluginError> {
        let who = Who {
            kind: None,
            name: name.into(),
        };
        if bytes.len() > MAX_COMPONENT {
            return Err(PluginError::TooLarge {
                who,
                origin: origin.into(),
                size: bytes.len() as u64,
                limit: MAX_COMPONENT as u64,
            });
        }
        if let Some(what) = not_a_component(bytes) {
            return Err(PluginError::NotAComponent {
                who,
                origin: origin.into(),
                what,
            });
        }
        let late = PluginError::CompileTime {
            table: who.table("limits"),
            who: who.clone(),
            origin: origin.into(),
            limit,
        };
        let (inner, origin, bytes) = (self.0.clone(), origin.to_string(), bytes.to_vec());
        let asker = who.clone();
        let loaded = blocking(&asker, move || {
            let wrong = |reason| PluginError::Manifest {
                who: who.clone(),
                origin: origin.clone(),
                reason,
            };
            // What is wrong there is known before anything is compiled.
            let manifest = Manifest::find(&bytes).map_err(wrong)?;
            if let Some(reason) = manifest.as_ref().and_then(Manifest::misfit) {
                return Err(wrong(reason));
            }
            let digest = Sha256::digest(&bytes).into();
            let content = Content::Given(bytes);
            let source = Source { digest, content };
            inner.load(who, origin, source, manifest, None)
        });
        tokio::time::timeout(limit, loaded)
            .await
            .map_err(|_| late)?
    }

    /// The same for a built-in component; `None` if there is none of this kind by
    /// the name `built_in`. Its hash is known already.
    ///
    /// # Errors
    /// Those of [`load`](Host::load), which no built-in component should meet.
    pub async fn load_builtin(
        &self,
        kind: Kind,
        built_in: &str,
        name: &str,
        origin: &str,
    ) -> Result<Option<Arc<Component>>, PluginError> {
        let Some(found) = builtin(kind, built_in) else {
            return Ok(None);
        };
        let who = Who {
            kind: None,
            name: name.into(),
        };
        let (inner, origin) = (self.0.clone(), origin.to_string());
        let source = Source {
            digest: found.sha256(),
            content: Content::BuiltIn(found),
        };
        // A look into the cache is over before another thread has begun.
        let kept = inner.kept(&source.digest);
        if kept.is_some() {
            return inner.load(who, origin, source, None, kept).map(Some);
        }
        blocking(&who.clone(), move || {
            inner.load(who, origin, source, None, None)
        })
        .await
        .map(Some)
    }
}

/// Carries out work that takes a while.
async fn blocking<T: Send + 'static>(
    who: &Who,
    work: impl FnOnce() -> Result<T, PluginError> + Send + 'static,
) -> Result<T, PluginError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(failed(who, error.to_string())))
}

fn failed(who: &Who, reason: String) -> PluginError {
    PluginError::Engine {
        who: Some(who.clone()),
        reason,
    }
}

/// What the bytes are instead, judged by the first few.
fn not_a_component(bytes: &[u8]) -> Option<String> {
    let what = match bytes {
        [0, b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => return None,
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => {
            "it is a core module; `wasm-tools component new` makes a component of it"
        }
        [0, b'a', b's', b'm', ..] => "it is WebAssembly of a version that ralph does not know",
        [] => "the file is empty",
        [b'(', ..] => "it is WebAssembly text; `wasm-tools parse` makes a binary of it",
        _ => "it is no WebAssembly at all",
    };
    Some(what.into())
}

impl Inner {
    fn load(
        self: Arc<Self>,
        who: Who,
        origin: String,
        source: Source,
        manifest: Option<Manifest>,
        kept: Option<Facts>,
    ) -> Result<Arc<Component>, PluginError> {
        let (digest, size) = (source.digest, source.size() as u64);
        let make = || self.compiled(&who, &origin, source, kept);
        let compiled = self.compiled.get(digest, make)?;
        let kinds = &compiled.facts.kinds;
        if let Some(reason) = manifest.as_ref().and_then(|it| it.mismatch(kinds)) {
            return Err(PluginError::Manifest {
                who,
                origin,
                reason,
            });
        }
        Ok(Arc::new(Component {
            manifest,
            name: who.name,
            origin,
            digest: cache::hex(&digest),
            size,
            compiled,
            host: self,
        }))
    }

    /// From the cache, its code to be loaded later, or else compiled.
    fn compiled(
        &self,
        who: &Who,
        origin: &str,
        source: Source,
        kept: Option<Facts>,
    ) -> Result<Compiled, PluginError> {
        if let Some(facts) = kept.or_else(|| self.kept(&source.digest)) {
            return Ok(Compiled::later(facts, source));
        }
        let component =
            WasmComponent::from_binary(&self.engine, source.bytes()).map_err(|error| {
                PluginError::Corrupt {
                    who: who.clone(),
                    origin: origin.into(),
                    reason: format!("{error:#}"),
                }
            })?;
        let facts = self.facts(who, &component)?;
        let pre = engine::linked(&self.linker, &facts.imports, &component);
        let pre = pre.map_err(|error| {
            // The names are known, so it is a function in one of them.
            PluginError::UnknownImport {
                who: who.clone(),
                import: "a function".into(),
                reason: format!("{error:#}"),
            }
        })?;
        let engine = |error: wasmtime::Error| failed(who, format!("{error:#}"));
        let ready = Ready::new(pre, &facts.exports);
        self.keep(&source.digest, &facts, &component)
            .map_err(engine)?;
        Ok(Compiled::now(facts, ready))
    }

    /// Checks what the component says of itself.
    fn facts(&self, who: &Who, component: &WasmComponent) -> Result<Facts, PluginError> {
        let ty = component.component_type();
        let names = |(name, _): (&str, _)| name.to_string();
        let imports: Vec<String> = ty.imports(&self.engine).map(names).collect();
        let exports: Vec<String> = ty.exports(&self.engine).map(names).collect();
        let kinds = world::kinds(who, &exports)?;
        for (kind, export) in &kinds {
            check_signatures(who, &self.engine, &ty, *kind, export)?;
        }
        if let Some(export) = world::export_of(world::CHECK, &exports) {
            check_signatures_of_check(who, &self.engine, &ty, export)?;
        }
        world::check_imports(who, &imports)?;
        let parts = component
            .resources_required()
            .map_or(PARTS_PER_CALL, |needs| {
                needs.num_memories.max(needs.num_tables)
            });
        Ok(Facts {
            kinds: kinds.iter().map(|(kind, _)| *kind).collect(),
            imports,
            exports,
            slots: parts.div_ceil(PARTS_PER_CALL).max(1),
        })
    }

    fn kept(&self, digest: &[u8; 32]) -> Option<Facts> {
        let (cache, key) = self.cached(digest)?;
        cache.facts(&key)
    }

    fn cached(&self, digest: &[u8; 32]) -> Option<(&Cache, cache::Key)> {
        let cache = self.cache.as_ref()?;
        Some((cache, cache::key(digest, &self.engine)))
    }

    fn keep(
        &self,
        digest: &[u8; 32],
        facts: &Facts,
        component: &WasmComponent,
    ) -> wasmtime::Result<()> {
        if let Some((cache, key)) = self.cached(digest) {
            cache.store(&key, facts, &component.serialize()?);
        }
        Ok(())
    }

    /// Sees to it that the component's code is there: from the cache, or compiled
    /// should the file turn out to be damaged or be gone by now.
    pub(crate) async fn ready<'a>(
        self: &Arc<Self>,
        who: &Who,
        compiled: &'a Arc<Compiled>,
    ) -> Result<&'a Ready, PluginError> {
        if let Some(ready) = compiled.ready() {
            return Ok(ready);
        }
        let (inner, theirs, asker) = (self.clone(), compiled.clone(), who.clone());
        blocking(who, move || {
            theirs
                .load(|source| inner.link(&theirs.facts, source))
                .map_err(|error| failed(&asker, format!("{error:#}")))
        })
        .await?;
        compiled
            .ready()
            .ok_or_else(|| failed(who, "its code is not there".into()))
    }

    fn link(&self, facts: &Facts, source: &Source) -> wasmtime::Result<Ready> {
        let kept = self
            .cached(&source.digest)
            .and_then(|(cache, key)| cache.code(&self.engine, &key));
        let component = match kept {
            Some(component) => component,
            None => {
                let component = WasmComponent::from_binary(&self.engine, source.bytes())?;
                self.keep(&source.digest, facts, &component)?;
                component
            }
        };
        let pre = engine::linked(&self.linker, &facts.imports, &component)?;
        Ok(Ready::new(pre, &facts.exports))
    }

    /// Permits that one instance takes.
    pub(crate) fn slots(&self, facts: &Facts) -> u32 {
        facts.slots.clamp(1, self.max_concurrent)
    }
}
