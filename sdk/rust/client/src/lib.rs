//! A client of `ralph serve`: runs, their events, prompts. It blocks; what it has is shared by
//! its clones, and may be used from several threads.
//!
//! ```no_run
//! use ralph_service::{Client, SubmitRun, Token};
//!
//! # fn main() -> Result<(), ralph_service::Error> {
//! let ralph = Client::builder("https://ralph.example.org")
//!     .token(Token::file("/run/secrets/ralph"))
//!     .build()?;
//! let run = ralph.submit_run(&SubmitRun {
//!     prompt_path: Some("prompts/refactor.yaml".into()),
//!     idempotency_key: Some("refactor-17".into()),
//!     ..SubmitRun::new("site")
//! })?;
//! for event in ralph.stream_events(&run.run_id) {
//!     let event = event?;
//!     println!("{} {}", event.kind, event.data);
//! }
//! println!("{}", ralph.get_run(&run.run_id)?.status);
//! # Ok(())
//! # }
//! ```
//!
//! [`Client::from_env`] reads the variables that the client in JavaScript reads. That one can also
//! start a service of its own and keep it up; this one speaks to a service that is there.
//!
//! Fields that this version doesn't know are kept: in `more` of what is answered, and in
//! [`Event::data`], which is the service's own text.

mod backoff;
mod client;
mod connection;
mod env;
mod error;
mod events;
mod settings;
mod sse;
mod token;
mod types;

pub use backoff::{BACKOFF_MAX, backoff};
pub use client::{Client, Runs};
pub use error::{Error, Problem};
pub use events::{Event, Events, Stopper};
pub use settings::Builder;
pub use token::Token;
pub use types::{
    DiffSummary, Edited, Health, Prompt, PromptStatus, Run, RunConfig, RunPage, RunQuery,
    SavePrompt, Status, SubmitRun, Terminal,
};
