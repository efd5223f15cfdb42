//! What `wit-bindgen` makes of `wit/`: one module for what a plugin imports, and
//! one per world for what it exports. All of them share one set of types. Nothing
//! here is for plugin authors.
//!
//! A component made with this crate still imports only what it uses: the linker
//! drops the import functions that nobody calls, and with them their interfaces.

#![allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::expect_used)]

/// What plugins of all worlds import.
pub mod imports {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package ralph:sdk;
            world imports {
                import ralph:plugin/types@0.2.1;
                import ralph:plugin/log@0.2.1;
                import ralph:plugin/config@0.2.1;
                import ralph:plugin/changes@0.2.1;
                import ralph:plugin/process@0.2.1;
                import ralph:plugin/events@0.2.1;
                import ralph:plugin/call@0.2.1;
                import ralph:plugin/state@0.2.1;
                import ralph:plugin/notify@0.2.1;
            }
        ",
        world: "ralph:sdk/imports",
        additional_derives: [PartialEq],
        generate_all,
        generate_unused_types: true,
    });
}

/// World `gate-plugin`.
pub mod gate {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "gate-plugin",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
            "ralph:plugin/changes@0.2.1": crate::bindings::imports::ralph::plugin::changes,
            "ralph:plugin/process@0.2.1": crate::bindings::imports::ralph::plugin::process,
            "ralph:plugin/state@0.2.1": crate::bindings::imports::ralph::plugin::state,
            "ralph:plugin/notify@0.2.1": crate::bindings::imports::ralph::plugin::notify,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::gate",
    });
}

/// World `agent-driver-plugin`.
pub mod agent_driver {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "agent-driver-plugin",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
            "ralph:plugin/call@0.2.1": crate::bindings::imports::ralph::plugin::call,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::agent_driver",
    });
}

/// What world `checked-agent-driver-plugin` has beyond `agent-driver-plugin`.
pub mod agent_check {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package ralph:sdk-check;
            world check {
                import ralph:plugin/log@0.2.1;
                import ralph:plugin/config@0.2.1;
                export ralph:plugin/agent-check@0.2.1;
            }
        ",
        world: "ralph:sdk-check/check",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::agent_check",
    });
}

/// World `agent-plugin`.
pub mod agent {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "agent-plugin",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
            "ralph:plugin/events@0.2.1": crate::bindings::imports::ralph::plugin::events,
            "ralph:plugin/state@0.2.1": crate::bindings::imports::ralph::plugin::state,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::agent",
    });
}

/// World `judge-plugin`.
pub mod judge {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "judge-plugin",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::judge",
    });
}

/// World `canonicaliser-plugin`.
pub mod canonicaliser {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "canonicaliser-plugin",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::canonicaliser",
    });
}

/// World `tool-plugin`.
pub mod tool {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "tool-plugin",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
            "ralph:plugin/process@0.2.1": crate::bindings::imports::ralph::plugin::process,
            "ralph:plugin/state@0.2.1": crate::bindings::imports::ralph::plugin::state,
            "ralph:plugin/notify@0.2.1": crate::bindings::imports::ralph::plugin::notify,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::tool",
    });
}

/// World `notifier-plugin`.
pub mod notifier {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "notifier-plugin",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
            "ralph:plugin/process@0.2.1": crate::bindings::imports::ralph::plugin::process,
            "ralph:plugin/state@0.2.1": crate::bindings::imports::ralph::plugin::state,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::notifier",
    });
}

/// World `tracker-plugin`.
pub mod tracker {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "tracker-plugin",
        with: {
            "ralph:plugin/types@0.2.1": crate::bindings::imports::ralph::plugin::types,
            "ralph:plugin/log@0.2.1": crate::bindings::imports::ralph::plugin::log,
            "ralph:plugin/config@0.2.1": crate::bindings::imports::ralph::plugin::config,
            "ralph:plugin/process@0.2.1": crate::bindings::imports::ralph::plugin::process,
            "ralph:plugin/state@0.2.1": crate::bindings::imports::ralph::plugin::state,
            "ralph:plugin/notify@0.2.1": crate::bindings::imports::ralph::plugin::notify,
        },
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "ralph_plugin::__private::tracker",
    });
}
