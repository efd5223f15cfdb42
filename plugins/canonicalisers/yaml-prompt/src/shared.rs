//! Anchors and aliases. An alias is a copy of what its anchor holds, so a few
//! lines can grow to gigabytes; what anchors hold and aliases copy is therefore
//! counted together and capped.

use std::collections::BTreeMap;

use canonical_json::Value;

/// Nodes that all anchors and all aliases of a document may hold together.
pub const MAX_SHARED_NODES: usize = 10_000;

/// Bytes of text that all anchors and all aliases of a document may hold together.
pub const MAX_SHARED_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

/// What the document's anchors hold so far.
#[derive(Debug, Default)]
pub struct Shared {
    anchors: BTreeMap<usize, (Value, Extent)>,
    nodes: usize,
    bytes: usize,
}

impl Shared {
    /// Remembers `value` under the parser's number for its anchor; 0 stands for none.
    ///
    /// # Errors
    /// The cap is reached.
    pub fn anchor(&mut self, id: usize, value: &Value) -> Result<(), String> {
        if id == 0 {
            return Ok(());
        }
        let extent = measure(value);
        self.charge(extent)?;
        self.anchors.insert(id, (value.clone(), extent));
        Ok(())
    }

    /// A copy of what the anchor holds, and how deep it is nested.
    ///
    /// # Errors
    /// The cap is reached, or the anchor isn't complete yet.
    pub fn alias(&mut self, id: usize) -> Result<(Value, usize), String> {
        let Some(extent) = self.anchors.get(&id).map(|(_, extent)| *extent) else {
            return Err("an alias stands inside the very node that its anchor names".into());
        };
        self.charge(extent)?;
        match self.anchors.get(&id) {
            Some((value, _)) => Ok((value.clone(), extent.depth)),
            None => Err("an alias names no anchor".into()),
        }
    }

    fn charge(&mut self, extent: Extent) -> Result<(), String> {
        self.nodes = self.nodes.saturating_add(extent.nodes);
        self.bytes = self.bytes.saturating_add(extent.bytes);
        if self.nodes > MAX_SHARED_NODES || self.bytes > MAX_SHARED_BYTES {
            return Err(format!(
                "anchors and aliases hold more than {MAX_SHARED_NODES} nodes or {MAX_SHARED_BYTES} bytes together; write the content out"
            ));
        }
        Ok(())
    }
}

fn measure(value: &Value) -> Extent {
    let mut all = Extent {
        nodes: 1,
        bytes: 0,
        depth: 0,
    };
    let mut add = |inner: Extent| {
        all.nodes += inner.nodes;
        all.bytes += inner.bytes;
        all.depth = all.depth.max(inner.depth);
    };
    match value {
        Value::String(s) => {
            return Extent {
                nodes: 1,
                bytes: s.len(),
                depth: 0,
            };
        }
        Value::Array(items) => items.iter().for_each(|v| add(measure(v))),
        Value::Object(entries) => entries.iter().for_each(|(k, v)| {
            add(Extent {
                nodes: 1,
                bytes: k.len(),
                depth: 0,
            });
            add(measure(v));
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => return all,
    }
    all.depth += 1;
    all
}
