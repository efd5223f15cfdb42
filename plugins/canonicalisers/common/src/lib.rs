//! What the canonicalisers share: a JSON value that keeps its keys as they were
//! written, the one text that RFC 8785 gives it, and the decoding of a file.
//!
//! * [`value`]: [`Value`], and [`Value::canonical`]
//! * [`number`]: how ECMAScript writes a double
//! * [`decode`]: bytes to text, with the line of what can't be read

pub mod decode;
pub mod number;
pub mod value;

pub use decode::{BadUtf8, text};
pub use value::{Object, Value};
