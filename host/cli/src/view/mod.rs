//! What a terminal shows of a run.

mod live;
mod model;
mod plain;

pub use live::Live;
pub use plain::Plain;
