//! What a component is, as far as that can be told without running it. Kept in the
//! cache beside its code, so that a start has to load no code to know it.

use crate::kind::Kind;

/// What is the same for every component of the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
    /// How many calls' share of the pool one instance takes.
    pub(crate) slots: u32,
}

impl Facts {
    /// Each list as its length and its strings, each string as its length and bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.slots.to_le_bytes().to_vec();
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.as_str()).collect();
        put(&mut out, &kinds);
        put(&mut out, &self.imports);
        put(&mut out, &self.exports);
        out
    }

    /// `None` if the bytes are not just that.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Facts> {
        let mut rest = bytes;
        let slots = number(&mut rest)?;
        let kinds = take(&mut rest)?;
        let kinds: Option<Vec<Kind>> = kinds.iter().map(|k| Kind::from_interface(k)).collect();
        let facts = Facts {
            kinds: kinds?,
            imports: take(&mut rest)?,
            exports: take(&mut rest)?,
            slots,
        };
        (rest.is_empty() && !facts.kinds.is_empty() && slots > 0).then_some(facts)
    }
}

fn put(out: &mut Vec<u8>, list: &[impl AsRef<str>]) {
    // No component of an allowed size has names that long, or that many.
    let length = |out: &mut Vec<u8>, length: usize| {
        out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    };
    length(out, list.len());
    for text in list {
        length(out, text.as_ref().len());
        out.extend_from_slice(text.as_ref().as_bytes());
    }
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_le_bytes(*number))
}

fn take(rest: &mut &[u8]) -> Option<Vec<String>> {
    let mut list = Vec::new();
    for _ in 0..number(rest)? {
        let length = usize::try_from(number(rest)?).ok()?;
        let (text, after) = rest.split_at_checked(length)?;
        *rest = after;
        list.push(std::str::from_utf8(text).ok()?.to_owned());
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_was_written_is_read_back_and_nothing_else_is() {
        let facts = Facts {
            kinds: vec![Kind::Gate, Kind::AgentDriver],
            imports: vec!["ralph:plugin/log@0.1.0".into(), "line\nbreak".into()],
            exports: vec![String::new()],
            slots: 3,
        };
        let bytes = facts.to_bytes();
        assert_eq!(Facts::from_bytes(&bytes).unwrap(), facts);
        for end in 0..bytes.len() {
            assert_eq!(Facts::from_bytes(&bytes[..end]), None, "cut at {end}");
        }
        let mut more = bytes.clone();
        more.push(0);
        assert_eq!(Facts::from_bytes(&more), None);
    }
}
