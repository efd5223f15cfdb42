//! A stand-in for `gh` and `bd`, by the name it is called: it keeps its issues in a file in the home
//! directory, notes how it was called, and fails on demand.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a helper of tests"
)]

mod bd;
mod gh;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What was asked, and the issues.
struct Call {
    args: Vec<String>,
    issues: Vec<Value>,
}

/// Standard output, or standard error and the exit code.
type Answer = Result<String, (String, i32)>;

fn main() {
    let mut args = std::env::args();
    let name = args.next().unwrap();
    let name = Path::new(&name)
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let args: Vec<String> = args.collect();
    let home = PathBuf::from(std::env::var_os("HOME").expect("HOME"));
    let lock = fs::File::create(home.join("lock")).unwrap();
    lock.lock().unwrap();
    let mut log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(home.join(format!("{name}.log")))
        .unwrap();
    writeln!(log, "{}", args.join("\u{1f}").replace('\n', " ")).unwrap();
    let what = args.iter().take(2).cloned().collect::<Vec<_>>().join(" ");
    let fault = fault(&home, &what);
    match fault.as_deref() {
        Some("login") => fail(
            "To get started with GitHub CLI, please run:  gh auth login",
            4,
        ),
        Some("network") => fail(
            "error connecting to api.github.com\ncheck your internet connection",
            1,
        ),
        Some("rate") => fail("GraphQL: API rate limit exceeded for user ID 1.", 1),
        Some("garbage") => return println!("<html>502</html>"),
        Some("huge") => {
            let piece = vec![b' '; 1 << 20];
            for _ in 0..33 {
                let _ = std::io::stdout().write_all(&piece);
            }
            return;
        }
        Some("silent") => {
            drop(lock);
            hang()
        }
        Some("hang") => {
            drop(lock);
            tell(&home);
            hang()
        }
        _ => {}
    }
    let state = home.join(format!("{name}.json"));
    let issues = fs::read(&state).expect("the issues");
    let mut call = Call {
        args,
        issues: serde_json::from_slice(&issues).unwrap(),
    };
    let answer = match name.as_str() {
        "gh" => gh::answer(&mut call),
        _ => bd::answer(&mut call),
    };
    fs::write(&state, serde_json::to_vec_pretty(&call.issues).unwrap()).unwrap();
    drop(lock);
    if fault.as_deref() == Some("hang-after") {
        tell(&home);
        hang()
    }
    match answer {
        Ok(text) => println!("{text}"),
        Err((text, code)) => fail(&text, code),
    }
}

/// `<what> <kind>` in the file `fault` holds for the next call that begins so; it is used up.
fn fault(home: &Path, what: &str) -> Option<String> {
    let path = home.join("fault");
    let text = fs::read_to_string(&path).ok()?;
    let (wanted, kind) = text.trim().rsplit_once(' ')?;
    let lasting = kind.strip_suffix('!');
    if !what.starts_with(wanted) {
        return None;
    }
    if lasting.is_none() {
        fs::remove_file(path).unwrap();
    }
    Some(lasting.unwrap_or(kind).to_owned())
}

fn tell(home: &Path) {
    let _ = fs::write(home.join("../side/here.fifo"), "here\n");
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

fn fail(text: &str, code: i32) -> ! {
    eprintln!("{text}");
    std::process::exit(code)
}

impl Call {
    /// The value behind an option.
    fn option(&self, name: &str) -> Option<String> {
        let at = self.args.iter().position(|a| a == name)?;
        Some(self.args[at + 1].clone())
    }

    fn is(&self, words: &[&str]) -> bool {
        self.args.len() >= words.len() && self.args.iter().zip(words).all(|(a, w)| a == w)
    }
}
