//! One instance in its store, from start to end, and what its errors mean.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::Instance;
use wasmtime::{Store, Trap, UpdateDeadline, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::error::PluginError;
use crate::limiter::Refused;
use crate::log::Log;
use crate::meter::{Meter, Overtime, Waited};
use crate::plugin::Bound;
use crate::services::CallContext;
use crate::single::Singles;
use crate::state::{EventTooLarge, NotGranted, State};
use crate::wasi;
use crate::weight::Weight;

/// How deep a trap's message goes.
const SHOWN_FRAMES: usize = 4;

/// The name by which messages call an instance's start.
const START: &str = "start";

/// An instance that was started. Dropping it frees all it had.
pub(crate) struct Live {
    pub(crate) store: Store<State>,
    pub(crate) instance: Instance,
    pub(crate) plugin: Arc<Bound>,
    meter: Arc<Meter>,
    /// Given back after the store is gone.
    _slots: OwnedSemaphorePermit,
}

impl Live {
    /// Waits for a free slot and starts an instance.
    pub(crate) async fn start(plugin: &Arc<Bound>, ctx: &CallContext) -> Result<Live, PluginError> {
        let compiled = &plugin.component.compiled;
        let host = &plugin.component.host;
        let ready = host.ready(&plugin.who, compiled).await?;
        let slots = host
            .slots
            .clone()
            .acquire_many_owned(host.slots(&compiled.facts))
            .await
            .map_err(|e| PluginError::Engine {
                who: Some(plugin.who.clone()),
                reason: e.to_string(),
            })?;
        let log = Log::new(ctx.services.clone(), &plugin.who.name, plugin.limits.log);
        let (wasi, singles) = if plugin.needs_wasi {
            let (wasi, singles) =
                wasi::context(&plugin.who, &plugin.grants, &plugin.places, ctx, &log)?;
            (Some(wasi), singles)
        } else {
            (None, Singles::default())
        };
        let meter = Arc::new(Meter::new(host.ticker.clone()));
        let state = State::new(
            plugin.clone(),
            ctx.services.clone(),
            ctx.config.clone(),
            meter.clone(),
            log,
            (wasi, singles),
        );
        let mut store = Store::new(&host.engine, state);
        store.limiter(|state| &mut state.limiter);
        // It bounds what the host copies, also of what a call gives back; `output` is
        // counted exactly, afterwards.
        let crossing = plugin
            .limits
            .crossing
            .max(plugin.limits.output.saturating_mul(2));
        store.set_hostcall_fuel(usize::try_from(crossing).unwrap_or(usize::MAX));
        let watch = meter.clone();
        store.epoch_deadline_callback(move |_| {
            watch.check()?;
            // Lets other tasks have the thread, then goes on to the next tick.
            Ok(UpdateDeadline::Yield(1))
        });
        store.set_epoch_deadline(1);
        meter.begin(plugin.limits.start);
        let started = ready.pre.instantiate_async(&mut store);
        let started = meter.inside(plugin.limits.wait, started).await;
        match started.map_err(|Waited| wait_limit(plugin, START))? {
            Ok(instance) => Ok(Live {
                store,
                instance,
                plugin: plugin.clone(),
                meter,
                _slots: slots,
            }),
            Err(error) => Err(explain(plugin, store.data(), START, &error)),
        }
    }

    /// To be called before each call: it has its time anew. The meter is for
    /// driving the call's future.
    pub(crate) fn begin(&mut self) -> Arc<Meter> {
        self.store.set_epoch_deadline(1);
        self.store.data_mut().limiter.refused = None;
        self.meter.begin(self.plugin.limits.time);
        self.meter.clone()
    }

    /// To be called with what the call gave.
    pub(crate) fn end<T: Weight>(
        &mut self,
        call: &'static str,
        result: wasmtime::Result<T>,
    ) -> Result<T, PluginError> {
        let state = self.store.data();
        state.log.end_of_call();
        state.services.used(state.limiter.memory());
        let value =
            result.map_err(|error| explain(&self.plugin, self.store.data(), call, &error))?;
        if value.weight() > self.plugin.limits.output {
            return Err(output_limit(&self.plugin, call));
        }
        Ok(value)
    }

    /// For a lookup that can't fail after the types were checked.
    pub(crate) fn internal(&self, reason: String) -> PluginError {
        PluginError::Engine {
            who: Some(self.plugin.who.clone()),
            reason,
        }
    }
}

pub(crate) fn wait_limit(plugin: &Bound, call: &'static str) -> PluginError {
    PluginError::WaitLimit {
        who: plugin.who.clone(),
        call,
        limit: plugin.limits.wait,
        table: plugin.who.table("limits"),
    }
}

fn count_limit(
    plugin: &Bound,
    call: &'static str,
    (what, key): (&'static str, &'static str),
    limit: u64,
) -> PluginError {
    PluginError::CountLimit {
        who: plugin.who.clone(),
        call,
        what,
        limit,
        key,
        table: plugin.who.table("limits"),
    }
}

fn output_limit(plugin: &Bound, call: &'static str) -> PluginError {
    PluginError::OutputLimit {
        who: plugin.who.clone(),
        call,
        limit: plugin.limits.output,
        table: plugin.who.table("limits"),
    }
}

/// Makes a typed error of what wasmtime said.
fn explain(
    plugin: &Bound,
    state: &State,
    call: &'static str,
    error: &wasmtime::Error,
) -> PluginError {
    let who = plugin.who.clone();
    if error.downcast_ref::<Overtime>().is_some() {
        let table = who.table("limits");
        return PluginError::TimeOut {
            who,
            call,
            limit: state.meter.limit(),
            table,
        };
    }
    if error.downcast_ref::<EventTooLarge>().is_some() {
        return output_limit(plugin, call);
    }
    if let Some(denied) = error.downcast_ref::<NotGranted>() {
        return PluginError::Trap {
            who,
            call,
            message: denied.to_string(),
        };
    }
    // A guest that is refused memory usually ends itself; say why it did.
    match state.limiter.refused {
        Some(Refused::Memory) => {
            let table = who.table("limits");
            return PluginError::MemoryLimit {
                who,
                call,
                limit: plugin.limits.memory,
                table,
            };
        }
        Some(Refused::TableElements) => {
            let limit = plugin.limits.table_elements;
            return count_limit(plugin, call, ("table elements", "table_elements"), limit);
        }
        None => {}
    }
    let text = format!("{error:#}");
    // The error's type is private to wasmtime; its text is all there is.
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        // With the guest on the stack it was an argument, without it an answer.
        return match error.downcast_ref::<WasmBacktrace>() {
            Some(_) => PluginError::CrossingLimit {
                table: who.table("limits"),
                who,
                call,
                limit: plugin.limits.crossing,
            },
            None => output_limit(plugin, call),
        };
    }
    if text.contains("resource limit exceeded: instance count") {
        let limit = u64::from(plugin.limits.instances);
        return count_limit(plugin, call, ("instances", "instances"), limit);
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return PluginError::Trap {
            who,
            call,
            message: format!("it called exit({})", exit.0),
        };
    }
    let backtrace = error.downcast_ref::<WasmBacktrace>();
    if let Some(trap) = error.downcast_ref::<Trap>() {
        let trap = trap.to_string();
        let trap = trap.strip_prefix("wasm trap: ").unwrap_or(&trap);
        return PluginError::Trap {
            who,
            call,
            message: format!("{trap}{}", frames(backtrace)),
        };
    }
    let cause = error.root_cause().to_string();
    if backtrace.is_some() {
        return PluginError::Trap {
            who,
            call,
            message: format!("{cause}{}", frames(backtrace)),
        };
    }
    if call == START {
        return PluginError::Engine {
            who: Some(who),
            reason: text,
        };
    }
    PluginError::Malformed {
        who,
        call,
        reason: cause,
    }
}

/// Names of the innermost functions, if the component has names.
fn frames(backtrace: Option<&WasmBacktrace>) -> String {
    let names: Vec<&str> = backtrace
        .map(|backtrace| backtrace.frames())
        .unwrap_or_default()
        .iter()
        .filter_map(|frame| frame.func_name())
        .take(SHOWN_FRAMES)
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" (in {})", names.join(" < "))
    }
}
