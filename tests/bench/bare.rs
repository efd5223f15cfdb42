//! A gate in wasmtime with nothing around it: no limits, no log, no checks, an
//! empty WASI. What a call costs at least.

use ralph_engine::types::{DiffText, FileChange};
use wasmtime::component::{Component, HasSelf, InstancePre, Linker, ResourceTable};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use bindings::GatePluginPre;
use bindings::exports::ralph::plugin::gate::Iteration;
use bindings::ralph::plugin::{changes, config, log, process, types};

mod bindings {
    #![allow(missing_docs, reason = "generated; the documentation stands in wit/")]
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "gate-plugin",
        imports: {
            "ralph:plugin/changes": async | trappable,
            "ralph:plugin/process": async | trappable,
            default: trappable,
        },
        exports: { default: async },
    });
}

/// As in `host/plugins/src/engine.rs`: calls at a time, and the share of each.
const CALLS: u32 = 32;
const PARTS_PER_CALL: u32 = 3;
const MAX_PARTS: u32 = 64;

/// What the gate sees.
#[derive(Clone)]
pub struct Seen {
    /// Its configuration.
    pub config: String,
    /// What it is shown of the changes.
    pub diff: DiffText,
    /// What it is shown of the changes.
    pub files: Vec<FileChange>,
}

/// A gate, compiled and linked.
pub struct Bare {
    engine: Engine,
    pre: GatePluginPre<State>,
    seen: std::sync::Arc<Seen>,
    needs_wasi: bool,
}

struct State {
    seen: std::sync::Arc<Seen>,
    wasi: Option<WasiCtx>,
    table: ResourceTable,
}

impl Bare {
    /// The engine is set up as ralph's own.
    pub fn new(component: &[u8], pooling: bool, seen: Seen) -> wasmtime::Result<Bare> {
        let engine = Engine::new(&settings(pooling))?;
        let component = Component::from_binary(&engine, component)?;
        let mut linker: Linker<State> = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        log::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        config::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        changes::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        process::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        let pre: InstancePre<State> = linker.instantiate_pre(&component)?;
        let ty = component.component_type();
        let needs_wasi = ty
            .imports(&engine)
            .any(|(name, _)| name.starts_with("wasi:"));
        Ok(Bare {
            needs_wasi,
            pre: GatePluginPre::new(pre)?,
            engine,
            seen: std::sync::Arc::new(seen),
        })
    }

    /// Store, instance, call, drop. Says whether the gate had nothing against it.
    pub async fn call(&self, it: &Iteration) -> wasmtime::Result<bool> {
        let state = State {
            seen: self.seen.clone(),
            wasi: self.needs_wasi.then(|| WasiCtxBuilder::new().build()),
            table: ResourceTable::new(),
        };
        let mut store = Store::new(&self.engine, state);
        // Nobody ticks.
        store.set_epoch_deadline(1);
        let gate = self.pre.instantiate_async(&mut store).await?;
        let answer = gate.ralph_plugin_gate().call_check(&mut store, it).await?;
        Ok(answer.is_ok_and(|verdict| verdict.status != types::Status::Fail))
    }
}

fn settings(pooling: bool) -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.cranelift_nan_canonicalization(true);
    config.relaxed_simd_deterministic(true);
    config.concurrency_support(false);
    config.generate_address_map(false);
    config.native_unwind_info(false);
    if pooling {
        let parts = CALLS * PARTS_PER_CALL;
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(CALLS)
            .total_core_instances(CALLS * 256)
            .total_stacks(CALLS)
            .total_memories(parts)
            .total_tables(parts)
            .max_memories_per_module(MAX_PARTS)
            .max_tables_per_module(MAX_PARTS)
            .table_elements(100_000)
            .max_unused_warm_slots(CALLS)
            .linear_memory_keep_resident(1 << 20)
            .pagemap_scan(Enabled::Auto)
            .table_keep_resident(64 << 10);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self
                .wasi
                .get_or_insert_with(|| WasiCtxBuilder::new().build()),
            table: &mut self.table,
        }
    }
}

impl types::Host for State {}

impl log::Host for State {
    fn log(&mut self, _: log::Level, _: String) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl config::Host for State {
    fn get(&mut self) -> wasmtime::Result<String> {
        Ok(self.seen.config.clone())
    }
}

impl changes::Host for State {
    async fn files(&mut self) -> wasmtime::Result<Vec<types::FileChange>> {
        let files = self.seen.files.iter();
        Ok(files
            .map(|file| types::FileChange {
                path: file.path.clone(),
                kind: types::ChangeKind::Modified,
                added_lines: file.added_lines,
                deleted_lines: file.deleted_lines,
            })
            .collect())
    }

    async fn diff(&mut self, _: u64) -> wasmtime::Result<changes::DiffText> {
        Ok(changes::DiffText {
            text: self.seen.diff.text.clone(),
            omitted_bytes: self.seen.diff.omitted_bytes,
        })
    }
}

impl process::Host for State {
    async fn run(
        &mut self,
        _: process::Command,
    ) -> wasmtime::Result<Result<process::Output, process::ProcessError>> {
        Ok(Err(process::ProcessError::Failed("not here".into())))
    }
}

/// The same iteration for everybody.
pub fn iteration() -> Iteration {
    Iteration {
        run_id: "run".into(),
        number: 1,
        attempt: 1,
        agent: "none".into(),
        role: types::Role::Work,
        workspace: String::new(),
        scratch: String::new(),
        task: None,
    }
}
