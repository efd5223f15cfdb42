//! WASI 0.2 with nothing in it, and what grants put there.

use std::convert::Infallible;

use rand::TryRng;
use sha2::{Digest, Sha256};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::clock::StandingClock;
use crate::error::{PluginError, Who};
use crate::grants::{GrantedPlace, Grants};
use crate::log::Log;
use crate::preopen::preopen;
use crate::services::{CallContext, Level};
use crate::single::Singles;

/// Bytes one call for randomness may ask for.
const MAX_RANDOM: u64 = 1 << 20;

/// What a guest without any grant has.
pub(crate) fn empty() -> WasiCtx {
    WasiCtxBuilder::new().build()
}

/// What this guest has.
pub(crate) fn context(
    who: &Who,
    grants: &Grants,
    places: &[GrantedPlace],
    ctx: &CallContext,
    log: &Log,
) -> Result<(WasiCtx, Singles), PluginError> {
    let mut builder = WasiCtxBuilder::new();
    builder.stdout(log.stream(Level::Info));
    builder.stderr(log.stream(Level::Warn));
    builder.max_random_size(MAX_RANDOM);
    builder
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    for name in &grants.env {
        if let Ok(value) = std::env::var(name) {
            builder.env(name, value);
        }
    }
    if !grants.clock {
        builder.wall_clock(StandingClock::new(ctx.now));
    }
    if !grants.random {
        let seed = |part: &str| Sequence::new(&[&ctx.seed, &who.name, part]);
        builder.secure_random(seed("random"));
        builder.insecure_random(seed("insecure"));
        builder.insecure_random_seed(u128::from_le_bytes(seed("seed").bytes()));
    }
    let mut singles = Singles::default();
    if !places.is_empty() {
        let io = |path: String, reason| PluginError::Io {
            who: who.clone(),
            path,
            reason,
        };
        let Some(root) = &ctx.root else {
            return Err(io(
                "the project".into(),
                "the call does not say where it is".into(),
            ));
        };
        singles = preopen(&mut builder, root, places)
            .map_err(|(path, reason)| io(path.display().to_string(), reason))?;
    }
    Ok((builder.build(), singles))
}

/// A fixed sequence of bytes: SHA-256 over a key and a counter. Written out here
/// so that it never changes with somebody's generator.
struct Sequence {
    key: [u8; 32],
    counter: u64,
    block: [u8; 32],
    used: usize,
}

impl Sequence {
    fn new(parts: &[&str]) -> Sequence {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Sequence {
            key: hash.finalize().into(),
            counter: 0,
            block: [0; 32],
            used: 32,
        }
    }

    fn fill(&mut self, out: &mut [u8]) {
        for byte in out {
            if self.used == self.block.len() {
                let mut hash = Sha256::new();
                hash.update(self.key);
                hash.update(self.counter.to_le_bytes());
                self.block = hash.finalize().into();
                self.counter += 1;
                self.used = 0;
            }
            *byte = self.block[self.used];
            self.used += 1;
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}

impl TryRng for Sequence {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(self.bytes()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(self.bytes()))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.fill(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_depends_on_the_seed_alone_and_does_not_repeat() {
        let read = |parts: &[&str]| Sequence::new(parts).bytes::<96>();
        assert_eq!(read(&["s", "p"]), read(&["s", "p"]));
        assert_ne!(read(&["s", "p"]), read(&["sp", ""]));
        let bytes = read(&["s", "p"]);
        assert_ne!(bytes[..32], bytes[32..64]);
        // Part of replays: must never change.
        assert_eq!(bytes[..4], [231, 159, 24, 90]);
    }
}
