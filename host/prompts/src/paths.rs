//! Which paths may be named. Nothing is put right that isn't written plainly.

use ralph_engine::text::is_hidden;
use ralph_workspace::{is_own_record, is_temporary};

use crate::error::PromptError;
use crate::stored::SIDECAR;

/// Where a workspace has its prompts.
pub const PROMPTS: &str = "prompts";
/// Directories below `prompts/` are this deep at most.
pub(crate) const DEPTH_MAX: usize = 16;
/// A path below `prompts/` has no more bytes.
const PATH_MAX: usize = 512;
/// A name in it has no more, so that its sidecar's is one, too.
const NAME_MAX: usize = 255 - SIDECAR.len();
/// What a directory that lies deeper is listed as: nothing in it is looked at.
pub(crate) const TOO_DEEP: &str = "*";

const DEEP: &str = "it lies deeper than 16 directories below prompts/";

fn refused<T>(path: &str, why: &'static str) -> Result<T, PromptError> {
    Err(PromptError::Path {
        path: path.to_owned(),
        why,
    })
}

/// A path below `prompts/`, made relative to the root.
///
/// # Errors
/// [`PromptError::Path`] with the rule that it breaks.
pub fn below_prompts(path: &str) -> Result<String, PromptError> {
    let refused = |why| refused(path, why);
    if path.is_empty() || path.len() > PATH_MAX {
        return refused("a prompt's path has 1 to 512 bytes");
    }
    if path.chars().any(|c| is_hidden(c) || c == '\\' || c == '%') {
        return refused(
            "a prompt's path has no backslash, percent sign, control or invisible character",
        );
    }
    if path.starts_with('/') {
        return refused("it is absolute");
    }
    for part in path.split('/') {
        match part {
            "" => return refused("a part of it is empty"),
            ".." | "." => return refused("it has `.` or `..` in it"),
            part if part.starts_with('.') => return refused("a part of it begins with a dot"),
            part if part.ends_with(SIDECAR) => return refused("sidecars are written along"),
            part if part.trim() != part => return refused("a part of it has white space around"),
            part if part.len() > NAME_MAX => return refused("a part of it has over 252 bytes"),
            _ => {}
        }
    }
    if path.split('/').count() > DEPTH_MAX + 1 {
        return refused(DEEP);
    }
    Ok(format!("{PROMPTS}/{path}"))
}

/// A path that may be fingerprinted, relative to the root.
pub(crate) fn file(path: &str) -> Result<String, PromptError> {
    let refused = |why| refused(path, why);
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".git" {
            return refused("what git keeps has no fingerprint");
        }
        parts.push(part);
    }
    if path.starts_with('/') || parts.contains(&"..") {
        return refused("only relative paths below the root are allowed");
    }
    let normal = parts.join("/");
    if normal.is_empty() {
        return refused("it names no file");
    }
    if normal.ends_with(SIDECAR) {
        return refused("it is a sidecar; name the file it belongs to");
    }
    if is_own_record(&normal) || is_temporary(parts.last().copied().unwrap_or_default()) {
        return refused("it is ralph's own record");
    }
    if parts.first() == Some(&PROMPTS) && parts.len() > DEPTH_MAX + 2 {
        return refused(DEEP);
    }
    Ok(normal)
}
