//! Takes tasks from a text file of the project, `TASKS.txt`: `- title` is open, `+ title` done.

use ralph_plugin::{Error, NewTask, Task, Tracked, TrackedState, TrackedTask, Tracker};

/// Below the granted directory, which is the whole project.
const FILE: &str = "/workspace/TASKS.txt";

struct Plugin;

fn lines() -> Result<Vec<String>, Error> {
    let text =
        std::fs::read_to_string(FILE).map_err(|e| Error::failed(format!("TASKS.txt: {e}")))?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn write(lines: &[String]) -> Result<(), Error> {
    Ok(std::fs::write(FILE, lines.join("\n") + "\n")?)
}

/// The line of `T3` is the third.
fn index(id: &str, lines: &[String]) -> Option<usize> {
    let number: usize = id.strip_prefix('T')?.parse().ok()?;
    number.checked_sub(1).filter(|at| *at < lines.len())
}

impl Tracker for Plugin {
    fn load() -> Result<Vec<TrackedTask>, Error> {
        let entry = |(at, line): (usize, &String)| TrackedTask {
            task: Task {
                id: format!("T{}", at + 1),
                title: line.trim_start_matches(['-', '+', '!', ' ']).to_owned(),
                description: String::new(),
                acceptance: Vec::new(),
                priority: None,
                depends_on: Vec::new(),
            },
            state: match line.chars().next() {
                Some('+') => TrackedState::Done,
                Some('!') => TrackedState::Blocked,
                _ => TrackedState::Open,
            },
        };
        Ok(lines()?.iter().enumerate().map(entry).collect())
    }

    fn apply(task: &str, outcome: &Tracked) -> Result<bool, Error> {
        let mut lines = lines()?;
        let Some(at) = index(task, &lines) else {
            return Ok(false);
        };
        let mark = match outcome {
            Tracked::Open => '-',
            Tracked::Done(_) => '+',
            Tracked::Blocked(_) => '!',
        };
        let title = lines[at].trim_start_matches(['-', '+', '!', ' ']);
        lines[at] = format!("{mark} {title}");
        write(&lines)?;
        Ok(true)
    }

    fn add(new: &NewTask) -> Result<String, Error> {
        let mut lines = lines()?;
        lines.push(format!("- {}", new.title));
        write(&lines)?;
        Ok(format!("T{}", lines.len()))
    }
}

ralph_plugin::tracker!(Plugin);
ralph_plugin::manifest! {
    kinds: ["tracker"],
    capabilities: { "write": ["."] }
}
