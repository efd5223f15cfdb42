//! World `canonicaliser-plugin`.

use crate::Error;

/// Brings a document into the one form whose hash identifies it. Must be pure,
/// and applying it twice must change nothing more than applying it once.
pub trait Canonicaliser {
    /// Name and version of the form, for example `ralph-text-1`; stands in receipts.
    const ALGORITHM: &'static str;

    /// `path` is for messages and for choosing by extension; it isn't opened.
    ///
    /// # Errors
    /// The content isn't a document of this kind; says where.
    fn canonicalise(path: &str, content: &[u8]) -> Result<Vec<u8>, Error>;
}

/// Exports a type that implements [`Canonicaliser`] as the component's canonicaliser.
#[macro_export]
macro_rules! canonicaliser {
    ($canonicaliser:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphComponent;
            impl $crate::__private::canonicaliser::exports::ralph::plugin::canonicaliser::Guest
                for RalphComponent
            {
                fn algorithm() -> String {
                    <$canonicaliser as $crate::Canonicaliser>::ALGORITHM.to_owned()
                }
                fn canonicalise(path: String, content: Vec<u8>) -> Result<Vec<u8>, $crate::Error> {
                    <$canonicaliser as $crate::Canonicaliser>::canonicalise(&path, &content)
                }
            }
            $crate::__private::canonicaliser::export!(
                RalphComponent with_types_in $crate::__private::canonicaliser
            );
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_canonicaliser<T: $crate::Canonicaliser>() {}
            is_canonicaliser::<$canonicaliser>();
        };
    };
}
