//! A component's code, ready for instances, and where in it each interface is.

use wasmtime::component::InstancePre;

use crate::bindings::exports::ralph::plugin::{
    agent, agent_check, agent_driver, canonicaliser, gate, judge,
};
use crate::call::Live;
use crate::error::PluginError;
use crate::kind::Kind;
use crate::state::State;

macro_rules! guests {
    ($($kind:ident => $name:ident),*) => {
        /// Linked code. The places of functions are looked up by name, once.
        pub(crate) struct Ready {
            pub(crate) pre: InstancePre<State>,
            /// A driver may have it.
            pub(crate) check: Option<agent_check::GuestIndices>,
            $($name: Option<$name::GuestIndices>,)*
        }

        impl Ready {
            /// For components whose signatures were checked.
            pub(crate) fn new(pre: InstancePre<State>, kinds: &[Kind]) -> wasmtime::Result<Ready> {
                Ok(Ready {
                    check: agent_check::GuestIndices::new(&pre).ok(),
                    $($name: if kinds.contains(&Kind::$kind) {
                        Some($name::GuestIndices::new(&pre)?)
                    } else {
                        None
                    },)*
                    pre,
                })
            }
        }

        impl Live {
            $(
                /// The interface by that name. Fails only if the component has none,
                /// and then it was not to be bound as such.
                pub(crate) fn $name(&mut self) -> Result<$name::Guest, PluginError> {
                    match self.plugin.component.compiled.ready().and_then(|ready| ready.$name.as_ref()) {
                        Some(found) => found
                            .load(&mut self.store, &self.instance)
                            .map_err(|error| self.internal(format!("{error:#}"))),
                        None => Err(self.internal(format!("it is no {}", Kind::$kind))),
                    }
                }
            )*
        }
    };
}

guests!(
    Agent => agent,
    AgentDriver => agent_driver,
    Canonicaliser => canonicaliser,
    Gate => gate,
    Judge => judge
);
