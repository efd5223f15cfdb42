//! A component's code, ready for instances, and where in it each function is.

use wasmtime::component::{
    ComponentExportIndex, ComponentNamedList, InstancePre, Lift, Lower, TypedFunc,
};

use crate::call::{Live, wait_limit};
use crate::error::PluginError;
use crate::meter::Waited;
use crate::state::State;
use crate::weight::Weight;
use crate::world::{self, Function};

/// Linked code. The places of functions are looked up by name, once: an interface is
/// there under one of the versions that are served, and from then on it doesn't matter which.
pub(crate) struct Ready {
    pub(crate) pre: InstancePre<State>,
    places: Vec<(Function, ComponentExportIndex)>,
}

impl Ready {
    /// For components whose signatures were checked.
    pub(crate) fn new(pre: InstancePre<State>, exports: &[String]) -> Ready {
        let component = pre.component();
        let mut places = Vec::new();
        for function in world::FUNCTIONS {
            let place = world::export_of(function.0, exports)
                .and_then(|name| component.get_export_index(None, name))
                .and_then(|interface| component.get_export_index(Some(&interface), function.1));
            places.extend(place.map(|place| (function, place)));
        }
        Ready { pre, places }
    }

    fn place(&self, function: Function) -> Option<&ComponentExportIndex> {
        let found = self.places.iter().find(|(known, _)| *known == function);
        found.map(|(_, place)| place)
    }
}

impl Live {
    /// Calls a function of an interface that the component exports, with the types that
    /// were checked when it was loaded. One that hasn't got it was not to be bound as such.
    pub(crate) async fn call<P, R>(
        &mut self,
        function: Function,
        params: P,
    ) -> Result<R, PluginError>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: Lift + Weight + Send + Sync + 'static,
        (R,): ComponentNamedList + Lift,
    {
        let compiled = self.plugin.component.compiled.clone();
        let place = compiled.ready().and_then(|ready| ready.place(function));
        let Some(place) = place else {
            return Err(self.internal(format!("it exports no {} of {}", function.1, function.0)));
        };
        let found: wasmtime::Result<TypedFunc<P, (R,)>> =
            self.instance.get_typed_func(&mut self.store, place);
        let found = found.map_err(|error| self.internal(format!("{error:#}")))?;
        let meter = self.begin();
        let label = world::label(function);
        let call = found.call_async(&mut self.store, params);
        let answer = meter.inside(self.plugin.limits.wait, call).await;
        match answer {
            Ok(answer) => self.end(label, answer.map(|(value,)| value)),
            Err(Waited) => Err(wait_limit(&self.plugin, label)),
        }
    }
}
