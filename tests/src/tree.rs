//! A directory's whole content, to show that nothing on disk has changed.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

/// Kind, mode and bytes (or link target) by relative path.
pub type Tree = BTreeMap<String, (char, u32, Vec<u8>)>;

/// Reads it.
pub fn tree(root: &Path) -> Tree {
    let mut out = Tree::new();
    walk(root, root, &mut out);
    out
}

fn walk(root: &Path, dir: &Path, out: &mut Tree) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        let meta = std::fs::symlink_metadata(&path).expect("what was just listed");
        let name = path
            .strip_prefix(root)
            .expect("below")
            .display()
            .to_string();
        let kind = meta.file_type();
        let (letter, bytes) = if kind.is_dir() {
            ('d', Vec::new())
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).expect("a link");
            ('l', target.as_os_str().as_encoded_bytes().to_vec())
        } else if kind.is_fifo() {
            ('p', Vec::new())
        } else {
            ('f', std::fs::read(&path).expect("a file"))
        };
        out.insert(name, (letter, meta.permissions().mode(), bytes));
        if kind.is_dir() {
            walk(root, &path, out);
        }
    }
}
