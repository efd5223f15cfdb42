//! One pattern without braces, matched part by part. Both loops go back to the
//! last star only, which is enough for patterns of this kind and keeps the time
//! below pattern length times path length.

/// A pattern that counts from the root.
#[derive(Debug)]
pub struct Pattern(Vec<Part>);

#[derive(Debug)]
enum Part {
    /// `**`: any number of names, also none.
    Tree,
    Name(Vec<Piece>),
}

#[derive(Debug)]
enum Piece {
    /// `*`
    Any,
    /// `?`
    One,
    Exactly(char),
    /// `[…]`
    OneOf {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Pattern {
    /// # Errors
    /// What is wrong with the pattern.
    pub fn new(pattern: &str) -> Result<Self, &'static str> {
        let mut parts = Vec::new();
        for part in pattern.split('/') {
            parts.push(match part {
                "" => return Err("has two `/` in a row"),
                "." | ".." => {
                    return Err("has a part `.` or `..`; paths count from the project's root");
                }
                "**" => Part::Tree,
                name => Part::Name(pieces(name)?),
            });
        }
        if matches!(parts.last(), Some(Part::Tree)) {
            // `src/**` is what is below `src`, not `src` itself.
            parts.push(Part::Name(vec![Piece::Any]));
        }
        Ok(Pattern(parts))
    }

    /// `names` are the parts of a path.
    pub fn matches(&self, names: &[&str]) -> bool {
        let (mut part, mut name) = (0, 0);
        let mut retry = None;
        while name < names.len() {
            match self.0.get(part) {
                Some(Part::Tree) => {
                    part += 1;
                    retry = Some((part, name));
                    continue;
                }
                Some(Part::Name(pieces)) if is_name(pieces, names[name]) => {
                    (part, name) = (part + 1, name + 1);
                    continue;
                }
                _ => {}
            }
            let Some((after_tree, from)) = retry else {
                return false;
            };
            retry = Some((after_tree, from + 1));
            (part, name) = (after_tree, from + 1);
        }
        part == self.0.len()
    }
}

fn pieces(name: &str) -> Result<Vec<Piece>, &'static str> {
    let mut pieces = Vec::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        pieces.push(match c {
            '*' if matches!(pieces.last(), Some(Piece::Any)) => continue,
            '*' => Piece::Any,
            '?' => Piece::One,
            '\\' => Piece::Exactly(chars.next().ok_or("has a `\\` with nothing behind it")?),
            '[' => class(&mut chars)?,
            c => Piece::Exactly(c),
        });
    }
    Ok(pieces)
}

fn class(chars: &mut std::str::Chars<'_>) -> Result<Piece, &'static str> {
    const OPEN: &str = "has a `[` without a `]` in the same part";
    let mut next = chars.next().ok_or(OPEN)?;
    let negated = matches!(next, '!' | '^');
    if negated {
        next = chars.next().ok_or(OPEN)?;
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        let mut ahead = chars.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) if last != ']' => {
                if next > last {
                    return Err("has a range that runs backwards");
                }
                ranges.push((next, last));
                *chars = ahead;
            }
            _ => ranges.push((next, next)),
        }
        next = chars.next().ok_or(OPEN)?;
        if next == ']' {
            return Ok(Piece::OneOf { negated, ranges });
        }
    }
}

fn is_name(pieces: &[Piece], name: &str) -> bool {
    let mut at = 0;
    let mut rest = name.chars();
    let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let mut ahead = rest.clone();
        let Some(c) = ahead.next() else {
            return pieces[at..].iter().all(|p| matches!(p, Piece::Any));
        };
        match pieces.get(at) {
            Some(Piece::Any) => {
                at += 1;
                retry = Some((at, rest.clone()));
                continue;
            }
            Some(piece) if piece.is(c) => {
                at += 1;
                rest = ahead;
                continue;
            }
            _ => {}
        }
        let Some((after_star, from)) = &mut retry else {
            return false;
        };
        // The star takes one more.
        from.next();
        at = *after_star;
        rest = from.clone();
    }
}

impl Piece {
    fn is(&self, c: char) -> bool {
        match self {
            Piece::Any => false,
            Piece::One => true,
            Piece::Exactly(wanted) => *wanted == c,
            Piece::OneOf { negated, ranges } => {
                ranges.iter().any(|(a, z)| (*a..=*z).contains(&c)) != *negated
            }
        }
    }
}
