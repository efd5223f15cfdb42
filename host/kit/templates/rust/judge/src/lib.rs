//! Asks another agent about the work, and reads `VERDICT: yes` or `VERDICT: no` in its answer.

use ralph_plugin::{Error, Evidence, Iteration, Judge, Verdict};

struct Plugin;

impl Judge for Plugin {
    fn prompt(it: &Iteration, evidence: &Evidence) -> Result<String, Error> {
        let task = it.task.as_ref().map_or("(none)", |task| &task.title);
        let mut question = format!(
            "The task was: {task}\n\nThe change:\n{}\n\nIs the task done? End with a line \
             `VERDICT: yes` or `VERDICT: no`.\n",
            evidence.diff
        );
        if let Some(complaint) = &evidence.complaint {
            question += &format!("Your last answer could not be read: {complaint}\n");
        }
        Ok(question)
    }

    fn decide(answer: &str) -> Result<Verdict, Error> {
        let last = answer.lines().rev().find(|line| !line.trim().is_empty());
        match last.map(str::trim) {
            Some("VERDICT: yes") => Ok(Verdict::pass("the task is done")),
            Some("VERDICT: no") => Ok(Verdict::fail(answer.lines().next().unwrap_or_default())),
            _ => Err(Error::failed("the last line is no verdict")),
        }
    }
}

ralph_plugin::judge!(Plugin);
ralph_plugin::manifest!(kinds: ["judge"]);
