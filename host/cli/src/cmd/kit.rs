//! `ralph plugin new|build|run|test|bench|dev`: what a plugin's author does.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anstyle::AnsiColor;
use ralph_engine::text::strip_escapes;
use ralph_kit::ask::{Answer, Asker, Outcome};
use ralph_kit::build::{self, Built, Tell};
use ralph_kit::cases::{self, Tried};
use ralph_kit::dev::{Current, Watch, dev};
use ralph_kit::input::{Given, parse};
use ralph_kit::kept::Kept;
use ralph_kit::project::{self, Project};
use ralph_kit::{Error, bench, scaffold};
use ralph_plugins::{Host, Kind};
use ralph_runner::Control;
use serde_json::json;
use tokio::io::AsyncBufReadExt;

use crate::args::KitCommand;
use crate::out::{Out, note};

pub async fn kit(dir: &Path, command: KitCommand, out: &Out) -> ExitCode {
    let done = match command {
        KitCommand::New { name, lang, kind } => new(dir, &name, lang, kind, out),
        KitCommand::Build { dir: at } => make(&dir.join(at), out).await,
        KitCommand::Run {
            component,
            input,
            recorded,
            gate,
            save,
        } => {
            let given = match (&input, &recorded) {
                (Some(input), _) if input == Path::new("-") => Given::from_file(input),
                (Some(input), _) => Given::from_file(&dir.join(input)),
                (None, _) => Ok(Given::default()),
            };
            let asked = Asked {
                component: dir.join(component),
                given,
                recorded,
                gate,
                save: save.map(|save| dir.join(save)),
            };
            run(dir, asked, out).await
        }
        KitCommand::Test {
            dir: at,
            case,
            component,
            update,
        } => {
            let component = component.map(|file| dir.join(file));
            test(&dir.join(at), &case, component, update, out).await
        }
        KitCommand::Bench {
            component,
            input,
            time,
        } => {
            let input = input.map(|input| dir.join(input));
            measure(&dir.join(component), input, time.get(), out).await
        }
        KitCommand::Dev { dir: at, calls } => develop(&dir.join(at), calls, out).await,
    };
    done.unwrap_or_else(|e| out.fail(e.exit_code(), &e.to_string()))
}

fn host() -> Result<Host, Error> {
    super::host().map_err(|e| Error::Tool(e.to_string()))
}

fn new(
    dir: &Path,
    name: &str,
    lang: ralph_kit::lang::Lang,
    kind: Kind,
    out: &Out,
) -> Result<ExitCode, Error> {
    let made = scaffold::scaffold(dir, name, lang, kind)?;
    out.text(format!("{name}/ is there: a {kind} in {lang}"));
    let shown = made.files.iter();
    for file in shown.filter(|f| !f.starts_with("sdk/") && !f.starts_with("wit/")) {
        out.text(format!("  {file}"));
    }
    out.text("  sdk/, wit/");
    out.text(format!(
        "next: cd {name}; what its tool chain needs is in README.md; then ralph plugin build, ralph plugin test"
    ));
    Ok(out.done(0, &made))
}

/// Tool chains speak to standard error, so that standard output holds the answer alone.
struct Said;

impl Tell for Said {
    fn step(&self, what: &str) {
        note(&format!("{what} …"));
    }

    fn output(&self, piece: &[u8]) {
        let _ = std::io::stderr().write_all(piece);
    }

    fn is_terminal(&self) -> bool {
        crate::out::color(&std::io::stderr())
    }
}

async fn make(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let built = build::build(&project, &host()?, &Said).await?;
    show(&built, out);
    Ok(out.done(0, &built))
}

fn show(built: &Built, out: &Out) {
    let kinds: Vec<_> = built.kinds.iter().map(|k| k.as_str()).collect();
    out.text(format!(
        "{}  {}, {}",
        out.bold(&built.path.display().to_string()),
        kinds.join(", "),
        build::size(built.bytes)
    ));
    out.text(format!("  sha256   {}", built.sha256));
    out.text(format!(
        "  took     {:.1}s to build, {:.1}s to compile for this machine",
        built.built_in, built.compiled_in
    ));
}

