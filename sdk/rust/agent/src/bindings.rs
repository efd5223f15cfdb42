//! What `wit-bindgen` makes of the world `agent-plugin`.

#![allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::expect_used)]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "agent-plugin",
    with: {
        "ralph:plugin/types@0.1.0": ralph_plugin::__private::imports::ralph::plugin::types,
        "ralph:plugin/log@0.1.0": ralph_plugin::__private::imports::ralph::plugin::log,
        "ralph:plugin/config@0.1.0": ralph_plugin::__private::imports::ralph::plugin::config,
    },
    additional_derives: [PartialEq],
    generate_all,
    generate_unused_types: true,
    pub_export_macro: true,
    export_macro_name: "export",
    default_bindings_module: "ralph_plugin_agent::__private",
});
