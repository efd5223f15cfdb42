//! Tokens that are known by their shape. Matched by hand: one look at each byte
//! for the few that can begin a token, then a comparison of the prefix.

use crate::entropy;

/// Something that looks like a secret, in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// Name of the rule, behind `no-secrets/`.
    pub rule: &'static str,
    /// What it looks like, for people.
    pub what: &'static str,
    /// The secret itself. Never to be shown.
    pub secret: &'a str,
}

struct Shape {
    rule: &'static str,
    what: &'static str,
    prefix: &'static [u8],
    /// What may stand behind the prefix.
    body: fn(u8) -> bool,
    /// How many of those at least.
    min: usize,
    /// Exactly so many, not at least.
    exact: bool,
    /// The body must look drawn at random: the prefix alone says too little.
    random: bool,
}

/// Longer ones are looked at up to here, so that hostile text costs no more than that per byte.
const MAX_TOKEN: usize = 2048;

const fn shape(
    rule: &'static str,
    what: &'static str,
    prefix: &'static [u8],
    body: fn(u8) -> bool,
    min: usize,
) -> Shape {
    Shape {
        rule,
        what,
        prefix,
        body,
        min,
        exact: false,
        random: false,
    }
}

const SHAPES: &[Shape] = &[
    Shape {
        exact: true,
        ..shape(
            "aws-access-key-id",
            "an AWS access key id",
            b"AKIA",
            upper_or_digit,
            16,
        )
    },
    Shape {
        exact: true,
        ..shape(
            "aws-access-key-id",
            "an AWS access key id",
            b"ASIA",
            upper_or_digit,
            16,
        )
    },
    shape("github-token", "a GitHub token", b"ghp_", alphanumeric, 36),
    shape("github-token", "a GitHub token", b"gho_", alphanumeric, 36),
    shape("github-token", "a GitHub token", b"ghu_", alphanumeric, 36),
    shape("github-token", "a GitHub token", b"ghs_", alphanumeric, 36),
    shape("github-token", "a GitHub token", b"ghr_", alphanumeric, 36),
    shape("github-token", "a GitHub token", b"github_pat_", word, 22),
    shape(
        "gitlab-token",
        "a GitLab token",
        b"glpat-",
        word_or_dash,
        20,
    ),
    Shape {
        random: true,
        ..shape("slack-token", "a Slack token", b"xox", word_or_dash, 14)
    },
    Shape {
        exact: true,
        ..shape(
            "google-api-key",
            "a Google API key",
            b"AIza",
            word_or_dash,
            35,
        )
    },
    shape(
        "stripe-key",
        "a Stripe live key",
        b"sk_live_",
        alphanumeric,
        16,
    ),
    shape(
        "stripe-key",
        "a Stripe live key",
        b"rk_live_",
        alphanumeric,
        16,
    ),
    Shape {
        random: true,
        ..shape(
            "anthropic-key",
            "an Anthropic API key",
            b"sk-ant-",
            word_or_dash,
            20,
        )
    },
    Shape {
        random: true,
        ..shape("openai-key", "an OpenAI API key", b"sk-", word_or_dash, 20)
    },
    shape("npm-token", "an npm token", b"npm_", alphanumeric, 36),
    shape("pypi-token", "a PyPI token", b"pypi-AgE", word_or_dash, 50),
];

/// Bytes that stand first (bit 0) or second (bit 1) in a token.
const BEGINS: [u8; 256] = {
    let mut begins = [0; 256];
    let mut i = 0;
    while i < SHAPES.len() {
        begins[SHAPES[i].prefix[0] as usize] |= 1;
        begins[SHAPES[i].prefix[1] as usize] |= 2;
        i += 1;
    }
    begins[JWT[0] as usize] |= 1;
    begins[JWT[1] as usize] |= 2;
    begins
};

/// What base64url makes of `{"`.
const JWT: &[u8] = b"eyJ";

fn upper_or_digit(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}

fn alphanumeric(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

fn word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

fn word_or_dash(b: u8) -> bool {
    word(b) || b == b'-'
}

/// Calls `f` for every token in `line`.
pub fn find<'a>(line: &'a str, f: &mut impl FnMut(Found<'a>)) {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at + 1 < bytes.len() {
        let pair = (BEGINS[usize::from(bytes[at])] & 1) | (BEGINS[usize::from(bytes[at + 1])] & 2);
        if pair != 3 {
            at += 1;
            continue;
        }
        let end = match bytes[at] {
            _ if at > 0 && word_or_dash(bytes[at - 1]) && !ends_an_escape(&bytes[..at]) => None,
            b'e' => json_web_token(&bytes[at..])
                .map(|length| ("json-web-token", "a JSON Web Token", length)),
            _ => SHAPES.iter().find_map(|s| {
                s.length(&bytes[at..])
                    .map(|length| (s.rule, s.what, length))
            }),
        };
        let Some((rule, what, length)) = end else {
            at += 1;
            continue;
        };
        // Tokens are ASCII, so these are character boundaries.
        let secret = line.get(at..at + length).unwrap_or_default();
        if !entropy::is_example(secret) {
            f(Found { rule, what, secret });
        }
        at += length;
    }
}

/// `\n` and `\t` in front of a token are written with a letter.
fn ends_an_escape(before: &[u8]) -> bool {
    matches!(before, [.., b'\\', b'n' | b't' | b'r'])
}

