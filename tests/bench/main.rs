//! `cargo xtask bench`: each promise about speed and size as a ratio, both sides
//! measured in turn in one run.
//!
//! - [`stats`], [`table`]: medians, promises, how they are shown
//! - [`scratch`], [`child`], [`history`]: generated projects, children, a long past
//! - [`iteration`], [`gate`] with [`bare`], [`languages`], [`plugins`], [`parse`], [`pick`], [`start`],
//!   [`spawn`], [`memory`], [`pump`], [`rpc`] with [`echo`], [`serve`] with [`sse`]: what is measured

mod bare;
mod child;
mod echo;
mod gate;
mod history;
mod iteration;
mod languages;
mod memory;
mod parse;
mod pick;
mod plugins;
mod pump;
mod rpc;
mod scratch;
mod serve;
mod spawn;
mod sse;
mod start;
mod stats;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;

use crate::table::Row;

const HELP: &str = "\
cargo xtask bench [--json] [--strict] [--ralph PATH] [GROUP…]

  GROUP         only these: iteration, gate, languages, plugins, parse, status, pick, start, spawn,
                memory, pump, rpc, serve, size
  --json        print one JSON object instead of the table
  --strict      exit with 1 if a promise isn't met
  --ralph PATH  measure this binary instead of the one beside this program
";

type Group = fn(&Bench) -> Result<Vec<Row>, String>;

const GROUPS: [(&str, Group); 14] = [
    ("iteration", iteration::rows),
    ("gate", gate::rows),
    ("languages", languages::rows),
    ("plugins", plugins::rows),
    ("parse", parse::rows),
    ("status", start::status),
    ("pick", pick::rows),
    ("start", start::start),
    ("spawn", spawn::rows),
    ("memory", memory::rows),
    ("pump", pump::rows),
    ("rpc", rpc::rows),
    ("serve", serve::rows),
    ("size", start::size),
];

/// What every group needs.
pub struct Bench {
    /// The binary at hand.
    pub ralph: PathBuf,
}

#[derive(Default)]
struct Args {
    json: bool,
    strict: bool,
    help: bool,
    ralph: Option<PathBuf>,
    groups: Vec<String>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).take(4).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--echo", how, path] => return echo::main(how, path),
        ["--print", lines, rate, length] => return sse::main(lines, rate, length),
        _ => {}
    }
    match arguments().and_then(|args| run(&args)) {
        Ok(code) => code,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Args, String> {
    let mut args = Args::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => args.json = true,
            "--strict" => args.strict = true,
            "--help" | "-h" => args.help = true,
            "--ralph" => args.ralph = Some(words.next().ok_or("--ralph: which?")?.into()),
            name if GROUPS.iter().any(|(group, _)| *group == name) => args.groups.push(word),
            other => return Err(format!("unknown argument {other:?}\n\n{HELP}")),
        }
    }
    Ok(args)
}

fn run(args: &Args) -> Result<ExitCode, String> {
    if args.help {
        print(HELP);
        return Ok(ExitCode::SUCCESS);
    }
    let beside = || {
        let own = std::env::current_exe().map_err(|e| format!("where is this program? {e}"))?;
        Ok::<_, String>(own.with_file_name("ralph"))
    };
    let ralph = args.ralph.clone().map_or_else(beside, Ok)?;
    let bench = Bench {
        ralph: ralph
            .canonicalize()
            .map_err(|e| format!("{}: {e}", ralph.display()))?,
    };
    if cfg!(debug_assertions) {
        eprintln!("This is a debug build: the numbers say nothing.");
    }
    let mut rows = Vec::new();
    for (name, group) in GROUPS {
        if !args.groups.is_empty() && !args.groups.iter().any(|wanted| wanted == name) {
            continue;
        }
        eprint!("{name} …");
        let begun = Instant::now();
        rows.extend(group(&bench).map_err(|e| format!("{name}: {e}"))?);
        eprintln!(" {:.0} s", begun.elapsed().as_secs_f64());
    }
    let missed = rows.iter().filter(|row| row.met() == Some(false)).count();
    if args.json {
        let rows: Vec<_> = rows.iter().map(Row::json).collect();
        print(&format!(
            "{:#}\n",
            json!({ "rows": rows, "missed": missed })
        ));
    } else {
        print(&format!("\n{}", table::table(&rows)));
        if missed > 0 {
            print(&format!("\n{missed} not as promised.\n"));
        }
    }
    Ok(ExitCode::from(u8::from(args.strict && missed > 0)))
}

#[allow(
    clippy::print_stdout,
    reason = "the report is what this program is for"
)]
fn print(text: &str) {
    print!("{text}");
}
