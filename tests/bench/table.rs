//! What was measured against what, whether it is as promised, and how that is shown.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::stats::Samples;

/// What the numbers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Shown as µs, ms or s.
    Seconds,
    /// Shown as MiB.
    Bytes,
    /// Bytes per second, shown as MiB/s.
    Rate,
}

/// How two sides are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// Ours divided by theirs.
    Ratio,
    /// Theirs divided by ours: how many times faster we are, or slower if a rate is compared.
    Faster,
    /// Ours minus theirs.
    Difference,
    /// Ours alone.
    Alone,
}

/// What was promised of the comparison's result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Promise {
    /// In the comparison's own terms.
    AtMost(f64),
    /// In the comparison's own terms.
    AtLeast(f64),
    /// It is good to know.
    Nothing,
}

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Row {
    /// What is compared.
    pub name: String,
    /// Our side.
    pub ours: Samples,
    /// What it is held against.
    pub theirs: Option<Samples>,
    /// Of both sides.
    pub unit: Unit,
    /// How.
    pub compare: Compare,
    /// What for.
    pub promise: Promise,
}

impl Row {
    /// How many times theirs ours is.
    pub fn ratio(name: &str, ours: &Samples, theirs: &Samples, promise: Promise) -> Row {
        Row {
            name: name.into(),
            ours: ours.clone(),
            theirs: Some(theirs.clone()),
            unit: Unit::Seconds,
            compare: Compare::Ratio,
            promise,
        }
    }

    fn result(&self) -> Samples {
        match (self.compare, &self.theirs) {
            (Compare::Ratio, Some(theirs)) => self.ours.zip(theirs, |a, b| a / b),
            (Compare::Faster, Some(theirs)) => self.ours.zip(theirs, |a, b| b / a),
            (Compare::Difference, Some(theirs)) => self.ours.zip(theirs, |a, b| a - b),
            _ => self.ours.clone(),
        }
    }

    /// None if nothing was promised.
    pub fn met(&self) -> Option<bool> {
        let result = self.result().median();
        match self.promise {
            Promise::AtMost(limit) => Some(result <= limit),
            Promise::AtLeast(limit) => Some(result >= limit),
            Promise::Nothing => None,
        }
    }

    /// For programs. Seconds and bytes.
    pub fn json(&self) -> Value {
        let side = |samples: &Samples| {
            let (low, high) = samples.middle();
            json!({ "median": samples.median(), "q1": low, "q3": high, "samples": samples.len() })
        };
        json!({
            "name": self.name,
            "unit": match self.unit {
                Unit::Seconds => "s",
                Unit::Bytes => "bytes",
                Unit::Rate => "bytes/s",
            },
            "ours": side(&self.ours),
            "theirs": self.theirs.as_ref().map(side),
            "compare": match self.compare {
                Compare::Ratio => "ours/theirs",
                Compare::Faster => "theirs/ours",
                Compare::Difference => "ours-theirs",
                Compare::Alone => "ours",
            },
            "result": side(&self.result()),
            "promised": match self.promise {
                Promise::AtMost(limit) => json!({ "at_most": limit }),
                Promise::AtLeast(limit) => json!({ "at_least": limit }),
                Promise::Nothing => Value::Null,
            },
            "met": self.met(),
        })
    }

    fn cells(&self) -> [String; 6] {
        let factor = matches!(self.compare, Compare::Ratio | Compare::Faster);
        let one = |value: f64| {
            if factor {
                format!("{value:.2}")
            } else {
                quantity(value, self.unit)
            }
        };
        let result = self.result();
        let (low, high) = result.middle();
        [
            self.name.clone(),
            spread(&self.ours, self.unit),
            self.theirs
                .as_ref()
                .map_or_else(String::new, |s| spread(s, self.unit)),
            if factor {
                format!("{} ({}-{})", one(result.median()), one(low), one(high))
            } else {
                one(result.median())
            },
            match self.promise {
                Promise::AtMost(limit) => format!("<= {}", one(limit)),
                Promise::AtLeast(limit) => format!(">= {}", one(limit)),
                Promise::Nothing => String::new(),
            },
            match self.met() {
                Some(true) => "yes".into(),
                Some(false) => "NO".into(),
                None => String::new(),
            },
        ]
    }
}

/// The median, and how far the quartiles are from it.
fn spread(samples: &Samples, unit: Unit) -> String {
    let (low, high) = samples.middle();
    let median = samples.median();
    let percent = (high - low) / 2.0 / median * 100.0;
    if samples.len() < 2 {
        return quantity(median, unit);
    }
    format!("{} ±{percent:.0}%", quantity(median, unit))
}

fn quantity(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
        Unit::Rate => format!("{:.1} MiB/s", value / f64::from(1 << 20)),
        Unit::Seconds if value.abs() < 1e-3 => format!("{:.1} µs", value * 1e6),
        Unit::Seconds if value.abs() < 1.0 => format!("{:.2} ms", value * 1e3),
        Unit::Seconds => format!("{value:.2} s"),
    }
}

const HEAD: [&str; 6] = ["what", "ours", "theirs", "result", "promised", "met"];

/// For people.
pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            let padding = " ".repeat(width - cell.chars().count());
            // Names to the left, numbers to the right.
            let _ = match column {
                0 => write!(text, "{gap}{cell}{padding}"),
                _ => write!(text, "{gap}{padding}{cell}"),
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        if number == 0 {
            let all = widths.iter().sum::<usize>() + 2 * (HEAD.len() - 1);
            text.push_str(&"-".repeat(all));
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(value: f64) -> Samples {
        let mut samples = Samples::default();
        samples.push(value);
        samples
    }

    #[test]
    fn a_promise_is_held_against_the_comparison_and_not_against_a_side() {
        let mut row = Row::ratio("x", &samples(3.0), &samples(2.0), Promise::AtMost(1.5));
        assert_eq!(row.met(), Some(true));
        row.promise = Promise::AtMost(1.4);
        assert_eq!(row.met(), Some(false));
        row.compare = Compare::Faster;
        row.promise = Promise::AtLeast(0.6);
        assert_eq!(row.met(), Some(true));
        row.compare = Compare::Difference;
        row.promise = Promise::AtMost(0.5);
        assert_eq!(row.met(), Some(false));
        row.promise = Promise::Nothing;
        assert_eq!(row.met(), None);
    }
}