impl Shape {
    /// Length of the token that `text` begins with.
    fn length(&self, text: &[u8]) -> Option<usize> {
        let body = text.strip_prefix(self.prefix)?;
        let length = run(body, self.body);
        let body = &body[..length];
        if length < self.min || (self.exact && length != self.min) {
            return None;
        }
        if self.random && !std::str::from_utf8(body).is_ok_and(entropy::is_random) {
            return None;
        }
        Some(self.prefix.len() + length)
    }
}

fn run(text: &[u8], is: fn(u8) -> bool) -> usize {
    text.iter().take(MAX_TOKEN).take_while(|b| is(**b)).count()
}

/// Three parts of base64url, the first two of which begin a JSON object.
fn json_web_token(text: &[u8]) -> Option<usize> {
    let mut length = 0;
    for (part, begins) in [JWT, JWT, b"".as_slice()].into_iter().enumerate() {
        if part > 0 {
            if text.get(length) != Some(&b'.') {
                return None;
            }
            length += 1;
        }
        let rest = &text[length..];
        let size = run(rest, word_or_dash);
        if size < 13 || !rest.starts_with(begins) {
            return None;
        }
        length += size;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<(&'static str, &str)> {
        let mut all = Vec::new();
        find(line, &mut |f| all.push((f.rule, f.secret)));
        all
    }

    /// Random letters and digits, the same each time.
    fn noise(length: usize, alphabet: &str) -> String {
        let mut state = 0x9e37_79b9_u32;
        let alphabet = alphabet.as_bytes();
        let next = |_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            char::from(alphabet[state as usize % alphabet.len()])
        };
        (0..length).map(next).collect()
    }

    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    const ALL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

    /// Every kind of token: rule, prefix, body. Prefix and body are joined at run
    /// time only, so that no scanner takes this file for a leak.
    fn kinds() -> Vec<(&'static str, &'static str, String)> {
        let mut all = vec![
            ("aws-access-key-id", "AKIA", noise(16, UPPER)),
            ("aws-access-key-id", "ASIA", noise(16, UPPER)),
            (
                "github-token",
                "github_pat_",
                noise(22, ALL) + "_" + &noise(59, ALL),
            ),
            ("gitlab-token", "glpat-", noise(20, ALL)),
            ("google-api-key", "AIza", noise(35, ALL)),
            ("stripe-key", "sk_live_", noise(24, ALL)),
            ("stripe-key", "rk_live_", noise(24, ALL)),
            ("openai-key", "sk-", noise(48, ALL)),
            ("openai-key", "sk-", "proj-".to_owned() + &noise(60, ALL)),
            (
                "anthropic-key",
                "sk-ant-",
                "api03-".to_owned() + &noise(90, ALL),
            ),
            ("npm-token", "npm_", noise(36, ALL)),
            ("pypi-token", "pypi-AgE", noise(80, ALL)),
            (
                "json-web-token",
                "eyJ",
                format!(
                    "{}.eyJ{}.{}",
                    noise(33, ALL),
                    noise(60, ALL),
                    noise(43, ALL)
                ),
            ),
        ];
        all.extend(
            ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map(|p| ("github-token", p, noise(36, ALL))),
        );
        all.extend(["b-", "p-", "a-", "r-", "s-"].map(|p| {
            (
                "slack-token",
                "xox",
                format!("{p}123456789012-{}", noise(24, ALL)),
            )
        }));
        all
    }

    #[test]
    fn every_kind_of_token_is_found_wherever_it_stands() {
        for (rule, prefix, body) in kinds() {
            let token = format!("{prefix}{body}");
            for line in [
                token.clone(),
                format!("x = \"{token}\";"),
                format!("curl -H 'Authorization: Bearer {token}' https://host"),
                format!("KEY={token} # é語"),
                format!("\"a\\n{token}\\n\""),
                format!("https://user:{token}@host/x"),
            ] {
                assert_eq!(found(&line), [(rule, token.as_str())], "{line}");
            }
            let twice = format!("{token} {token}");
            assert_eq!(found(&twice).len(), 2, "{twice}");
        }
    }

    #[test]
    fn a_token_that_is_too_short_or_part_of_a_word_is_none() {
        for (_, prefix, body) in kinds() {
            let short = format!("{prefix}{}", &body[..9]);
            let inside = format!("z{prefix}{body}");
            for line in [prefix.to_owned(), short, inside] {
                assert_eq!(found(&line), [], "{line}");
            }
        }
        // An exact length is exact.
        assert_eq!(found(&format!("{}{}", "AKIA", noise(17, UPPER))), []);
    }

    #[test]
    fn examples_and_masked_tokens_are_none() {
        for (_, prefix, body) in kinds() {
            let masked = format!(
                "{prefix}{}",
                body.replace(|c: char| c.is_ascii_alphanumeric(), "x")
            );
            assert_eq!(found(&masked), [], "{masked}");
        }
        assert_eq!(found(concat!("AKIA", "IOSFODNN7", "EXAMPLE")), []);
    }

    #[test]
    fn names_that_begin_like_tokens_are_none() {
        for line in [
            "class=\"sk-circle-fade-dot sk-folding-cube-wrapper-element\"",
            "sk-SK.json task-force-one-and-twenty risk-assessment-of-2026-edition",
            "xoxo-and-love-from-all-of-us",
            "npm_config_registry=x npm_lifecycle_event_name_that_is_long_enough",
            "pypi-publish-action-with-a-long-name-that-goes-on-and-on-and-on",
            "eyJust.eyJoin.eyes eyJhbGciOi.short",
            "sk-${{ secrets.OPENAI_KEY }}",
        ] {
            assert_eq!(found(line), [], "{line}");
        }
    }
}
