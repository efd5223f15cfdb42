//! Private key blocks. The marker alone is no secret (programs that read keys
//! name it); there must be key data behind it, in the same line or in the next ones.

use crate::tokens::Found;

/// How every block begins.
pub const BEGIN: &str = "-----BEGIN ";

/// A marker whose key data has not been seen yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waiting {
    /// Line of the marker; 0 if none waits.
    line: u32,
    /// Line that would be the next one of the block.
    next: u32,
}

impl Waiting {
    /// Looks at one added line; calls `f` with the line of the marker once the block is certain.
    pub fn look<'a>(&mut self, number: u32, line: &'a str, f: &mut impl FnMut(u32, Found<'a>)) {
        if self.line != 0 {
            let marker = std::mem::take(self);
            if number == marker.next {
                if is_data(line) {
                    f(marker.line, found(line));
                } else if is_header(line) && number - marker.line < 6 {
                    *self = Waiting {
                        line: marker.line,
                        next: number.saturating_add(1),
                    };
                }
            }
        }
        let Some(at) = line.find(BEGIN) else { return };
        let rest = &line[at + BEGIN.len()..];
        let Some((kind, rest)) = rest.split_once("-----") else {
            return;
        };
        if kind != "PRIVATE KEY"
            && !kind.ends_with(" PRIVATE KEY")
            && !kind.ends_with("PRIVATE KEY BLOCK")
        {
            return;
        }
        if is_data(rest) {
            f(number, found(&line[at..]));
        } else if rest
            .trim_matches(|c: char| !c.is_alphanumeric() || c == 'n' || c == 'r')
            .is_empty()
        {
            *self = Waiting {
                line: number,
                next: number.saturating_add(1),
            };
        }
    }
}

fn found(secret: &str) -> Found<'_> {
    Found {
        rule: "private-key",
        what: "a private key",
        secret,
    }
}

/// Base64, perhaps inside quotes and with `\n` around it as in a string literal.
fn is_data(line: &str) -> bool {
    let run = |part: &str| {
        part.bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
            .count()
    };
    let line = line.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '+' | '#' | '*')
    });
    let line = line.strip_prefix("\\r").unwrap_or(line);
    let line = line.strip_prefix("\\n").unwrap_or(line);
    let length = run(line);
    // Words of a sentence are shorter, and a long name has no end of line behind it.
    length >= 24
        && line[..length]
            .bytes()
            .any(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'+')
}

/// `Proc-Type: …`, `Version: …`, or the empty line below them.
fn is_header(line: &str) -> bool {
    line.trim().is_empty()
        || line.split_once(": ").is_some_and(|(name, _)| {
            name.trim()
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `text` where a block begins. `@` stands for the dashes, `$` for key data.
    fn blocks(text: &str) -> Vec<u32> {
        let data = ["MIIEvQIBADANBgkq", "hkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIB"].concat();
        let text = text.replace('@', &"-".repeat(5)).replace('$', &data);
        let (mut lines, mut waiting) = (Vec::new(), Waiting::default());
        for (number, line) in (1..).zip(text.lines()) {
            waiting.look(number, line, &mut |line, _| lines.push(line));
        }
        lines
    }

    #[test]
    fn blocks_of_every_kind_are_found_at_their_first_line() {
        for kind in [
            "PRIVATE KEY",
            "RSA PRIVATE KEY",
            "EC PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        ] {
            assert_eq!(
                blocks(&format!("x\n@BEGIN {kind}@\n$\n$\n@END {kind}@\n")),
                [2],
                "{kind}"
            );
        }
        assert_eq!(
            blocks("@BEGIN RSA PRIVATE KEY@\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n$\n"),
            [1]
        );
        assert_eq!(
            blocks("@BEGIN PRIVATE KEY@\n$\n@END@\n@BEGIN PRIVATE KEY@\n$\n"),
            [1, 4]
        );
    }

    #[test]
    fn blocks_inside_literals_are_found() {
        for text in [
            "key = \"@BEGIN PRIVATE KEY@\\n$\\n@END PRIVATE KEY@\\n\"",
            "key = '@BEGIN PRIVATE KEY@\\n' +\n  '$\\n' +",
            "key: |\n  @BEGIN PRIVATE KEY@\n  $\n",
        ] {
            assert_eq!(blocks(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn markers_without_key_data_are_not() {
        for text in [
            "if text.contains(\"@BEGIN PRIVATE KEY@\") {\n    return Some(PrivateKeyFound)\n}",
            "@BEGIN PRIVATE KEY@\n",
            "@BEGIN PRIVATE KEY@\n<your key>\n@END PRIVATE KEY@",
            "@BEGIN PUBLIC KEY@\n$\n",
            "@BEGIN CERTIFICATE@\n$\n",
            "$\n@END PRIVATE KEY@\n",
        ] {
            assert_eq!(blocks(text), [0; 0], "{text}");
        }
    }

    #[test]
    fn lines_that_do_not_follow_one_another_make_no_block() {
        let (mut lines, mut waiting) = (Vec::new(), Waiting::default());
        let marker = format!("{0}BEGIN PRIVATE KEY{0}", "-".repeat(5));
        let data = "MIIEvQIBADANBgkq".repeat(3);
        waiting.look(1, &marker, &mut |line, _| lines.push(line));
        waiting.look(7, &data, &mut |line, _| lines.push(line));
        assert_eq!(lines, [0; 0]);
    }
}
