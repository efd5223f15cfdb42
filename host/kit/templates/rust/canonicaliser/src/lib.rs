//! Brings a text into one form: lines end with LF and without blanks.

use ralph_plugin::{Canonicaliser, Error};

struct Plugin;

impl Canonicaliser for Plugin {
    const ALGORITHM: &'static str = "@NAME@-1";

    fn canonicalise(path: &str, content: &[u8]) -> Result<Vec<u8>, Error> {
        let text = std::str::from_utf8(content)
            .map_err(|e| Error::failed(format!("{path} isn't UTF-8: {e}")))?;
        let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
        Ok(lines.collect::<String>().into_bytes())
    }
}

ralph_plugin::canonicaliser!(Plugin);
ralph_plugin::manifest!(kinds: ["canonicaliser"]);
