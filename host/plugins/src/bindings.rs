//! What `wasmtime::component::bindgen!` makes of `wit/`.
//!
//! One world with everything in it: a component exports one of its interfaces,
//! and the host looks up only that one (`GuestIndices` of each interface), so the
//! world as a whole is never instantiated.

#![allow(missing_docs, reason = "generated; the documentation stands in wit/")]

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package ralph:host;
        world everything {
            import ralph:plugin/log@0.1.0;
            import ralph:plugin/config@0.1.0;
            import ralph:plugin/changes@0.1.0;
            import ralph:plugin/process@0.1.0;
            import ralph:plugin/events@0.1.0;
            import ralph:plugin/call@0.1.0;
            export ralph:plugin/agent-driver@0.1.0;
            export ralph:plugin/agent-check@0.1.0;
            export ralph:plugin/agent@0.1.0;
            export ralph:plugin/gate@0.1.0;
            export ralph:plugin/judge@0.1.0;
            export ralph:plugin/canonicaliser@0.1.0;
        }
    ",
    world: "ralph:host/everything",
    imports: {
        "ralph:plugin/changes": async | trappable,
        "ralph:plugin/process": async | trappable,
        default: trappable,
    },
    exports: { default: async },
});
