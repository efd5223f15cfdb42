//! What a plugin says of itself, before anything of it runs.

/// Writes the plugin's manifest into the component: name, version and license of the
/// package, the kinds of plugin it is, and what it asks for. The host grants what is
/// asked for here *and* allowed in `ralph.toml`, and `ralph plugin inspect` shows it.
/// Both parts are JSON.
///
/// ```
/// ralph_plugin::manifest! {
///     kinds: ["gate"],
///     capabilities: { "changes": true, "process": ["cargo"], "read": ["."] }
/// }
/// ```
///
/// Capabilities: `changes`, `clock` and `random` (true or false), `process` (programs; `*`
/// is any), `read` and `write` (directories below the project's root; `.` is all of it),
/// `env` (names of variables), `http` (hosts). One manifest per component: a library has none. A plugin
/// without any gets what `ralph.toml` allows.
#[macro_export]
macro_rules! manifest {
    (kinds: $kinds:tt $(,)?) => {
        $crate::manifest!(kinds: $kinds, capabilities: {});
    };
    (kinds: $kinds:tt, capabilities: $capabilities:tt $(,)?) => {
        const _: () = {
            const TEXT: &str = concat!(
                "{\"name\":\"",
                env!("CARGO_PKG_NAME"),
                "\",\"version\":\"",
                env!("CARGO_PKG_VERSION"),
                "\",\"license\":\"",
                env!("CARGO_PKG_LICENSE"),
                // The version of wit/ that this crate has.
                "\",\"contract\":\"^0.2.1\",\"kinds\":",
                stringify!($kinds),
                ",\"capabilities\":",
                stringify!($capabilities),
                "}"
            );
            #[cfg(target_family = "wasm")]
            #[used]
            #[unsafe(link_section = "ralph-plugin")]
            static SECTION: [u8; TEXT.len()] = {
                let mut bytes = [0; TEXT.len()];
                let mut at = 0;
                while at < bytes.len() {
                    bytes[at] = TEXT.as_bytes()[at];
                    at += 1;
                }
                bytes
            };
            // No component in sight: as good a place as any to see that it is short enough.
            #[cfg(not(target_family = "wasm"))]
            const _: () = assert!(TEXT.len() <= 64 << 10, "a manifest has 64 KiB at most");
        };
    };
}
