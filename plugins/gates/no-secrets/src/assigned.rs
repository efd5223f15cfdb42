//! `password = "…"` and its like: a name that speaks of a secret, and a literal
//! that looks drawn at random.

use crate::entropy;
use crate::tokens::Found;

/// So far left of the sign the name may begin.
const MAX_NAME: usize = 80;

/// What a name must contain, in lower case and without `_`, `-` and blanks.
const NAMES: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "authkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "credential",
    "pwd",
];

/// Calls `f` for every secret that is assigned in `line`. `bare`: the file is of a
/// kind where values stand without quotes, so the rest of the line is a value, too.
pub fn find<'a>(line: &'a str, bare: bool, f: &mut impl FnMut(Found<'a>)) {
    let bytes = line.as_bytes();
    let mut from = 0;
    while let Some(step) = bytes[from..].iter().position(|b| matches!(b, b'=' | b':')) {
        let sign = from + step;
        from = sign + 1;
        if let Some(secret) = value(line, sign, bare)
            && entropy::is_random(secret)
            && speaks_of_a_secret(&bytes[..sign])
        {
            f(Found {
                rule: "assigned-secret",
                what: "a secret written into the text",
                secret,
            });
        }
    }
}

/// What is assigned by the sign at `sign`, if it is a literal.
fn value(line: &str, sign: usize, bare: bool) -> Option<&str> {
    let bytes = line.as_bytes();
    let mut at = sign + 1;
    if bytes[sign] == b'=' {
        let compares = sign > 0 && matches!(bytes[sign - 1], b'=' | b'!' | b'<' | b'>');
        if compares || bytes.get(at) == Some(&b'=') {
            return None;
        }
        at += usize::from(bytes.get(at) == Some(&b'>'));
    } else if matches!(bytes.get(at), Some(b':' | b'=')) {
        // `::` is a path; of `:=` the second sign is looked at in its turn.
        return None;
    }
    at += bytes[at..]
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    // A prefix of the literal, as `b"…"` or `r'…'` have one.
    if matches!(bytes.get(at), Some(b'a'..=b'z' | b'@'))
        && matches!(bytes.get(at + 1), Some(b'"' | b'\''))
    {
        at += 1;
    }
    match bytes.get(at)? {
        quote @ (b'"' | b'\'' | b'`') => {
            let rest = &bytes[at + 1..];
            let length = rest.iter().take(600).position(|b| b == quote)?;
            line.get(at + 1..at + 1 + length)
        }
        _ if bare => line
            .get(at..)
            .map(|rest| rest.split(" #").next().unwrap_or(rest).trim_end()),
        _ => None,
    }
}

/// Looks at the name in front of the sign: back to the last comma, semicolon or bracket.
fn speaks_of_a_secret(before: &[u8]) -> bool {
    let before = &before[before.len().saturating_sub(MAX_NAME)..];
    let start = before
        .iter()
        .rposition(|b| matches!(b, b',' | b';' | b'(' | b'{'))
        .map_or(0, |at| at + 1);
    let name: Vec<u8> = before[start..]
        .iter()
        .filter(|b| !matches!(b, b'_' | b'-' | b' ' | b'"' | b'\''))
        .map(u8::to_ascii_lowercase)
        .collect();
    NAMES
        .iter()
        .any(|wanted| name.windows(wanted.len()).any(|w| w == wanted.as_bytes()))
}

/// True if values stand without quotes in a file of this name.
pub fn is_bare(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit('.').next().unwrap_or_default();
    name.starts_with(".env")
        || name.starts_with(".npmrc")
        || matches!(
            ending,
            "env"
                | "yml"
                | "yaml"
                | "properties"
                | "ini"
                | "cfg"
                | "conf"
                | "envrc"
                | "pypirc"
                | "netrc"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together here, so that no scanner takes this file for a leak.
    const RANDOM: &str = concat!("k7Jq2", "zXw9LmP4", "vTs");

    fn found(line: &str, bare: bool) -> Vec<String> {
        let mut all = Vec::new();
        let line = line.replace('@', RANDOM);
        find(&line, bare, &mut |f| all.push(f.secret.to_owned()));
        all
    }

    #[test]
    fn a_random_literal_with_a_telling_name_is_found() {
        for line in [
            "password = \"@\"",
            "let api_key = '@';",
            "const API_KEY: &str = \"@\";",
            "const token: string = `@`;",
            "{\"client_secret\": \"@\"}",
            "  'Api-Key' => '@',",
            "dbPassword := \"@\"",
            "connect(user=\"x\", passwd=\"@\")",
            "SECRET = b\"@\"",
            "<add key=\"AccessKey\" secret=\"@\" />",
            "auth_token=\"@\"",
            "@pwd=\"@\"",
            "é語 PASSWORD = \"@\"",
        ] {
            assert_eq!(found(line, false), [RANDOM], "{line}");
        }
    }

    #[test]
    fn other_names_comparisons_and_code_are_not() {
        for line in [
            "checksum = \"@\"",
            "id: \"@\"",
            "if password == \"@\" {",
            "password != \"@\"",
            "token = get_token(\"@\")",
            "password = @",
            "secret::name \"@\"",
            "password=\"\", id=\"@\"",
            "password = \"@",
            "token = \"${@}\"",
            "token = \"a@ b\"",
            "password = \"correct-horse-battery\"",
            "secret_name = \"my-app/prod/db-password2\"",
        ] {
            assert_eq!(found(line, false), [""; 0], "{line}");
        }
    }

    #[test]
    fn values_without_quotes_count_where_files_are_written_so() {
        for line in [
            "DB_PASSWORD=@",
            "export API_TOKEN=@",
            "  api_key: @  # prod",
            "secret = @",
            "TOKEN=\"@\"",
        ] {
            assert_eq!(found(line, true), [RANDOM], "{line}");
        }
        for line in [
            "DB_HOST=@",
            "token: ${{ secrets.@ }}",
            "token: !Ref @",
            "password: changeme-@",
        ] {
            assert_eq!(found(line, true), [""; 0], "{line}");
        }
        for (path, bare) in [
            (".env", true),
            ("a/.env.production", true),
            ("x.yml", true),
            ("a/B.YAML", true),
            ("prod.env", true),
            ("a.properties", true),
            ("a.rs", false),
            ("a.toml", false),
            ("a.json", false),
            ("env", true),
            ("yml/a.py", false),
        ] {
            assert_eq!(is_bare(path), bare, "{path}");
        }
    }
}
