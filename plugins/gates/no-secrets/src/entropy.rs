//! Tells what was drawn at random from what a person wrote.

/// Shannon entropy in bits per byte.
pub fn bits_per_byte(text: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for b in text {
        counts[usize::from(*b)] += 1;
    }
    let length = text.len() as f64;
    counts
        .iter()
        .filter(|n| **n > 0)
        .map(|n| f64::from(*n) / length)
        .map(|p| -p * p.log2())
        .sum()
}

/// True for what stands in place of a secret: `EXAMPLE`, `changeme`, `xxxx`,
/// `${NAME}`, `<your key>`, `%s` and their like.
pub fn is_placeholder(text: &str) -> bool {
    const WORDS: [&str; 9] = [
        "example",
        "changeme",
        "change_me",
        "change-me",
        "placeholder",
        "redacted",
        "dummy",
        "your_",
        "your-",
    ];
    let lower = text.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
        || text.starts_with(['$', '<', '%', '{'])
        || ["${", "{{", "$(", "<%", "...", "…"]
            .iter()
            .any(|mark| text.contains(mark))
        || has_run(text.as_bytes())
}

/// True for a token that documentation shows: one with `EXAMPLE` in it, or masked.
pub fn is_example(token: &str) -> bool {
    has_run(token.as_bytes()) || token.to_ascii_lowercase().contains("example")
}

/// Four masking characters in a row, or six equal characters of any kind.
fn has_run(text: &[u8]) -> bool {
    text.chunk_by(|a, b| a.eq_ignore_ascii_case(b)).any(|run| {
        run.len() >= 6
            || (run.len() >= 4 && matches!(run[0], b'x' | b'X' | b'*' | b'.' | b'#' | b'?'))
    })
}

/// True if `text` is made of words and numbers, as names, paths and versions are.
pub fn is_wordy(text: &str) -> bool {
    text.split(|c: char| {
        matches!(
            c,
            '-' | '_' | '.' | '/' | ':' | ',' | '@' | '#' | '+' | '=' | ' ' | '(' | ')' | '[' | ']'
        )
    })
    .all(|part| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - letters.len();
        letters.is_empty() || (digits <= 4 && is_word(letters.as_bytes()))
    })
}

/// Letters only, not too many, and upper case no oftener than in camel case.
fn is_word(letters: &[u8]) -> bool {
    let switches = letters
        .windows(2)
        .filter(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase())
        .count();
    letters.len() <= 24
        && letters.iter().all(u8::is_ascii_alphabetic)
        && switches * 4 <= letters.len()
}

/// True if `text` looks like a secret that was drawn at random.
pub fn is_random(text: &str) -> bool {
    /// Of 12 different characters, the shortest that is looked at, the entropy is 3.58.
    const THRESHOLD: f64 = 3.5;
    let bytes = text.as_bytes();
    (12..=512).contains(&bytes.len())
        && bytes.iter().all(u8::is_ascii_graphic)
        && bytes.iter().any(u8::is_ascii_alphabetic)
        && bytes.iter().any(|b| !b.is_ascii_alphabetic())
        && !text.contains("://")
        && !is_placeholder(text)
        && !is_wordy(text)
        && bits_per_byte(bytes) >= THRESHOLD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_at_random_is_told_from_what_a_person_wrote() {
        for (text, random) in [
            // The random ones are put together here, so that no scanner takes this file for a leak.
            (concat!("k7Jq2", "zXw9LmP4", "vTs"), true),
            (concat!("9f86d081", "884c7d65", "9a2feaa0"), true),
            (
                concat!("7d9c1f3e-", "a52b-4e86-", "b0d4-38f61c97e5a2"),
                true,
            ),
            (concat!("Tr0ub4", "dor&3", "!xQz"), true),
            ("hunter2", false),
            ("correct-horse-battery-staple1", false),
            ("oauth2-access-token", false),
            ("MyServiceCredentials2", false),
            ("https://auth.host/oauth2/tOk3n", false),
            ("process.env.API_TOKEN2", false),
            ("/run/secrets/db_password2", false),
            (
                "arn:aws:secretsmanager:us-east-1:123456789012:secret:x",
                false,
            ),
            ("aaaaaaaaaaaa1", false),
            ("123456789012345", false),
            ("two words and 3 more", false),
            ("${SECRET_k7Jq2zXw9LmP4}", false),
            ("<k7Jq2zXw9LmP4vTs>", false),
            ("xxxx-k7Jq2zXw9LmP4", false),
            ("changeme-k7Jq2zXw9LmP4", false),
            ("your_k7Jq2zXw9LmP4_key", false),
            ("", false),
        ] {
            assert_eq!(is_random(text), random, "{text}");
        }
    }

    #[test]
    fn entropy_is_that_of_shannon() {
        assert_eq!(bits_per_byte(b"aaaa"), 0.0);
        assert_eq!(bits_per_byte(b"abab"), 1.0);
        assert_eq!(bits_per_byte(b"abcdefgh"), 3.0);
        assert_eq!(bits_per_byte(b""), 0.0);
    }
}
