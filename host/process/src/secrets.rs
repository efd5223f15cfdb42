//! Secrets that this process's environment holds, taken out of whatever leaves it.
//!
//! A secret is the exact value of a variable whose name says so (`…KEY`,
//! `…TOKEN`, `…SECRET`, `…PASSWORD` and the like), and the password in an
//! address (`https://user:password@host`), both from [`SHORTEST`] bytes on. A
//! path is none: it says where a secret is. In the place of each stands
//! `[redacted NAME]`. As it would stand in a JSON string counts as well.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};

/// Shorter values are too likely to stand anywhere.
const SHORTEST: usize = 8;
/// Longer ones are no secrets one could recognise in passing.
const LONGEST: usize = 16 * 1024;
/// No environment has more of them; should one, the rest is left alone.
const MOST: usize = 512;
/// How a part of a name ends that names a secret.
const ENDINGS: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
];

/// What is to be taken out. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Option<Arc<Known>>);

#[derive(Debug)]
struct Known {
    finder: AhoCorasick,
    values: Vec<Vec<u8>>,
    names: Vec<String>,
}

/// Those of this process: what [`also_secret`] was told, and those of the environment as it was when either
/// was first called.
static OWN: RwLock<Option<Own>> = RwLock::new(None);

struct Own {
    variables: Vec<(String, String)>,
    told: Vec<(String, String)>,
    all: Secrets,
}

impl Own {
    fn read() -> Own {
        let all = std::env::vars_os();
        let texts = all.filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
        let variables: Vec<_> = texts.filter(|(n, v)| holds_a_secret(n, v)).collect();
        Own {
            all: Secrets::of(variables.iter().cloned()),
            variables,
            told: Vec::new(),
        }
    }
}

/// Those of this process's own environment, and what [`also_secret`] was told.
pub fn secrets() -> Secrets {
    if let Some(own) = &*OWN.read().unwrap_or_else(PoisonError::into_inner) {
        return own.all.clone();
    }
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    own.get_or_insert_with(Own::read).all.clone()
}

/// A secret that doesn't stand in the environment, or under a name that doesn't say so. `name` is what is
/// written in its place.
pub fn also_secret(name: &str, value: &str) {
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let own = own.get_or_insert_with(Own::read);
    own.told.push((name.to_owned(), value.to_owned()));
    own.all = Secrets::with(own.variables.iter().cloned(), &own.told);
}

impl Secrets {
    /// Those among these variables and their values.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Secrets {
        Secrets::with(variables, &[])
    }

    /// The same, and what is known to be secret by other means.
    fn with(
        variables: impl IntoIterator<Item = (String, String)>,
        told: &[(String, String)],
    ) -> Secrets {
        let mut found: Vec<(Vec<u8>, String)> = Vec::new();
        let mut add = |value: &str, name: &str| {
            let value = value.trim();
            let escaped = serde_json_string(value);
            for form in [value, &escaped] {
                let fits = (SHORTEST..=LONGEST).contains(&form.len());
                if fits && found.len() < MOST && found.iter().all(|(v, _)| v != form.as_bytes()) {
                    found.push((form.as_bytes().to_vec(), name.to_owned()));
                }
            }
        };
        for (name, value) in told {
            add(value, name);
        }
        for (name, value) in variables {
            if names_a_secret(&name) && !value.trim().starts_with('/') {
                add(&value, &name);
            }
            if let Some(password) = password(&value) {
                add(password, &name);
            }
        }
        let (values, names): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        // Of two that begin alike the longer one counts.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values);
        Secrets(match finder {
            Ok(finder) if !values.is_empty() => Some(Arc::new(Known {
                finder,
                values,
                names,
            })),
            _ => None,
        })
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Without them.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Both what is left and what is put in begin and end with a character.
            Cow::Owned(clean) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        }
    }

    /// Without them.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.0 {
            Some(known) if known.finder.is_match(bytes) => {
                let mut clean = Vec::with_capacity(bytes.len());
                known.take_out(bytes, bytes.len(), &mut clean);
                Cow::Owned(clean)
            }
            _ => Cow::Borrowed(bytes),
        }
    }

    /// For bytes that come piece by piece: a secret may be cut between two.
    pub fn stream(&self) -> Stream {
        Stream {
            secrets: self.clone(),
            held: Vec::new(),
        }
    }
}

impl Known {
    /// Copies `bytes` without the secrets that begin before `end`; where it stopped.
    fn take_out(&self, bytes: &[u8], end: usize, clean: &mut Vec<u8>) -> usize {
        let mut at = 0;
        for found in self.finder.find_iter(bytes) {
            if found.start() >= end {
                break;
            }
            clean.extend_from_slice(&bytes[at..found.start()]);
            let name = &self.names[found.pattern().as_usize()];
            clean.extend_from_slice(format!("[redacted {name}]").as_bytes());
            at = found.end();
        }
        if at < end {
            clean.extend_from_slice(&bytes[at..end]);
            at = end;
        }
        at
    }

