//! The user's own configuration, outside any project: whose signatures count.

use serde::Deserialize;

use crate::error::ConfigError;

/// `config.toml` in the user's configuration directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct User {
    /// minisign public keys, as in the second line of a `.pub` file.
    pub trusted_keys: Vec<String>,
    /// No plugin of any project is used without a signature by one of them; built-in ones need none.
    pub require_signature: bool,
}

impl User {
    /// Reads it. `name` is for messages.
    ///
    /// # Errors
    /// No TOML, unknown keys, wrong types.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<User, ConfigError> {
        crate::strict(name, bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_typo_is_an_error_with_its_place() {
        assert_eq!(User::parse("c", b"").unwrap(), User::default());
        let user = User::parse("c", b"trusted_keys = [\"k\"]\nrequire_signature = true").unwrap();
        assert!(user.require_signature && user.trusted_keys == ["k"]);
        for bad in [
            "\nrequire_signatures = true",
            "\ntrusted_keys = \"k\"",
            "\n=",
        ] {
            let error = User::parse("c", bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("c:2"), "{error}");
        }
    }
}
