//! World `tracker-plugin`.

use crate::Error;
pub use crate::bindings::tracker::exports::ralph::plugin::tracker::{
    Entry as TrackedTask, NewTask, Outcome as Tracked, State as TrackedState,
};

/// Keeps tasks. Whatever is said may be said again, and must then change nothing.
pub trait Tracker {
    /// All tasks in their order, done ones too.
    ///
    /// # Errors
    /// Why they can't be told; it ends the run.
    fn load() -> Result<Vec<TrackedTask>, Error>;

    /// An agent is about to work on it.
    ///
    /// # Errors
    /// As above.
    fn begin(task: &str) -> Result<(), Error> {
        let _ = task;
        Ok(())
    }

    /// What became of it. False if there is no such task any more.
    ///
    /// # Errors
    /// As above.
    fn apply(task: &str, outcome: &Tracked) -> Result<bool, Error>;

    /// A further task; its id.
    ///
    /// # Errors
    /// As above.
    fn add(new: &NewTask) -> Result<String, Error>;
}

/// Exports a type that implements [`Tracker`].
#[macro_export]
macro_rules! tracker {
    ($tracker:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphTracker;
            impl $crate::__private::tracker::exports::ralph::plugin::tracker::Guest for RalphTracker {
                fn load() -> Result<Vec<$crate::TrackedTask>, $crate::Error> {
                    <$tracker as $crate::Tracker>::load()
                }
                fn begin(task: String) -> Result<(), $crate::Error> {
                    <$tracker as $crate::Tracker>::begin(&task)
                }
                fn apply(task: String, outcome: $crate::Tracked) -> Result<bool, $crate::Error> {
                    <$tracker as $crate::Tracker>::apply(&task, &outcome)
                }
                fn add(new: $crate::NewTask) -> Result<String, $crate::Error> {
                    <$tracker as $crate::Tracker>::add(&new)
                }
            }
            $crate::__private::tracker::export!(
                RalphTracker with_types_in $crate::__private::tracker
            );
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_tracker<T: $crate::Tracker>() {}
            is_tracker::<$tracker>();
        };
    };
}
