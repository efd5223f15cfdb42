//! What a plugin may have the host run: a program's name, and which arguments and
//! environment it may be called with.
//!
//! A pattern is written as a command: words between blanks, the first is the program.
//!
//! | word | stands for |
//! | --- | --- |
//! | `cargo` alone | the program with any arguments |
//! | `diff` | just that argument |
//! | `--format=*` | one argument that begins so |
//! | `*` | one argument that doesn't begin with `-` |
//! | `**`, as the last | any further arguments, or none |
//! | `* …` in the first place | any program |
//! | `LC_ALL=C`, `LC_ALL=*` before the program | this variable may be set |
//!
//! `'…'` holds blanks, `*` and `=` as they are, `''` in it is one `'`. A program without
//! patterns may be given any variables but those which decide what is run in its place
//! (`PATH`, `LD_…`, `DYLD_…`); with patterns none but those that are named.

use std::fmt;

/// Longest pattern, in bytes.
const MAX_LENGTH: usize = 4096;

/// One entry of a list of programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramPattern {
    env: Vec<(String, Word)>,
    /// `None` for any.
    program: Option<String>,
    /// `None` for any.
    args: Option<Args>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Args {
    first: Vec<Word>,
    /// May more follow?
    rest: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Is(String),
    Begins(String),
}

/// Why a command isn't what a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlike<'a> {
    /// Another program.
    Program,
    /// Other arguments.
    Args,
    /// This variable may not be set so.
    Env(&'a str),
}

impl ProgramPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn parse(text: &str) -> Result<ProgramPattern, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("is longer than {MAX_LENGTH} bytes"));
        }
        let mut tokens = tokens(text)?.into_iter().peekable();
        let mut env = Vec::new();
        while let Some((name, value)) = tokens.peek().and_then(Token::variable) {
            env.push((name.to_owned(), value));
            tokens.next();
        }
        let program = match tokens.next() {
            None => return Err("names no program".into()),
            Some(token) if token.is_rest() || (token.star && !token.text.is_empty()) => {
                return Err(
                    "names its program with a `*`; write the whole name, or `*` alone for any"
                        .into(),
                );
            }
            Some(token) if token.star => None,
            Some(token) if token.text.is_empty() => return Err("names no program".into()),
            Some(token) => Some(token.text),
        };
        let mut args = tokens.peek().is_some().then(|| Args {
            first: Vec::new(),
            rest: false,
        });
        if let Some(args) = &mut args {
            while let Some(token) = tokens.next() {
                if !token.is_rest() {
                    args.first.push(token.word());
                } else if tokens.peek().is_none() {
                    args.rest = true;
                } else {
                    return Err("has something after `**`, which stands for all that follow".into());
                }
            }
        }
        Ok(ProgramPattern { env, program, args })
    }

    /// This program with any arguments, and these variables beside those that do no harm.
    #[must_use]
    pub fn of_program<'a>(program: &str, env: impl IntoIterator<Item = &'a str>) -> ProgramPattern {
        let any = |name: &str| (name.to_owned(), Word::Begins(String::new()));
        ProgramPattern {
            env: env.into_iter().map(any).collect(),
            program: Some(program.to_owned()),
            args: None,
        }
    }

    /// Does it stand for this command?
    ///
    /// # Errors
    /// What is unlike, the least first.
    pub fn admits<'a>(
        &self,
        program: &str,
        args: &[String],
        env: &'a [(String, String)],
    ) -> Result<(), Unlike<'a>> {
        if self.program.as_ref().is_some_and(|own| own != program) {
            return Err(Unlike::Program);
        }
        if let Some(own) = &self.args {
            let enough =
                args.len() == own.first.len() || (own.rest && args.len() > own.first.len());
            let mut pairs = own.first.iter().zip(args);
            if !enough || !pairs.all(|(word, arg)| word.admits_argument(arg)) {
                return Err(Unlike::Args);
            }
        }
        match env
            .iter()
            .find(|(name, value)| !self.admits_variable(name, value))
        {
            Some((name, _)) => Err(Unlike::Env(name)),
            None => Ok(()),
        }
    }

    fn admits_variable(&self, name: &str, value: &str) -> bool {
        let named = |(own, word): &(String, Word)| own == name && word.admits(value);
        self.leaves_free(name) || self.env.iter().any(named)
    }

    /// May this variable be set without being named?
    fn leaves_free(&self, name: &str) -> bool {
        let leads_elsewhere =
            name == "PATH" || name.starts_with("LD_") || name.starts_with("DYLD_");
        self.args.is_none() && !leads_elsewhere
    }

    /// What both stand for.
    #[must_use]
    pub fn met(&self, other: &ProgramPattern) -> Option<ProgramPattern> {
        let program = match (&self.program, &other.program) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        let args = match (&self.args, &other.args) {
            (Some(a), Some(b)) => Some(a.met(b)?),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        let mut env = Vec::new();
        for (name, word) in &self.env {
            if other.leaves_free(name) {
                env.push((name.clone(), word.clone()));
            }
            let theirs = other.env.iter().filter(|(own, _)| own == name);
            env.extend(theirs.filter_map(|(_, it)| Some((name.clone(), word.met(it)?))));
        }
        let free = other.env.iter().filter(|(name, _)| self.leaves_free(name));
        env.extend(free.cloned());
        env.dedup();
        Some(ProgramPattern { env, program, args })
    }
}

