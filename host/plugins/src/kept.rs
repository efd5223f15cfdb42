//! One file of the cache: the code, then what the component is ([`Facts`]), then a
//! tail with the hashes of both. The code comes first because it is mapped, not read.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::cache::Key;
use crate::facts::Facts;

/// Last bytes of a file; changes with the format.
const MAGIC: &[u8; 8] = b"RALPHCW2";

/// Length of the facts, key, the code's hash, hash over all that is not code, magic.
const TAIL: usize = 4 + 32 + 32 + 32 + MAGIC.len();

/// Read at once from a file's end; the facts of most components are in it.
const END: usize = 4 << 10;

/// No component has more to say of itself.
pub(crate) const MAX_FACTS: usize = 4 << 20;

/// The code is hashed in pieces of this size.
const PIECE: usize = 64 << 10;

/// The part of a file that isn't code, if it is sound.
pub(crate) struct End {
    pub(crate) facts: Facts,
    pub(crate) code: [u8; 32],
    pub(crate) code_len: u64,
}

pub(crate) fn damaged() -> io::Error {
    io::Error::other("damaged or of something else; it is compiled anew")
}

/// What comes after the facts.
pub(crate) fn tail(key: &Key, facts: &[u8], code: &[u8; 32]) -> Vec<u8> {
    let mut tail = u32::try_from(facts.len())
        .unwrap_or(u32::MAX)
        .to_le_bytes()
        .to_vec();
    tail.extend_from_slice(key);
    tail.extend_from_slice(code);
    let sum = Sha256::new()
        .chain_update(&tail)
        .chain_update(facts)
        .finalize();
    tail.extend_from_slice(&sum);
    tail.extend_from_slice(MAGIC);
    tail
}

/// Reads a file's end, if it is whole and of what was asked for.
pub(crate) fn end(file: &File, key: &Key) -> io::Result<End> {
    let len = file.metadata()?.len();
    let read = |wanted: usize| {
        let size = len.min(wanted as u64);
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        file.read_exact_at(&mut bytes, len - size)?;
        Ok::<_, io::Error>(bytes)
    };
    let mut bytes = read(END)?;
    let facts_len = bytes
        .last_chunk::<TAIL>()
        .and_then(|tail| tail.first_chunk())
        .map(|len| u32::from_le_bytes(*len) as usize)
        .filter(|len| *len <= MAX_FACTS)
        .ok_or_else(damaged)?;
    if facts_len + TAIL > END {
        bytes = read(facts_len + TAIL)?;
    }
    let whole = || {
        let (rest, tail_bytes) = bytes.split_last_chunk::<TAIL>()?;
        let facts = rest.get(rest.len().checked_sub(facts_len)?..)?;
        let code: [u8; 32] = *tail_bytes.get(4 + 32..)?.first_chunk()?;
        let same = tail(key, facts, &code) == tail_bytes;
        same.then_some(())?;
        Some(End {
            facts: Facts::from_bytes(facts)?,
            code,
            code_len: len.checked_sub((facts_len + TAIL) as u64)?,
        })
    };
    whole().ok_or_else(damaged)
}

/// Of the first so many bytes of a file.
pub(crate) fn hash_of(file: &File, len: u64) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < len {
        let size = usize::try_from(len - at).unwrap_or(PIECE).min(PIECE);
        let part = piece.get_mut(..size).unwrap_or_default();
        file.read_exact_at(part, at)?;
        hash.update(&part);
        at += size as u64;
    }
    Ok(hash.finalize().into())
}

/// Maps the code of a file that was found sound. Where that can't be (no `/proc`, a
/// disk from which nothing may be executed), it is copied.
pub(crate) fn load(engine: &Engine, file: &File, end: &End) -> io::Result<Component> {
    match map(engine, file) {
        Ok(component) => Ok(component),
        Err(error) => {
            tracing::debug!("a compiled plugin cannot be mapped: {error:#}");
            let mut code = Vec::new();
            let mut from = file;
            Read::by_ref(&mut from)
                .take(end.code_len)
                .read_to_end(&mut code)?;
            if <[u8; 32]>::from(Sha256::digest(&code)) != end.code {
                return Err(damaged());
            }
            copy(engine, &code).map_err(|error| io::Error::other(format!("{error:#}")))
        }
    }
}

#[allow(unsafe_code, reason = "the only way to use compiled code")]
fn map(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    // The same file that was checked, whatever has that name by now.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the file has to begin with what `Component::serialize` gave, and must
    // not change while it is mapped. The caller found the hash that `Cache::store` wrote
    // for just these bytes; what stands behind them isn't part of the image. Directory
    // and file belong to this user and are writable to nobody else. Every ralph writes
    // a file before it gets its name, replaces it by renaming and takes it away by
    // unlinking, so that a file once opened stays as it is. Somebody who writes into it
    // in spite of that is this user, who needs no trick to run code. That the engine
    // fits is part of the key, and checked by wasmtime again.
    unsafe { Component::deserialize_file(engine, path) }
}

#[allow(unsafe_code, reason = "the only way to use compiled code")]
fn copy(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: as in `map`, and these bytes were hashed after they were read, so that
    // nobody can have changed them since.
    unsafe { Component::deserialize(engine, code) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::io::Write;

    use super::*;

    #[test]
    fn files_larger_than_what_is_read_at_once_are_whole() {
        let (key, code) = ([3; 32], vec![7; 2 * PIECE + 5]);
        let many = Facts {
            imports: (0..1000).map(|n| format!("import {n}")).collect(),
            kinds: vec![crate::kind::Kind::Gate],
            exports: Vec::new(),
            slots: 1,
        };
        let sum = Sha256::digest(&code).into();
        let facts = many.to_bytes();
        assert!(facts.len() > END);
        let mut file = tempfile::tempfile().unwrap();
        for part in [&code, &facts, &tail(&key, &facts, &sum)] {
            file.write_all(part).unwrap();
        }
        let end = end(&file, &key).unwrap();
        assert_eq!((end.facts, end.code_len), (many, code.len() as u64));
        assert_eq!(hash_of(&file, end.code_len).unwrap(), sum);
        assert_eq!(end.code, sum);
    }
}
