//! What a store holds, and what its guest can call.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::bindings::ralph::plugin::{call, changes, config, events, log, process, types};
use crate::http::Http;
use crate::limiter::Limiter;
use crate::log::Log;
use crate::meter::Meter;
use crate::plugin::Bound;
use crate::services::{Level, Services};
use crate::single::Singles;
use crate::wasi;
use crate::weight::Weight;

/// Handles (files, streams, …) a guest may hold at a time.
const MAX_HANDLES: usize = 4096;

/// The same for one that sends requests: behind each may be header fields, or a piece of a body.
const MAX_HTTP_HANDLES: usize = 256;

pub(crate) struct State {
    pub(crate) plugin: Arc<Bound>,
    pub(crate) services: Arc<dyn Services>,
    pub(crate) config: String,
    pub(crate) meter: Arc<Meter>,
    pub(crate) limiter: Limiter,
    pub(crate) log: Log,
    /// The monotonic clock of a guest that isn't granted the real one.
    pub(crate) virtual_ns: Option<u64>,
    pub(crate) table: ResourceTable,
    wasi: Option<WasiCtx>,
    singles: Singles,
    pub(crate) http: Option<Http>,
    /// How often it has told people something.
    pub(crate) told: u32,
}

/// The guest called something it has no right to. Its imports were checked before,
/// so this is the second lock on the same door.
#[derive(Debug, thiserror::Error)]
#[error("called {0}, which it was not granted")]
pub(crate) struct NotGranted(pub(crate) &'static str);

/// One event was larger than a call may give back.
#[derive(Debug, thiserror::Error)]
#[error("an event was too large")]
pub(crate) struct EventTooLarge;

impl State {
    pub(crate) fn new(
        plugin: Arc<Bound>,
        services: Arc<dyn Services>,
        config: String,
        meter: Arc<Meter>,
        log: Log,
        (wasi, singles): (Option<WasiCtx>, Singles),
    ) -> State {
        let mut table = ResourceTable::new();
        table.set_max_capacity(if plugin.needs_http {
            MAX_HTTP_HANDLES
        } else {
            MAX_HANDLES
        });
        State {
            limiter: Limiter::new(&plugin.limits),
            virtual_ns: (!plugin.grants.clock).then_some(0),
            plugin,
            services,
            config,
            meter,
            log,
            table,
            wasi,
            singles,
            http: None,
            told: 0,
        }
    }

    /// What it has of files.
    pub(crate) fn file_view(&mut self) -> (WasiFilesystemCtxView<'_>, &mut Singles) {
        let ctx = self.wasi.get_or_insert_with(wasi::empty).filesystem();
        let table = &mut self.table;
        (WasiFilesystemCtxView { ctx, table }, &mut self.singles)
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        // A guest which imports no WASI is given none, and never comes here.
        WasiCtxView {
            ctx: self.wasi.get_or_insert_with(wasi::empty),
            table: &mut self.table,
        }
    }
}

impl types::Host for State {}

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => Level::Trace,
            log::Level::Debug => Level::Debug,
            log::Level::Info => Level::Info,
            log::Level::Warn => Level::Warn,
            log::Level::Error => Level::Error,
        };
        self.log.say(level, &message);
        Ok(())
    }
}

impl config::Host for State {
    fn get(&mut self) -> wasmtime::Result<String> {
        Ok(self.config.clone())
    }
}

impl call::Host for State {
    fn prompt(&mut self) -> wasmtime::Result<String> {
        Ok(self.services.prompt())
    }
}

impl changes::Host for State {
    async fn files(&mut self) -> wasmtime::Result<Vec<types::FileChange>> {
        if !self.plugin.grants.changes {
            return Err(NotGranted("changes.files").into());
        }
        let files = self.meter.outside(self.services.files()).await;
        Ok(files.into_iter().map(Into::into).collect())
    }

    async fn diff(&mut self, max_bytes: u64) -> wasmtime::Result<changes::DiffText> {
        if !self.plugin.grants.changes {
            return Err(NotGranted("changes.diff").into());
        }
        // More than it can hold is of no use to it, and would cost us memory.
        let max_bytes = max_bytes.min(self.plugin.limits.memory);
        let diff = self.meter.outside(self.services.diff(max_bytes)).await;
        Ok(diff.into())
    }
}

impl process::Host for State {
    async fn run(
        &mut self,
        command: process::Command,
    ) -> wasmtime::Result<Result<process::Output, process::ProcessError>> {
        let plugin = &self.plugin;
        if plugin.programs.is_none() {
            return Err(NotGranted("process.run").into());
        }
        let command = command.into();
        if let Some(refusal) = plugin.programs.refusal(&command) {
            let said = format!("{} may not {refusal}", plugin.who);
            self.services.log(&plugin.who.name, Level::Warn, &said);
            return Ok(Err(process::ProcessError::Denied(said)));
        }
        let result = self.meter.outside(self.services.run(command)).await;
        Ok(result.map(Into::into).map_err(Into::into))
    }
}

impl events::Host for State {
    fn emit(&mut self, event: types::Event) -> wasmtime::Result<()> {
        if event.weight() > self.plugin.limits.output {
            return Err(EventTooLarge.into());
        }
        self.services.event(event.into());
        Ok(())
    }

    fn stop_asked(&mut self) -> wasmtime::Result<bool> {
        Ok(self.services.stop_asked())
    }
}
