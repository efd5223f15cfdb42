//! World `judge-plugin`.

pub use crate::bindings::judge::exports::ralph::plugin::judge::{Evidence, GateResult};
use crate::{Error, Iteration, Verdict};

/// Asks another agent about the work: writes the question, reads the answer.
/// Must be pure: same input, same answer.
pub trait Judge {
    /// Writes the question.
    ///
    /// # Errors
    /// The configuration is wrong.
    fn prompt(it: &Iteration, evidence: &Evidence) -> Result<String, Error>;

    /// Reads the answer.
    ///
    /// # Errors
    /// [`Error::Failed`] if the answer holds no verdict: the host asks once more,
    /// with the error's text as [`Evidence::complaint`].
    fn decide(answer: &str) -> Result<Verdict, Error>;
}

/// Exports a type that implements [`Judge`] as the component's judge.
#[macro_export]
macro_rules! judge {
    ($judge:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphComponent;
            impl $crate::__private::judge::exports::ralph::plugin::judge::Guest for RalphComponent {
                fn prompt(
                    it: $crate::Iteration,
                    evidence: $crate::Evidence,
                ) -> Result<String, $crate::Error> {
                    <$judge as $crate::Judge>::prompt(&it, &evidence)
                }
                fn decide(answer: String) -> Result<$crate::Verdict, $crate::Error> {
                    <$judge as $crate::Judge>::decide(&answer)
                }
            }
            $crate::__private::judge::export!(RalphComponent with_types_in $crate::__private::judge);
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_judge<T: $crate::Judge>() {}
            is_judge::<$judge>();
        };
    };
}
