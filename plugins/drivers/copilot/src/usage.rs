//! The file that `--usage-output-file` names.

use ralph_plugin::Usage;
use ralph_plugin::json_lines::u64_at;
use serde_json::Value;

/// Its name in the scratch directory.
pub const FILE: &str = "usage.json";

/// Sums over the models.
pub fn read(file: &[u8]) -> Option<Usage> {
    let whole: Value = serde_json::from_slice(file).ok()?;
    let mut sum = Usage {
        input_tokens: 0,
        output_tokens: 0,
        cached_tokens: 0,
        cost_usd: None,
    };
    for model in whole.get("modelMetrics")?.as_object()?.values() {
        let of = |pointer| u64_at(model, pointer).unwrap_or(0);
        let cached = of("/usage/cacheReadTokens");
        let input = of("/usage/inputTokens").saturating_sub(cached);
        sum.input_tokens = sum.input_tokens.saturating_add(input);
        sum.output_tokens = sum.output_tokens.saturating_add(of("/usage/outputTokens"));
        sum.cached_tokens = sum.cached_tokens.saturating_add(cached);
    }
    Some(sum)
}
