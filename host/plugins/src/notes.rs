//! What a guest keeps from one call to the next, and what it tells people.

use crate::bindings::ralph::plugin::{notify, state};
use crate::services::{Level, Notification, StateAsk, StateError, StateTold};
use crate::state::{NotGranted, State};

/// What one call may tell.
const TOLD_MAX: u32 = 5;
const TITLE_MAX: usize = 200;
const TEXT_MAX: usize = 4 << 10;

impl State {
    async fn ask(
        &mut self,
        function: &'static str,
        ask: StateAsk,
    ) -> wasmtime::Result<Result<StateTold, state::StateError>> {
        if !self.plugin.grants.state {
            return Err(NotGranted(function).into());
        }
        let answer = self.services.state(&self.plugin.who.name, ask);
        let answer = self.meter.outside(answer).await;
        Ok(answer.map_err(|error| match error {
            StateError::Invalid(why) => state::StateError::Invalid(why),
            StateError::Full(why) => state::StateError::Full(why),
            StateError::Failed(why) => state::StateError::Failed(why),
        }))
    }
}

impl state::Host for State {
    async fn get(
        &mut self,
        key: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, state::StateError>> {
        let told = self.ask("state.get", StateAsk::Get(key)).await?;
        Ok(told.map(|told| match told {
            StateTold::Value(value) => value,
            StateTold::Done | StateTold::Keys(_) => None,
        }))
    }

    async fn set(
        &mut self,
        key: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), state::StateError>> {
        let told = self.ask("state.set", StateAsk::Set(key, value)).await?;
        Ok(told.map(drop))
    }

    async fn delete(&mut self, key: String) -> wasmtime::Result<Result<(), state::StateError>> {
        let told = self.ask("state.delete", StateAsk::Delete(key)).await?;
        Ok(told.map(drop))
    }

    async fn keys(
        &mut self,
        prefix: String,
    ) -> wasmtime::Result<Result<Vec<String>, state::StateError>> {
        let told = self.ask("state.keys", StateAsk::Keys(prefix)).await?;
        Ok(told.map(|told| match told {
            StateTold::Keys(keys) => keys,
            StateTold::Done | StateTold::Value(_) => Vec::new(),
        }))
    }
}

impl notify::Host for State {
    async fn send(
        &mut self,
        level: notify::Level,
        title: String,
        text: String,
    ) -> wasmtime::Result<Result<(), notify::NotifyError>> {
        if !self.plugin.grants.notify {
            return Err(NotGranted("notify.send").into());
        }
        let invalid = |why: String| Ok(Err(notify::NotifyError::Invalid(why)));
        if title.trim().is_empty() || title.len() > TITLE_MAX {
            return invalid(format!("a title has 1 to {TITLE_MAX} bytes"));
        }
        if text.len() > TEXT_MAX {
            return invalid(format!("a text has at most {TEXT_MAX} bytes"));
        }
        self.told += 1;
        if self.told > TOLD_MAX {
            let why = format!("at most {TOLD_MAX} in one call");
            return Ok(Err(notify::NotifyError::TooMany(why)));
        }
        let level = match level {
            notify::Level::Info => Level::Info,
            notify::Level::Warn => Level::Warn,
            notify::Level::Error => Level::Error,
        };
        // One line for the title; no control characters but for line breaks in the text.
        let clean = |text: String, breaks: bool| -> String {
            let keep = |c: char| !c.is_control() || (breaks && c == '\n');
            text.chars()
                .map(|c| if keep(c) { c } else { ' ' })
                .collect()
        };
        let what = Notification {
            level,
            title: clean(title, false),
            text: clean(text, true),
        };
        let told = self.services.notify(&self.plugin.who.name, what);
        let told = self.meter.outside(told).await;
        Ok(told.map_err(notify::NotifyError::Failed))
    }
}
