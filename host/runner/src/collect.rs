//! Files of the scratch directory that a driver wants handed to it at the end.

use std::io::Read;

/// A file is read to this size.
const MAX: u64 = 1 << 20;
/// A driver may want this many.
const FILES: usize = 16;

/// Files by plain name only: a driver can't make the host read elsewhere.
pub(crate) fn collect(scratch: &str, names: &[String]) -> Vec<(String, Vec<u8>)> {
    let Ok(dir) = cap_std::fs::Dir::open_ambient_dir(scratch, cap_std::ambient_authority()) else {
        return Vec::new();
    };
    let plain = |n: &&String| !n.contains('/') && !n.is_empty() && *n != "..";
    names
        .iter()
        .filter(plain)
        .take(FILES)
        .filter_map(|name| {
            let mut bytes = Vec::new();
            let file = dir.open(name).ok()?;
            file.metadata()
                .ok()
                .filter(cap_std::fs::Metadata::is_file)?;
            file.take(MAX).read_to_end(&mut bytes).ok()?;
            let bytes = ralph_process::secrets().bytes(&bytes).into_owned();
            Some((name.clone(), bytes))
        })
        .collect()
}
