//! The bearer token: where it comes from, and that it is shown nowhere.

use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Error;

/// A file that is longer holds no token.
const FILE_MAX: u64 = 64 * 1024;

type Ask = dyn Fn() -> Result<String, String> + Send + Sync;

/// A bearer token, or where to get it. Its `Debug` doesn't have it.
#[derive(Clone)]
pub struct Token(Source);

#[derive(Clone)]
enum Source {
    Value(Arc<str>),
    File(PathBuf),
    Ask(Arc<Ask>),
}

impl Token {
    /// This one.
    pub fn value(token: impl Into<String>) -> Token {
        Token(Source::Value(token.into().into()))
    }

    /// What the file has, without white space around it. It is read before each request, so it can
    /// be exchanged meanwhile.
    pub fn file(path: impl Into<PathBuf>) -> Token {
        Token(Source::File(path.into()))
    }

    /// What the variable of the environment has now.
    ///
    /// # Errors
    /// It isn't set.
    pub fn env(name: &str) -> Result<Token, Error> {
        match std::env::var(name) {
            Ok(token) if !token.trim().is_empty() => Ok(Token::value(token)),
            _ => Err(Error::Token(format!("the variable {name} isn't set"))),
        }
    }

    /// What this says; it is asked before each request, for tokens that don't last.
    pub fn from_fn(ask: impl Fn() -> Result<String, String> + Send + Sync + 'static) -> Token {
        Token(Source::Ask(Arc::new(ask)))
    }

    /// The token, fit for a header.
    pub(crate) fn get(&self) -> Result<String, Error> {
        let (whose, text) = match &self.0 {
            Source::Value(token) => ("the token".to_owned(), token.to_string()),
            Source::File(path) => {
                let shown = path.display().to_string();
                let mut text = String::new();
                let read = std::fs::File::open(path)
                    .and_then(|file| file.take(FILE_MAX).read_to_string(&mut text));
                read.map_err(|e| Error::Token(format!("{shown}: {e}")))?;
                (format!("the token in {shown}"), text)
            }
            Source::Ask(ask) => ("the token".to_owned(), ask().map_err(Error::Token)?),
        };
        let token = text.trim();
        if token.is_empty() {
            return Err(Error::Token(format!("{whose} is empty")));
        }
        if !token.bytes().all(|b| b.is_ascii_graphic()) {
            let why = "has characters that no token has";
            return Err(Error::Token(format!("{whose} {why}")));
        }
        Ok(token.to_owned())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Value(_) => f.write_str("Token(…)"),
            Source::File(path) => write!(f, "Token(file {path:?})"),
            Source::Ask(_) => f.write_str("Token(asked for)"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_trimmed_and_has_to_be_one() {
        assert_eq!(Token::value(" t0k\n").get().unwrap(), "t0k");
        for bad in ["", " \n", "two words", "ümlaut", "a\nb"] {
            let said = Token::value(bad).get().unwrap_err().to_string();
            assert!(said.starts_with("the token "), "{said}");
            assert!(
                bad.trim().is_empty() || !said.contains(bad.trim()),
                "{said}"
            );
        }
        let gone = Token::file("/nowhere/token").get().unwrap_err();
        assert!(gone.to_string().contains("/nowhere/token"), "{gone}");
        let asked = Token::from_fn(|| Err("the vault is sealed".into()));
        assert_eq!(asked.get().unwrap_err().to_string(), "the vault is sealed");
    }

    #[test]
    fn a_token_is_in_no_debug_output() {
        let token = Token::value("s3cret");
        assert!(!format!("{token:?} {token:#?}").contains("s3cret"));
    }
}
