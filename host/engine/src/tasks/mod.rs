//! Task files: read, chosen from, and edited in place.
//!
//! - [`mod@list`]: [`TaskList`], what the rest of the engine uses, whatever the tasks are written in
//! - [`mod@file`]: [`TaskFile`], a list with the bytes it stands in
//! - [`reader`]: a file that is read again and again
//! - [`select`]: which task is next, and why none is
//! - [`add`]: a further task; [`convert`]: the same tasks in another form
//! - [`error`]: what is wrong with a file, and where
//! - `markdown`, `raw`, `section`, `item`, `checklist`: checklists, from the outside in
//! - `prd`, `story`, `json`: `prd.json`
//! - `yaml`: `tasks.yaml`, by way of the same
//! - `graph`: ids and dependencies; [`ids`]: those given to items that bring none
//! - [`tracker`]: tasks that are no file, from what `gh` and `bd` print
//! - `decode`: bytes to text
//!
//! # Markdown
//!
//! A task is a GFM task item: a list marker (`-`, `*`, `+`, `1.`, `1)`), a box and a title.
//! `[ ]` is open, `[x]` and `[X]` are done, `[-]` and `[!]` blocked, `[~]` in progress.
//! Boxes in code, HTML comments and block quotes are text.
//!
//! - If there is a level-2 heading whose text starts with "Tasks", only boxes below such a heading,
//!   up to the next heading of level 1 or 2, are tasks. Boxes below a heading that starts with
//!   "Success criteria", "Acceptance", "Definition of done" or "Exit criteria" never are.
//!   Boxes left out for either reason are named in [`TaskFile::warnings`].
//! - Items nested in a task are its acceptance criteria, **with or without a box**. (In the Python
//!   loop, nested boxes were tasks of their own.) A box nested in an item without one is a task.
//! - A nested `Depends on: T1, T2` names tasks; a bare number is `T` and the number, else a position.
//! - Other indented text is the description.
//! - An id may stand at the start of the title (`US-1: …`, `**US-1**: …`, `[US-1] …`, `US-1 - …`,
//!   `T1: …`) or at its end (`{#id}`, `<!-- id: x -->`). Without one the id is `T` and the position,
//!   which counts from 1 over all tasks of the file. A run remembers it ([`Ids`]): from then on the
//!   task keeps it, wherever it stands, and new tasks get the next free number.
//!
//! The block structure is scanned by hand, not with a Markdown crate: `[-]`, `[!]` and `[~]` are
//! no GFM, so a parser gives them as text without a place to edit; and people indent children of
//! `1.` by two columns, which CommonMark reads as a list of its own and a person doesn't.
//!
//! # `prd.json`
//!
//! An object with `userStories` (or `stories`), each with `id` and `title`; see `prd`. Fields that
//! nobody here knows survive, as does all formatting.
//!
//! # YAML
//!
//! A mapping with `tasks`, a list of mappings with `id` and `title`; see `yaml`. Comments, quoting
//! and layout survive: only the value that says a task's state is replaced, or one line added.

pub mod add;
mod checklist;
pub mod convert;
mod decode;
pub mod error;
pub mod file;
mod graph;
pub mod ids;
mod item;
mod json;
pub mod list;
mod markdown;
mod prd;
mod raw;
pub mod reader;
mod section;
pub mod select;
mod story;
pub mod tracker;
mod yaml;

#[cfg(test)]
mod tests;

pub use add::NewTask;
pub use error::TaskFileError;
pub use file::{Entry, Format, TaskFile};
pub use ids::Ids;
pub use list::TaskList;
pub use reader::Reader;
pub use select::Selection;
