//! What the plugins `judge` and `review` share: how the question is put together
//! ([`prompt`]), and how the answer is read ([`decide`]).
//!
//! # How an answer is read
//!
//! CR LF and CR count as LF; escape sequences and other control characters are dropped.
//!
//! 1. **What counts.** Blank lines don't count, nor lines that begin with `>`
//!    (quotes), nor fenced blocks, the fences included; a fence that is never
//!    closed runs to the end. So an echo of the question counts for nothing. The
//!    one exception is a fence marked `json` that holds one JSON object and nothing else.
//! 2. **The structured verdict.** A *verdict object* is a JSON object with the key
//!    `verdict`, in such a fence, or outside of fences beginning at the start of a
//!    line and ending at the end of one. If there is any, the last one decides:
//!    `"pass"` or `true` accepts, `"fail"` or `false` doesn't (upper and lower case
//!    are the same), anything else is unreadable. Raw control characters inside its
//!    strings are tolerated, a key that stands twice isn't.
//! 3. **The token line.** Without a verdict object the last line that counts must be
//!    a token line: `JUDGE_SIGNAL: true` or `JUDGE_SIGNAL: false` for the judge;
//!    `SHIP` (or the configured `required_token`), `BLOCK` or `BLOCK: reason` for the
//!    reviewer. White space around it, Markdown marks (`*`, `` ` ``, `_`, `~`, `#`, a
//!    list's dash) and one full stop at the end are taken off first; upper and lower
//!    case are the same. A token in the middle of a sentence is none.
//! 4. **Contradiction.** If two token lines that count disagree, or a token line
//!    behind the verdict object disagrees with it, the answer is unreadable.
//!
//! An unreadable answer is [`Error::Failed`](ralph_plugin::Error::Failed) with words
//! that tell the model what was wrong; the host asks once more with them and after
//! that counts the work as not accepted.
//!
//! * [`answer`]: what of an answer counts
//! * [`decide`]: the verdict out of that
//! * [`objects`]: JSON objects out of running text
//! * [`prompt`]: the question
//! * [`quote`]: fences that can't be closed from inside, characters that can't hide
//! * [`rules`]: how judge and reviewer differ

pub mod answer;
pub mod decide;
pub mod objects;
pub mod prompt;
pub mod quote;
pub mod rules;

pub use decide::decide;
pub use prompt::prompt;
pub use rules::{Rules, Tokens};
