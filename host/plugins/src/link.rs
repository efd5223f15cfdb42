//! What plugins may import of `ralph:plugin`, under each version that is served. The
//! interfaces of all of them are the same, so there is one set of types and functions;
//! should one ever differ, its older form gets a function of its own here.

use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use crate::bindings::ralph::plugin::call::Host as _;
use crate::bindings::ralph::plugin::changes::{self, Host as _};
use crate::bindings::ralph::plugin::config;
use crate::bindings::ralph::plugin::events::Host as _;
use crate::bindings::ralph::plugin::log::{self, Host as _};
use crate::bindings::ralph::plugin::notify::{self, Host as _};
use crate::bindings::ralph::plugin::process::{self, Host as _};
use crate::bindings::ralph::plugin::state::{self, Host as _};
use crate::bindings::ralph::plugin::types;
use crate::state::State;

type Store<'a> = StoreContextMut<'a, State>;

/// Everything any kind of plugin may import. What a plugin may really use is
/// checked when it is bound, and again when it calls.
pub(crate) fn interfaces(linker: &mut Linker<State>, version: &str) -> wasmtime::Result<()> {
    let name = |interface: &str| format!("ralph:plugin/{interface}@{version}");
    let mut log = linker.instance(&name("log"))?;
    log.func_wrap(
        "log",
        |mut store: Store<'_>, (level, message): (log::Level, String)| {
            store.data_mut().log(level, message)
        },
    )?;
    let mut config = linker.instance(&name("config"))?;
    config.func_wrap("get", |mut store: Store<'_>, (): ()| {
        Ok((config::Host::get(store.data_mut())?,))
    })?;
    let mut call = linker.instance(&name("call"))?;
    call.func_wrap("prompt", |mut store: Store<'_>, (): ()| {
        Ok((store.data_mut().prompt()?,))
    })?;
    let mut events = linker.instance(&name("events"))?;
    events.func_wrap("emit", |mut store: Store<'_>, (event,): (types::Event,)| {
        store.data_mut().emit(event)
    })?;
    events.func_wrap("stop-asked", |mut store: Store<'_>, (): ()| {
        Ok((store.data_mut().stop_asked()?,))
    })?;
    let mut changes = linker.instance(&name("changes"))?;
    changes.func_wrap_async("files", |mut store: Store<'_>, (): ()| {
        Box::new(async move { Ok((store.data_mut().files().await?,)) })
    })?;
    changes.func_wrap_async("diff", |mut store: Store<'_>, (max_bytes,): (u64,)| {
        Box::new(async move {
            let diff: changes::DiffText = store.data_mut().diff(max_bytes).await?;
            Ok((diff,))
        })
    })?;
    let mut process = linker.instance(&name("process"))?;
    process.func_wrap_async(
        "run",
        |mut store: Store<'_>, (command,): (process::Command,)| {
            Box::new(async move { Ok((store.data_mut().run(command).await?,)) })
        },
    )?;
    let mut state = linker.instance(&name("state"))?;
    state.func_wrap_async("get", |mut store: Store<'_>, (key,): (String,)| {
        Box::new(async move { Ok((state::Host::get(store.data_mut(), key).await?,)) })
    })?;
    state.func_wrap_async(
        "set",
        |mut store: Store<'_>, (key, value): (String, Vec<u8>)| {
            Box::new(async move { Ok((store.data_mut().set(key, value).await?,)) })
        },
    )?;
    state.func_wrap_async("delete", |mut store: Store<'_>, (key,): (String,)| {
        Box::new(async move { Ok((store.data_mut().delete(key).await?,)) })
    })?;
    state.func_wrap_async("keys", |mut store: Store<'_>, (prefix,): (String,)| {
        Box::new(async move { Ok((store.data_mut().keys(prefix).await?,)) })
    })?;
    let mut notify = linker.instance(&name("notify"))?;
    notify.func_wrap_async(
        "send",
        |mut store: Store<'_>, (level, title, text): (notify::Level, String, String)| {
            Box::new(async move { Ok((store.data_mut().send(level, title, text).await?,)) })
        },
    )?;
    Ok(())
}
