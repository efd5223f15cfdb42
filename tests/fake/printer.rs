//! A fake agent that prints numbered lines at a steady rate, and notes how long it took to be rid of
//! them: `fake-printer LINES PER_SECOND NOTE`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of tests")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [lines, rate]: [u64; 2] = [&args[0], &args[1]].map(|a| a.parse().expect("a number"));
    let mut out = std::io::stdout().lock();
    let begun = Instant::now();
    let mut printed = 0;
    while printed < lines {
        let due = (begun.elapsed().as_secs_f64() * rate as f64) as u64;
        let mut text = String::new();
        while printed < due.min(lines) {
            let _ = writeln!(text, "{printed} is a line of what an agent says at work");
            printed += 1;
        }
        out.write_all(text.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    std::fs::write(&args[2], begun.elapsed().as_secs_f64().to_string()).unwrap();
}
