//! World `gate-plugin`.

use crate::{Error, Iteration, Verdict};

/// Checks the work of one iteration. See the crate's first page for a whole one.
pub trait Gate {
    /// Rules on what the iteration changed. A gate that could not rule gives an
    /// error; that stops the acceptance just as [`Verdict::fail`] does.
    ///
    /// # Errors
    /// The configuration is wrong, a grant is missing, or the check itself broke.
    fn check(it: &Iteration) -> Result<Verdict, Error>;
}

/// Exports a type that implements [`Gate`] as the component's gate.
#[macro_export]
macro_rules! gate {
    ($gate:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphComponent;
            impl $crate::__private::gate::exports::ralph::plugin::gate::Guest for RalphComponent {
                fn check(it: $crate::Iteration) -> Result<$crate::Verdict, $crate::Error> {
                    <$gate as $crate::Gate>::check(&it)
                }
            }
    $crate::__private::gate::export!(RalphComponent with_types_in $crate::__private::gate);
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_gate<T: $crate::Gate>() {}
            is_gate::<$gate>();
        };
    };
}
