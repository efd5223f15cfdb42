//! Black-box tests of the guard, the lock and git, with the real `git` in
//! temporary directories.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod changes;
mod commit;
mod dirty;
mod escapes;
mod files;
mod folder;
mod hooks;
mod lock;
mod repos;
mod restack;
mod snapshot;
mod support;
