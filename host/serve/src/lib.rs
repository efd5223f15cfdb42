//! `ralph serve`: runs over HTTP.
//!
//! - [`settings`]: `serve.toml`, the operator's file
//! - [`auth`]: who asks and what they may do; [`caller`]: that in a handler, and what was sent
//! - [`guard`]: what holds for every request; [`problem`]: errors as clients get them
//! - [`audit`]: what was asked for, on the disk before it is done
//! - [`store`]: what must not be lost; [`runs`]: from a submission to a run's end; [`events`]: what it tells meanwhile
//! - [`routes`]: the addresses; [`server`]: connections
//! - [`app`], [`service`]: what all of them share, from its start to its end

pub mod app;
pub mod audit;
pub mod auth;
pub mod caller;
pub mod events;
pub mod guard;
pub mod metrics;
pub mod problem;
pub mod routes;
pub mod runs;
pub mod server;
pub mod service;
pub mod settings;
pub mod store;
