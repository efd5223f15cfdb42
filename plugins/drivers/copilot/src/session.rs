//! One call, and its id. The CLI tells that only at the end, so it is given one from the start.

use crate::events::Events;
use ralph_plugin::dialect::JsonSession;
use ralph_plugin::{Ending, Exit, Iteration, Reaction, Session};

/// Reads the events of one call.
pub struct Call(JsonSession<Events>);

impl Session for Call {
    fn start(it: &Iteration) -> Self {
        Call(JsonSession::new(Events::of(id(it))))
    }

    fn feed(&mut self, chunk: &[u8]) -> Reaction {
        self.0.read(chunk)
    }

    fn finish(self, exit: &Exit) -> Ending {
        self.0.end(exit)
    }
}

/// A UUID (version 8) that no other call has: the scratch directory is of this call alone. An id
/// that was used before would take up that session again.
pub fn id(it: &Iteration) -> String {
    let words = [&it.run_id, &it.scratch, &it.workspace, &it.agent];
    let half = |seed: u64| {
        // FNV-1a, which is enough to keep calls apart.
        let bytes = words.iter().flat_map(|w| w.bytes().chain([0]));
        bytes.fold(seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    let (a, b) = (half(0xcbf2_9ce4_8422_2325), half(0x9e37_79b9_7f4a_7c15));
    format!(
        "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0x0fff,
        0x8000 | ((b >> 48) & 0x3fff),
        b & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_plugin::testing::iteration;

    #[test]
    fn each_call_has_a_uuid_of_its_own() {
        let first = id(&iteration());
        assert_eq!(first, id(&iteration()), "the same call, asked again");
        let other = Iteration {
            scratch: "/elsewhere".into(),
            ..iteration()
        };
        assert_ne!(first, id(&other));
        let parts: Vec<usize> = first.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert!(
            first[14..].starts_with('8') && "89ab".contains(&first[19..20]),
            "{first}"
        );
    }
}
