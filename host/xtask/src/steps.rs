//! What is being done, and how long it took: one line each, on standard error.

use std::time::Instant;

/// Counts the steps of a command.
pub struct Steps {
    total: usize,
    done: usize,
    started: Instant,
}

impl Steps {
    pub fn new(total: usize) -> Self {
        Steps {
            total,
            done: 0,
            started: Instant::now(),
        }
    }

    /// Announces a step, carries it out, and tells the time it took.
    pub fn step<T>(
        &mut self,
        title: &str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        self.done += 1;
        let head = format!("[{}/{}] {title} …", self.done, self.total);
        eprintln!("{head}");
        let started = Instant::now();
        let result = work();
        let took = seconds(started);
        match &result {
            Ok(_) => eprintln!("{head} {took}"),
            Err(_) => eprintln!("{head} failed after {took}"),
        }
        result
    }

    /// The time of all steps together.
    pub fn took(&self) -> String {
        seconds(self.started)
    }
}

fn seconds(since: Instant) -> String {
    let seconds = since.elapsed().as_secs_f64();
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 600.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}
