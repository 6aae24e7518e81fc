//! Decimal digits of all scripts.

/// The zeros of the decimal digits that Unicode has (general category Nd, version 14) but for those that NFKC makes
/// ASCII ones: the nine others follow each.
#[rustfmt::skip]
const ZEROS: [u32; 58] = [
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66,
    0xDE6, 0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0x104A0,
    0x10D30, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0,
    0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1E140, 0x1E2F0, 0x1E950,
];

/// The ASCII digit that has the value of a decimal digit; any other character as it is.
pub(super) fn ascii_digit(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let code = u32::from(c);
    // The last zero that is not above it.
    let place = ZEROS.partition_point(|&zero| zero <= code);
    let value = place.checked_sub(1).map(|before| code - ZEROS[before]).filter(|&value| value < 10);
    value.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_digit_has_its_value() {
        let read = |text: &str| text.chars().map(ascii_digit).collect::<String>();
        assert_eq!(read("٠١٢٣٤٥٦٧٨٩ ۰۹ ०९ ๐๙ 07"), "0123456789 09 09 09 07");
        assert_eq!(read("½²x\u{66a}"), "½²x\u{66a}");
        assert!(ZEROS.is_sorted());
        for code in ZEROS.iter().flat_map(|&zero| zero..zero + 10) {
            assert!(char::from_u32(code).is_some_and(char::is_numeric), "{code:x}");
        }
    }
}
