//! Blocks of a document whose lines mean nothing: code fences, HTML comments, verbatim HTML.

/// Such a block, while it is open.
pub(super) struct Raw {
    kind: Kind,
    /// Column of the list item that holds it; 0 outside lists.
    pub container: usize,
    /// Where it was opened.
    pub line: u32,
}

enum Kind {
    Fence { mark: u8, length: usize },
    Html { ends: &'static [&'static str] },
}

const TAGS: [&str; 4] = ["<pre", "<script", "<style", "<textarea"];
const TAG_ENDS: &[&str] = &["</pre>", "</script>", "</style>", "</textarea>"];

impl Raw {
    /// The block that a line opens. `text` begins with no blank.
    pub fn start(text: &str, container: usize, line: u32) -> Option<Raw> {
        let byte = text.bytes().next()?;
        let kind = if byte == b'`' || byte == b'~' {
            let length = text.bytes().take_while(|&b| b == byte).count();
            // A backtick behind the fence makes it inline code.
            if length < 3 || (byte == b'`' && text[length..].contains('`')) {
                return None;
            }
            Kind::Fence { mark: byte, length }
        } else if text.starts_with("<!--") {
            Kind::Html { ends: &["-->"] }
        } else {
            let lower = text.get(..10).unwrap_or(text).to_ascii_lowercase();
            let rest = TAGS.iter().find_map(|tag| lower.strip_prefix(tag))?;
            if !rest.is_empty() && !rest.starts_with(['>', ' ', '\t']) {
                return None;
            }
            Kind::Html { ends: TAG_ENDS }
        };
        Some(Raw {
            kind,
            container,
            line,
        })
    }

    pub fn is_fence(&self) -> bool {
        matches!(self.kind, Kind::Fence { .. })
    }

    /// Is this its last line?
    pub fn ends(&self, column: usize, text: &str) -> bool {
        match &self.kind {
            Kind::Fence { mark, length } => {
                let run = text.bytes().take_while(|b| b == mark).count();
                run >= *length && text[run..].trim().is_empty() && column < self.container + 4
            }
            Kind::Html { ends } => {
                let lower = text.to_ascii_lowercase();
                ends.iter().any(|end| lower.contains(end))
            }
        }
    }

    pub fn name(&self) -> &'static str {
        if self.is_fence() {
            "code fence"
        } else {
            "HTML block"
        }
    }
}
