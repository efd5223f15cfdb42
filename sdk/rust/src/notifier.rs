//! World `notifier-plugin`.

use crate::Error;
pub use crate::bindings::notifier::exports::ralph::plugin::notifier::Notice;

/// Is told how a run has ended.
pub trait Notifier {
    /// May be called again for the same end if it fails.
    ///
    /// # Errors
    /// Why nobody could be told.
    fn notify(notice: &Notice) -> Result<(), Error>;
}

/// Exports a type that implements [`Notifier`].
#[macro_export]
macro_rules! notifier {
    ($notifier:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphNotifier;
            impl $crate::__private::notifier::exports::ralph::plugin::notifier::Guest
                for RalphNotifier
            {
                fn notify(notice: $crate::Notice) -> Result<(), $crate::Error> {
                    <$notifier as $crate::Notifier>::notify(&notice)
                }
            }
            $crate::__private::notifier::export!(
                RalphNotifier with_types_in $crate::__private::notifier
            );
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_notifier<T: $crate::Notifier>() {}
            is_notifier::<$notifier>();
        };
    };
}
