//! What the binary brings along for authors, unpacked when it is first needed.

use std::sync::OnceLock;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kit.deflate"));

/// The version of the contract that projects get.
pub(crate) const CONTRACT: &str = env!("RALPH_KIT_CONTRACT");

/// All files below a folder, as path behind it and content.
pub(crate) fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let prefix = format!("{folder}/");
    files()
        .into_iter()
        .filter_map(move |(path, content)| Some((path.strip_prefix(&prefix)?, content)))
}

/// Makes WASI 0.2 of what a core module imports of WASI 0.1.
pub(crate) fn adapter() -> &'static [u8] {
    let found = files()
        .into_iter()
        .find(|(path, _)| *path == "adapter.wasm");
    found.map_or(&[], |(_, content)| content)
}

fn files() -> Vec<(&'static str, &'static [u8])> {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    let size = env!("RALPH_KIT_SIZE").parse().unwrap_or(1 << 24);
    let whole = WHOLE.get_or_init(|| {
        miniz_oxide::inflate::decompress_to_vec_with_limit(PACKED, size).unwrap_or_default()
    });
    let mut rest = whole.as_slice();
    let mut found = Vec::new();
    while let (Some(path), Some(content)) = (part(&mut rest), part(&mut rest)) {
        if let Ok(path) = std::str::from_utf8(path) {
            found.push((path, content));
        }
    }
    found
}

fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (part, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_written_into_projects_is_there() {
        let has = |folder: &str, path: &str| below(folder).any(|(p, c)| p == path && !c.is_empty());
        assert!(has("wit", "gate.wit"));
        assert!(has("sdk/rust", "src/lib.rs"));
        assert!(has("sdk/rust", "Cargo.toml"));
        assert!(!has("sdk/rust", "Cargo.lock"));
        assert!(adapter().starts_with(b"\0asm"));
        assert_eq!(below("sdk/ru").count(), 0);
    }
}
