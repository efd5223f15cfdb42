//! What `wasmtime::component::bindgen!` makes of `wit/`.
//!
//! One world with everything in it, for its types and for the traits of what the host
//! provides. A component exports one of its interfaces, and it or the imports may be of
//! another version; so functions are linked by `link.rs` and looked up by `guests.rs`.

#![allow(missing_docs, reason = "generated; the documentation stands in wit/")]

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package ralph:host;
        world everything {
            import ralph:plugin/log@0.2.1;
            import ralph:plugin/config@0.2.1;
            import ralph:plugin/changes@0.2.1;
            import ralph:plugin/process@0.2.1;
            import ralph:plugin/events@0.2.1;
            import ralph:plugin/call@0.2.1;
            import ralph:plugin/state@0.2.1;
            import ralph:plugin/notify@0.2.1;
            export ralph:plugin/agent-driver@0.2.1;
            export ralph:plugin/agent-check@0.2.1;
            export ralph:plugin/agent@0.2.1;
            export ralph:plugin/gate@0.2.1;
            export ralph:plugin/judge@0.2.1;
            export ralph:plugin/canonicaliser@0.2.1;
            export ralph:plugin/tool@0.2.1;
            export ralph:plugin/notifier@0.2.1;
            export ralph:plugin/tracker@0.2.1;
        }
    ",
    world: "ralph:host/everything",
    imports: {
        "ralph:plugin/changes": async | trappable,
        "ralph:plugin/process": async | trappable,
        "ralph:plugin/state": async | trappable,
        "ralph:plugin/notify": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});