    /// Where the last bytes begin that may be the beginning of a secret.
    fn may_begin(&self, bytes: &[u8]) -> usize {
        let mut earliest = bytes.len();
        for value in &self.values {
            let from = bytes.len().saturating_sub(value.len() - 1);
            if from >= earliest {
                continue;
            }
            let begins = |at: &usize| bytes[*at] == value[0] && value.starts_with(&bytes[*at..]);
            earliest = (from..earliest).find(begins).unwrap_or(earliest);
        }
        earliest
    }
}

/// Takes secrets out of a stream. Holds back no more than what may be the
/// beginning of one, until what follows tells.
#[derive(Debug, Default)]
pub struct Stream {
    secrets: Secrets,
    held: Vec<u8>,
}

impl Stream {
    /// The next piece; what can be let go, which may be nothing.
    pub fn push(&mut self, piece: Vec<u8>) -> Vec<u8> {
        let Some(known) = &self.secrets.0 else {
            return piece;
        };
        let all = if self.held.is_empty() {
            piece
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(&piece);
            all
        };
        let end = known.may_begin(&all);
        if end == all.len() && !known.finder.is_match(&all) {
            return all;
        }
        let mut clean = Vec::with_capacity(all.len());
        let at = known.take_out(&all, end, &mut clean);
        self.held.extend_from_slice(&all[at..]);
        clean
    }

    /// What was held back, at the end.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.secrets.bytes(&held).into_owned()
    }
}

fn holds_a_secret(name: &str, value: &str) -> bool {
    names_a_secret(name) || password(value).is_some()
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.split(['_', '-', '.'])
        .any(|part| ENDINGS.iter().any(|ending| part.ends_with(ending)))
        && !name.ends_with("PATH")
}

/// The password in an address.
fn password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let (user, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}

/// As it stands between the quotes of a JSON string.
fn serde_json_string(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(variables: &[(&str, &str)]) -> Secrets {
        let owned = |(n, v): &(&str, &str)| (n.to_string(), v.to_string());
        Secrets::of(variables.iter().map(owned))
    }

    #[test]
    fn names_and_lengths_decide_what_is_a_secret() {
        let all = known(&[
            ("ANTHROPIC_API_KEY", "sk-ant-0123"),
            ("apikey", "lower-case-too"),
            ("GH_TOKEN", "short"),
            ("KEYBOARD_LAYOUT", "german-layout"),
            ("MAX_OUTPUT_TOKENS", "1000000000"),
            ("SSH_KEY_FILE", "/home/me/.ssh/id"),
            ("HTTPS_PROXY", "http://me:hunter2hunter2@proxy:8080/x@y"),
        ]);
        let text = "sk-ant-0123 lower-case-too short german-layout 1000000000 /home/me/.ssh/id me:hunter2hunter2@proxy";
        assert_eq!(
            all.text(text),
            "[redacted ANTHROPIC_API_KEY] [redacted apikey] short german-layout 1000000000 /home/me/.ssh/id me:[redacted HTTPS_PROXY]@proxy"
        );
        assert_eq!(known(&[]).text(text), text);
    }

    #[test]
    fn a_secret_with_quotes_is_found_in_json_too() {
        let all = known(&[("A_SECRET", "with \"quotes\"\nand lines")]);
        let json = r#"{"a":"with \"quotes\"\nand lines"}"#;
        assert_eq!(all.text(json), r#"{"a":"[redacted A_SECRET]"}"#);
    }

    #[test]
    fn wherever_a_stream_is_cut_it_comes_out_the_same_and_nothing_is_lost() {
        let all = known(&[
            ("A_KEY", "abcabcabd"),
            ("B_KEY", "abcabcabdefgh"),
            ("C_KEY", "dabcabca"),
        ]);
        let text: &[u8] = b"abcabcabcabd abcabcabdefgh abcabcabdefg dabcabcabd ab abcabcab";
        let whole = all.bytes(text).into_owned();
        assert!(!whole.windows(9).any(|w| w == b"abcabcabd"));
        for size in 1..text.len() {
            let mut stream = all.stream();
            let mut out = Vec::new();
            for piece in text.chunks(size) {
                out.extend(stream.push(piece.to_vec()));
            }
            out.extend(stream.finish());
            assert_eq!(
                String::from_utf8_lossy(&out),
                String::from_utf8_lossy(&whole),
                "pieces of {size}"
            );
        }
    }

    #[test]
    fn only_what_may_be_a_beginning_is_held_back() {
        let mut stream = known(&[("A_KEY", "secret-value")]).stream();
        assert_eq!(stream.push(b"{\"json\": 1}\n".to_vec()), b"{\"json\": 1}\n");
        assert_eq!(stream.push(b"x secr".to_vec()), b"x ");
        assert_eq!(stream.push(b"et wait\n".to_vec()), b"secret wait\n");
        assert_eq!(stream.push(b"secret-value".to_vec()), b"[redacted A_KEY]");
        assert_eq!(stream.finish(), b"");
    }
}
