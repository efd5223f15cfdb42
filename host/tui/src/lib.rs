//! `ralph attach`: runs that are on, in a terminal. A client of the TUI protocol and nothing else.
//!
//! - [`link`]: a connection to one run
//! - [`run`], [`log`]: what is known of a run; [`app`]: all of them, and what a person is doing
//! - [`keys`]: what a key does; [`typed`]: what it is to an agent's terminal
//! - [`draw`]: what is on the screen; [`theme`]: in which colours
//! - [`screen`]: the terminal itself, which is given back whatever happens
//! - [`attach`]: the loop over all of that

pub mod app;
pub mod attach;
pub mod draw;
pub mod keys;
pub mod link;
pub mod log;
pub mod run;
pub mod screen;
pub mod theme;
pub mod typed;

pub use attach::{Left, Message, Options, attach};
