//! Bytes to text. Only UTF-8, with or without a byte order mark.

use super::error::Fault;

pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The text without its byte order mark, and the offset at which it begins.
pub(super) fn utf8(bytes: &[u8]) -> Result<(&str, usize), Fault> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Fault::new(0, "the file is UTF-16; save it as UTF-8"));
    }
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    if let Some(nul) = bytes.iter().position(|&b| b == 0) {
        // Text of western languages in UTF-16 has a NUL in every second byte.
        let nuls = bytes.iter().take(1024).filter(|&&b| b == 0).count();
        let what = if nuls * 3 >= bytes.len().min(1024) {
            "the file is UTF-16; save it as UTF-8"
        } else {
            "a NUL byte; the file is damaged or no text"
        };
        return Err(Fault::new(nul, what));
    }
    match std::str::from_utf8(&bytes[start..]) {
        Ok(text) => Ok((text, start)),
        Err(e) => Err(Fault::new(
            start + e.valid_up_to(),
            "not valid UTF-8; save the file as UTF-8",
        )),
    }
}
