//! How wasmtime is set up, and what is linked.

use std::num::NonZeroUsize;

use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};
use wasmtime_wasi::p2;

use crate::files;
use crate::http;
use crate::limiter::MAX_PARTS;
use crate::link;
use crate::single;
use crate::state::State;
use crate::world::SERVED;

/// Memories and tables the pool keeps per concurrent call; a component that needs
/// more takes the place of several calls. (QuickJS guests have three of each.)
pub(crate) const PARTS_PER_CALL: u32 = 3;

/// The most a plugin may have in tables, which the pool has to know beforehand.
const MAX_TABLE_ELEMENTS: usize = 100_000;

/// Functions a trap's message may go through.
const MAX_FRAMES: usize = 16;

/// Address space for one memory where there is little: enough for most guests, and
/// those which need more move.
const SMALL_RESERVATION: u64 = 16 << 20;

/// An engine, and whether its instances are pooled. If they were to be but the
/// address space isn't there (a container, `ulimit -v`), they aren't, and each
/// takes little of it at the price of slower code.
pub(crate) fn engine(pooling: bool, calls: u32) -> wasmtime::Result<(Engine, bool)> {
    if !pooling {
        return Ok((Engine::new(&config())?, false));
    }
    match Engine::new(config().allocation_strategy(pool(calls))) {
        Ok(engine) => Ok((engine, true)),
        Err(error) => {
            tracing::debug!("no pool for plugin instances: {error:#}");
            let mut config = config();
            config.memory_reservation(SMALL_RESERVATION);
            config.memory_reservation_for_growth(SMALL_RESERVATION);
            config.memory_guard_size(64 << 10);
            Ok((Engine::new(&config)?, false))
        }
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    // The same input is to give the same verdict, on every machine.
    config.cranelift_nan_canonicalization(true);
    config.relaxed_simd_deterministic(true);
    config.concurrency_support(false);
    // Nobody looks at them here, and they are a sixth of what is read at a start.
    config.generate_address_map(false);
    config.native_unwind_info(false);
    config.wasm_backtrace_max_frames(NonZeroUsize::new(MAX_FRAMES));
    config
}

fn pool(calls: u32) -> InstanceAllocationStrategy {
    let parts = calls.saturating_mul(PARTS_PER_CALL).max(MAX_PARTS as u32);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        // A count, not a reservation; the store's own limit is what counts.
        .total_core_instances(calls.saturating_mul(256))
        .total_stacks(calls)
        .total_memories(parts)
        .total_tables(parts)
        .max_memories_per_module(MAX_PARTS as u32)
        .max_tables_per_module(MAX_PARTS as u32)
        .table_elements(MAX_TABLE_ELEMENTS)
        .max_unused_warm_slots(calls)
        .linear_memory_keep_resident(1 << 20)
        // Of what is kept, only the pages that a call has written are cleared (Linux 6.7).
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(64 << 10);
    InstanceAllocationStrategy::Pooling(pool)
}

/// Everything any kind of plugin may import. What a plugin may really use is
/// checked when it is bound, and again when it calls.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    p2::add_to_linker_async(&mut linker)?;
    linker.allow_shadowing(true);
    p2::bindings::clocks::monotonic_clock::add_to_linker::<State, HasSelf<State>>(
        &mut linker,
        |state| state,
    )?;
    files::open_at(&mut linker)?;
    single::link(&mut linker)?;
    linker.allow_shadowing(false);
    for version in SERVED {
        link::interfaces(&mut linker, version)?;
    }
    Ok(linker)
}

/// A component, linked. The linker of those that send requests has more in it.
pub(crate) fn linked(
    linker: &Linker<State>,
    imports: &[String],
    component: &Component,
) -> wasmtime::Result<InstancePre<State>> {
    if !http::needed(imports) {
        return linker.instantiate_pre(component);
    }
    let mut linker = linker.clone();
    http::link(&mut linker)?;
    linker.instantiate_pre(component)
}