struct Asked {
    component: PathBuf,
    given: Result<Given, Error>,
    recorded: Option<String>,
    gate: Option<String>,
    save: Option<PathBuf>,
}

/// Loads a component; of a folder, that of the project in it.
async fn load(path: &Path) -> Result<(Host, Arc<ralph_plugins::Component>), Error> {
    let file = project::component(path)?;
    let bytes = build::read(&file)?;
    let host = host()?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let component = build::load(&host, &stem, &file.display().to_string(), &bytes).await?;
    Ok((host, component))
}

async fn run(dir: &Path, asked: Asked, out: &Out) -> Result<ExitCode, Error> {
    let (_host, component) = load(&asked.component).await?;
    let name = match component.manifest() {
        Some(manifest) => manifest.name.clone(),
        None => component.name().to_owned(),
    };
    let kept = match &asked.recorded {
        Some(attempt) => {
            let gate = asked.gate.as_deref();
            Some(Kept::find(dir, attempt, component.kind(), &name, gate)?)
        }
        None => None,
    };
    let given = match &kept {
        Some(kept) => kept.given(),
        None => asked.given?,
    };
    if let Some(case) = asked.save.as_ref().filter(|case| case.exists()) {
        return Err(Error::Usage(format!(
            "{} is there already; nothing was changed",
            case.display()
        )));
    }
    let asker = Asker::new(component, given.input.kind)?;
    let answer = asker.ask(&given).await?;
    if let (Some(case), Some(kept)) = (&asked.save, &kept) {
        kept.keep(case)?;
        cases::expect(case, &answer)?;
        note(&format!("kept as the case {}", case.display()));
    }
    for line in &answer.log {
        note(&format!("  log {line}"));
    }
    for line in &answer.strayed {
        note(&format!("  {line}"));
    }
    match &answer.outcome {
        Outcome::Answer(value) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            out.text(strip_escapes(&text));
        }
        Outcome::Error(why) if !out.json => note(&format!("it gave no answer: {why}")),
        Outcome::Error(_) => {}
    }
    Ok(out.done(u8::from(!good(&answer)), &answer))
}

/// It answered, the verdict isn't a failure, and nothing was asked that the input doesn't have.
fn good(answer: &Answer) -> bool {
    let refused = |value: &serde_json::Value| value["status"] == "fail";
    answer.strayed.is_empty()
        && matches!(&answer.outcome, Outcome::Answer(value) if !refused(value))
}

async fn test(
    dir: &Path,
    only: &[String],
    component: Option<PathBuf>,
    update: bool,
    out: &Out,
) -> Result<ExitCode, Error> {
    let (folder, file) = match component {
        Some(file) => (dir.join("cases"), file),
        None => (Project::open(dir)?.cases(), dir.to_owned()),
    };
    let list = cases::list(&folder, only)?;
    let (_host, component) = load(&file).await?;
    let mut tried = Vec::new();
    for case in &list {
        let kind = Given::from_dir(case).ok().and_then(|g| g.input.kind);
        let asker = Asker::new(component.clone(), kind)?;
        let one = cases::try_one(&asker, case, update).await?;
        told(&one, out);
        tried.push(one);
    }
    let failed = tried.iter().filter(|one| !one.passed).count();
    out.text(format!("{} passed, {failed} failed", tried.len() - failed));
    Ok(out.done(u8::from(failed > 0), &json!({ "cases": tried })))
}

fn told(one: &Tried, out: &Out) {
    let (color, word) = if one.passed {
        (AnsiColor::Green, "pass")
    } else {
        (AnsiColor::Red, "fail")
    };
    let updated = if one.updated { ", written anew" } else { "" };
    out.text(format!("{}  {}{updated}", out.paint(color, word), one.name));
    for line in one.differences.iter().flat_map(|d| d.lines()) {
        out.text(format!("        {line}"));
    }
    if !one.passed {
        for line in &one.log {
            out.text(format!("        log {line}"));
        }
    }
}