impl Args {
    fn met(&self, other: &Args) -> Option<Args> {
        let mut first = Vec::new();
        for at in 0..self.first.len().max(other.first.len()) {
            first.push(match (self.first.get(at), other.first.get(at)) {
                (Some(a), Some(b)) => a.met_as_argument(b)?,
                (Some(a), None) if other.rest => a.clone(),
                (None, Some(b)) if self.rest => b.clone(),
                _ => return None,
            });
        }
        let rest = self.rest && other.rest;
        Some(Args { first, rest })
    }
}

impl Word {
    fn admits(&self, text: &str) -> bool {
        match self {
            Word::Is(own) => own == text,
            Word::Begins(own) => text.starts_with(own.as_str()),
        }
    }

    /// `*` alone is no option: who grants `git diff *` doesn't think of `--output=…`.
    fn admits_argument(&self, text: &str) -> bool {
        let any = matches!(self, Word::Begins(own) if own.is_empty());
        self.admits(text) && !(any && text.starts_with('-'))
    }

    fn met(&self, other: &Word) -> Option<Word> {
        match (self, other) {
            (Word::Is(own), it) | (it, Word::Is(own)) => {
                it.admits(own).then(|| Word::Is(own.clone()))
            }
            (Word::Begins(a), Word::Begins(b)) => {
                let longer = if a.len() < b.len() { b } else { a };
                (longer.starts_with(a.as_str()) && longer.starts_with(b.as_str()))
                    .then(|| Word::Begins(longer.clone()))
            }
        }
    }

    fn met_as_argument(&self, other: &Word) -> Option<Word> {
        let both = self.met(other)?;
        let (Word::Is(text) | Word::Begins(text)) = &both;
        let fits = |word: &Word| text.is_empty() || word.admits_argument(text);
        (fits(self) && fits(other)).then_some(both)
    }
}

impl fmt::Display for ProgramPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, word) in &self.env {
            write!(f, "{name}=")?;
            match word {
                Word::Is(text) if text.is_empty() => {}
                word => write!(f, "{word}")?,
            }
            f.write_str(" ")?;
        }
        match &self.program {
            None => f.write_str("*")?,
            // Not to be taken for a variable.
            Some(name) if name.contains('=') => write!(f, "'{}'", name.replace('\'', "''"))?,
            Some(name) => write!(f, "{}", Word::Is(name.clone()))?,
        }
        let Some(args) = &self.args else {
            return Ok(());
        };
        for word in &args.first {
            write!(f, " {word}")?;
        }
        f.write_str(if args.rest { " **" } else { "" })
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, star) = match self {
            Word::Is(text) => (text, ""),
            Word::Begins(text) => (text, "*"),
        };
        let special = |c: char| c.is_whitespace() || c == '\'' || c == '*';
        if text.contains(special) || (text.is_empty() && star.is_empty()) {
            write!(f, "'{}'{star}", text.replace('\'', "''"))
        } else {
            write!(f, "{text}{star}")
        }
    }
}

struct Token {
    text: String,
    /// It ends in a `*` that isn't quoted.
    star: bool,
    /// It is just `**`.
    rest: bool,
    /// How much of the text comes before the first quote.
    plain: usize,
}

impl Token {
    fn is_rest(&self) -> bool {
        self.rest
    }

    fn word(self) -> Word {
        if self.star {
            Word::Begins(self.text)
        } else {
            Word::Is(self.text)
        }
    }

    /// `NAME=value`
    fn variable(&self) -> Option<(&str, Word)> {
        let (name, value) = self.text.split_once('=')?;
        let first = name.chars().next()?;
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.len() >= self.plain || first.is_ascii_digit() || !name.chars().all(legal) {
            return None;
        }
        let value = value.to_owned();
        let word = if self.star {
            Word::Begins(value)
        } else {
            Word::Is(value)
        };
        Some((name, word))
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(found);
        }
        let (mut text, mut stars, mut plain) = (String::new(), 0, None);
        while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
            if stars > 0 && c != '*' {
                return Err(
                    "has a `*` that isn't the end of its word; in '…' it stands for itself".into(),
                );
            }
            match c {
                '*' => stars += 1,
                '\'' => {
                    plain.get_or_insert(text.len());
                    quoted(&mut chars, &mut text)?;
                }
                c if c.is_control() => return Err("has control characters".into()),
                c => text.push(c),
            }
        }
        let rest = stars == 2 && text.is_empty() && plain.is_none();
        if stars > 1 && !rest {
            return Err("has a `**` within a word; it stands alone, at the end".into());
        }
        let plain = plain.unwrap_or(text.len());
        found.push(Token {
            text,
            star: stars == 1,
            rest,
            plain,
        });
    }
}

/// What follows an opening quote, with the closing one.
fn quoted(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    text: &mut String,
) -> Result<(), String> {
    loop {
        match chars.next() {
            None => return Err("has a `'` that is never closed".into()),
            Some('\'') if chars.next_if_eq(&'\'').is_none() => return Ok(()),
            Some(c) if c.is_control() => return Err("has control characters".into()),
            Some(c) => text.push(c),
        }
    }
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
