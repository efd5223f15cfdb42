//! The host: one engine for all plugins of a process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component as WasmComponent, Linker};

use crate::cache::{self, Cache};
use crate::component::{Compiled, Component, check_signatures};
use crate::engine::{self, PARTS_PER_CALL};
use crate::error::{PluginError, Who};
use crate::state::State;
use crate::ticker::Ticker;
use crate::world;

/// The largest component that is taken, in bytes.
const MAX_COMPONENT: usize = 64 << 20;

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
    compiled: Mutex<HashMap<[u8; 32], Arc<Entry>>>,
}

/// Locked while a component is compiled, so that nobody does it twice.
type Entry = Mutex<Option<Arc<Compiled>>>;

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
            compiled: Mutex::default(),
        })))
    }

    /// Are instances pooled? False also where that was asked for and can't be.
    pub fn pooled(&self) -> bool {
        self.0.pooled
    }

    /// Verifies that the bytes are a component of the contract, and compiles it or
    /// takes it from the cache. `name` and `origin` are for messages.
    ///
    /// To be called within a tokio runtime; the work is done on a blocking thread.
    ///
    /// # Errors
    /// [`NotAComponent`](PluginError::NotAComponent), [`Corrupt`](PluginError::Corrupt),
    /// [`TooLarge`](PluginError::TooLarge) (64 MiB), [`WrongWorld`](PluginError::WrongWorld),
    /// [`Version`](PluginError::Version), [`UnknownImport`](PluginError::UnknownImport).
    pub async fn load(
        &self,
        name: &str,
        origin: &str,
        bytes: &[u8],
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
        let (inner, origin, bytes) = (self.0.clone(), origin.to_string(), bytes.to_vec());
        let asker = who.clone();
        tokio::task::spawn_blocking(move || inner.load(who, origin, &bytes))
            .await
            .unwrap_or_else(|error| {
                Err(PluginError::Engine {
                    who: Some(asker),
                    reason: error.to_string(),
                })
            })
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
        bytes: &[u8],
    ) -> Result<Arc<Component>, PluginError> {
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let entry = self
            .compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(digest)
            .or_default()
            .clone();
        let mut entry = entry.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = match &*entry {
            Some(compiled) => compiled.clone(),
            None => {
                let compiled = Arc::new(self.compile(&who, &origin, &digest, bytes)?);
                *entry = Some(compiled.clone());
                compiled
            }
        };
        drop(entry);
        Ok(Arc::new(Component {
            name: who.name,
            origin,
            digest: cache::hex(&digest),
            size: bytes.len() as u64,
            compiled,
            host: self,
        }))
    }

    fn compile(
        &self,
        who: &Who,
        origin: &str,
        digest: &[u8; 32],
        bytes: &[u8],
    ) -> Result<Compiled, PluginError> {
        let component = self
            .native(digest, bytes)
            .map_err(|error| PluginError::Corrupt {
                who: who.clone(),
                origin: origin.into(),
                reason: format!("{error:#}"),
            })?;
        let ty = component.component_type();
        let names = |(name, _): (&str, _)| name.to_string();
        let imports: Vec<String> = ty.imports(&self.engine).map(names).collect();
        let exports: Vec<String> = ty.exports(&self.engine).map(names).collect();
        let export_names: Vec<&str> = exports.iter().map(String::as_str).collect();
        let kinds = world::kinds(who, &export_names)?;
        for (kind, export) in &kinds {
            check_signatures(who, &self.engine, &ty, *kind, export)?;
        }
        world::check_imports(who, &imports)?;
        let pre = self.linker.instantiate_pre(&component).map_err(|error| {
            // The names are known, so it is a function in one of them.
            PluginError::UnknownImport {
                who: who.clone(),
                import: "a function".into(),
                reason: format!("{error:#}"),
            }
        })?;
        Ok(Compiled {
            kinds: kinds.into_iter().map(|(kind, _)| kind).collect(),
            slots: self.slots(&component),
            imports,
            exports,
            pre,
        })
    }

    fn native(&self, digest: &[u8; 32], bytes: &[u8]) -> wasmtime::Result<WasmComponent> {
        let Some(cache) = &self.cache else {
            return WasmComponent::from_binary(&self.engine, bytes);
        };
        let key = cache::key(digest, &self.engine);
        if let Some(component) = cache.load(&self.engine, &key) {
            return Ok(component);
        }
        let component = WasmComponent::from_binary(&self.engine, bytes)?;
        cache.store(&key, &component.serialize()?);
        Ok(component)
    }

    /// How many calls' share of memories and tables one instance takes.
    fn slots(&self, component: &WasmComponent) -> u32 {
        let parts = component
            .resources_required()
            .map_or(PARTS_PER_CALL, |needs| {
                needs.num_memories.max(needs.num_tables)
            });
        parts.div_ceil(PARTS_PER_CALL).clamp(1, self.max_concurrent)
    }
}