async fn measure(
    path: &Path,
    input: Option<PathBuf>,
    time: std::time::Duration,
    out: &Out,
) -> Result<ExitCode, Error> {
    let file = project::component(path)?;
    let given = match &input {
        Some(dir) if dir.is_dir() => Given::from_dir(dir)?,
        Some(file) => Given::from_file(file)?,
        None => Given::default(),
    };
    note(&format!("measuring for {:.1}s …", time.as_secs_f64()));
    let costs = bench::bench(&file, given.input.kind, &given, time).await?;
    let ms = |name: &str, value: f64| out.text(format!("  {name:<28} {value:>10.3} ms"));
    out.text(format!(
        "{}  {}",
        out.bold(&file.display().to_string()),
        build::size(costs.bytes)
    ));
    ms("compiled, with nothing kept", costs.compile);
    ms("cold start to first answer", costs.cold);
    ms("a call, half of them", costs.p50);
    ms("a call, 99 of 100", costs.p99);
    ms("a call, the longest", costs.max);
    out.text(format!(
        "  {:<28} {:>10.0} in a second, one after another ({} measured)",
        "calls", costs.per_second, costs.calls
    ));
    out.text(format!(
        "  {:<28} {:>10} of an instance, after a call",
        "memory",
        build::size(costs.memory)
    ));
    if let Some(grown) = costs.grown {
        out.text(format!(
            "  {:<28} {:>10} more of this process, compiler included",
            "",
            build::size(grown)
        ));
    }
    if let Some(why) = &costs.error {
        out.text(format!("  the calls gave no answer: {why}"));
    }
    Ok(out.done(0, &costs))
}

/// Tells what `dev` does, as text or as one JSON object a line.
struct Shown {
    out: Arc<Out>,
}

impl Tell for Shown {
    fn step(&self, what: &str) {
        Said.step(what);
    }

    fn output(&self, piece: &[u8]) {
        Said.output(piece);
    }

    fn is_terminal(&self) -> bool {
        Said.is_terminal()
    }
}

impl Watch for Shown {
    fn swapped(&self, built: &Built, before: Option<&str>) {
        if self.out.json {
            self.out
                .line(&json!({ "event": "swapped", "before": before, "built": built }));
            return;
        }
        show(built, &self.out);
        match before {
            Some(old) if old == built.sha256 => note("the same as before"),
            Some(_) => note("swapped; calls at work finish on the old one"),
            None => note("waiting for changes; ctrl-c ends"),
        }
    }

    fn failed(&self, error: &Error) {
        if self.out.json {
            self.out
                .line(&json!({ "event": "failed", "error": error.to_string() }));
        } else {
            note(&format!("{error}\nthe last one that could be built stays"));
        }
    }

    fn tried(&self, digest: &str, tried: &[Tried]) {
        if self.out.json {
            self.out
                .line(&json!({ "event": "tested", "sha256": digest, "cases": tried }));
            return;
        }
        for one in tried {
            told(one, &self.out);
        }
    }
}

async fn develop(dir: &Path, calls: bool, out: &Out) -> Result<ExitCode, Error> {
    let out = Arc::new(Out::new("plugin", out.json));
    let current = Current::default();
    let (control, stopping) = Control::new();
    let signals = tokio::spawn(super::run::watch_signals(control, None));
    let answering = calls.then(|| tokio::spawn(answer(current.clone(), out.clone())));
    let watch = Arc::new(Shown { out });
    let done = dev(dir, &host()?, &current, watch, stopping.any()).await;
    signals.abort();
    if let Some(answering) = answering {
        answering.abort();
    }
    done.map(|()| ExitCode::SUCCESS)
}

/// Each line is a call of its own, beside the others.
async fn answer(current: Current, out: Arc<Out>) {
    let mut lines = tokio::io::BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let (current, out) = (current.clone(), out.clone());
        tokio::spawn(async move {
            let asked = match parse(&line, "the line") {
                Ok(input) => {
                    let given = Given {
                        input,
                        ..Given::default()
                    };
                    current.ask(&given).await
                }
                Err(e) => Err(e),
            };
            out.line(&match asked {
                Ok((sha256, answer)) => {
                    json!({ "event": "answered", "sha256": sha256, "call": answer })
                }
                Err(e) => json!({ "event": "refused", "error": e.to_string() }),
            });
        });
    }
}
