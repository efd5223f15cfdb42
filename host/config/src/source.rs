//! Texts with names, and lines and columns in them.

use crate::error::ConfigError;

/// No configuration is longer; more is a mistake or an attack.
const SIZE_MAX: usize = 1 << 20;

/// One configuration text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Shown in errors, e.g. `ralph.toml`.
    pub name: String,
    /// What it says; a byte order mark at its start is tolerated.
    pub text: String,
}

impl Source {
    /// A file's bytes as a source.
    ///
    /// # Errors
    /// UTF-16 and other encodings; only UTF-8 is read.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Source, ConfigError> {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || utf16(bytes) {
            return Err(at(name, "", 0, "the file is UTF-16; save it as UTF-8"));
        }
        match String::from_utf8(bytes.to_vec()) {
            Ok(text) => Ok(Source {
                name: name.to_owned(),
                text,
            }),
            Err(e) => {
                let good = e.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(&bytes[..good]);
                Err(at(
                    name,
                    &text,
                    good,
                    "not valid UTF-8; save the file as UTF-8",
                ))
            }
        }
    }

    /// The TOML, without its byte order mark.
    pub(crate) fn toml(&self) -> &str {
        self.text.strip_prefix('\u{feff}').unwrap_or(&self.text)
    }

    /// Line and column of an offset in [`Source::toml`], both from 1.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        position(self.toml(), offset)
    }

    /// Refuses what the TOML parser should not be given.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let text = self.toml();
        if text.len() > SIZE_MAX {
            return Err(ConfigError::new(
                &self.name,
                format!("longer than {} KiB", SIZE_MAX >> 10),
            ));
        }
        if let Some(nul) = text.find('\0') {
            let what = if utf16(text.as_bytes()) {
                "the file is UTF-16; save it as UTF-8"
            } else {
                "a NUL character; the file is damaged or no text"
            };
            return Err(at(&self.name, text, nul, what));
        }
        Ok(())
    }
}

/// Every second byte NUL, as in UTF-16 of western languages.
fn utf16(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1024)];
    head.len() >= 2 && head.iter().filter(|&&b| b == 0).count() * 3 >= head.len()
}

fn at(name: &str, text: &str, offset: usize, message: &str) -> ConfigError {
    ConfigError::new(name, message).at(position(text, offset))
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    (line, before[start..].chars().count() + 1)
}
