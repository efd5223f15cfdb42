//! Tests of the task files, by subject.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod add;
mod errors;
mod ids;
mod json;
mod markdown;
mod markdown_items;
mod properties;
mod reader;
mod select;
mod yaml;

use super::{Selection, TaskFile, TaskFileError};
use crate::types::TaskState;

fn md(text: &str) -> TaskFile {
    TaskFile::parse("PRD.md", text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn json(text: &str) -> TaskFile {
    TaskFile::parse("prd.json", text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn fails(name: &str, text: &str) -> TaskFileError {
    TaskFile::parse(name, text.as_bytes()).expect_err(text)
}

/// `id=title` of each task.
fn tasks(file: &TaskFile) -> Vec<String> {
    file.entries()
        .iter()
        .map(|e| format!("{}={}", e.task.id, e.task.title))
        .collect()
}

/// Titles of each task; no task at all is an empty list here.
fn titles(text: &str) -> Vec<String> {
    match TaskFile::parse("PRD.md", text.as_bytes()) {
        Ok(file) => file
            .entries()
            .iter()
            .map(|e| e.task.title.clone())
            .collect(),
        Err(e) => {
            assert!(e.message.starts_with("no tasks"), "{e}\n{text}");
            Vec::new()
        }
    }
}

fn set(file: &TaskFile, id: &str, state: TaskState) -> String {
    String::from_utf8(file.set_state(id, state).unwrap()).unwrap()
}

fn next_id(file: &TaskFile) -> Option<String> {
    match file.next(&|_| false) {
        Selection::Task(entry) => Some(entry.task.id.clone()),
        _ => None,
    }
}
