//! Numbers as ECMAScript writes them (ECMA-262, `Number::toString`), which is
//! what RFC 8785 asks for. Rust's own shortest form won't do: of two forms that
//! are equally near it takes the upper one, ECMAScript the even one.

/// Appends `number` to `out`; `false`, and nothing appended, if it isn't finite.
#[must_use]
pub fn write(number: f64, out: &mut String) -> bool {
    if number.is_finite() {
        out.push_str(ryu_js::Buffer::new().format_finite(number));
    }
    number.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(n: f64) -> String {
        let mut out = String::new();
        assert!(write(n, &mut out));
        out
    }

    #[test]
    fn layout_changes_where_ecmascript_changes_it() {
        for (n, want) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e21, "1.5e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (0.000_001, "0.000001"),
            (0.000_000_1, "1e-7"),
            (-0.000_001_5, "-0.0000015"),
            (1.25e-7, "1.25e-7"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            assert_eq!(text(n), want);
        }
    }

    #[test]
    fn of_two_equally_near_forms_the_even_one_is_written() {
        assert_eq!(text(32_383_688_444_064.25 + 0.0625), "32383688444064.312");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for n in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut out = String::new();
            assert!(!write(n, &mut out));
            assert_eq!(out, "");
        }
    }

    proptest! {
        #[test]
        fn every_double_reads_back_as_itself(bits: u64) {
            let n = f64::from_bits(bits);
            prop_assume!(n.is_finite() && n != 0.0);
            prop_assert_eq!(text(n).parse::<f64>().map(f64::to_bits), Ok(bits));
        }
    }
}
