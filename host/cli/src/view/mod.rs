//! What a terminal shows of a run.

mod held;
mod live;
mod model;
mod plain;
mod queued;

pub use held::Held;
pub use live::Live;
pub use model::time;
pub use plain::Plain;
pub use queued::Queued;
