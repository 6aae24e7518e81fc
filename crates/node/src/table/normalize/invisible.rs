//! Characters that nobody sees.

use std::borrow::Cow;

/// The code points that Unicode calls default-ignorable (`Default_Ignorable_Code_Point`, DerivedCoreProperties.txt of
/// Unicode 17): zero-width characters, soft hyphens, marks of direction, variation selectors, fillers.
const IGNORABLE: [(u32, u32); 17] = [
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
];

/// The text without default-ignorable characters, as `toNFKC_Casefold` drops them.
pub(super) fn without_invisible(value: &str) -> Cow<'_, str> {
    // Nearly every value is ASCII, and the rest of them seldom has one.
    if value.is_ascii() || !value.chars().any(is_ignorable) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.chars().filter(|&c| !is_ignorable(c)).collect())
}

/// Likewise, without U+200C and U+200D, which tell domain names apart (RFC 5892, appendix A).
pub(super) fn without_invisible_but_joiners(value: &str) -> Cow<'_, str> {
    if value.is_ascii() {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.chars().filter(|&c| !is_ignorable(c) || matches!(c, '\u{200c}' | '\u{200d}')).collect())
}

fn is_ignorable(c: char) -> bool {
    let code = u32::from(c);
    IGNORABLE.iter().any(|&(first, last)| (first..=last).contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_seen_is_dropped() {
        for (value, expected) in [
            ("ab\u{200b}c", "abc"),
            ("\u{feff}abc\u{200e}", "abc"),
            ("ab\u{ad}c", "abc"),
            ("\u{2066}x\u{2069}", "x"),
            ("❤\u{fe0f}", "❤"),
            ("\u{200b}\u{3164}", ""),
            ("é a\u{301}\u{a0}ي", "é a\u{301}\u{a0}ي"),
        ] {
            assert_eq!(without_invisible(value), expected, "{value:?}");
        }
        // As many as DerivedCoreProperties.txt counts in its last line of the property.
        let dropped = ('\0'..=char::MAX).filter(|&c| is_ignorable(c)).count();
        assert_eq!(dropped, 4174);
        assert_eq!(without_invisible_but_joiners("a\u{200c}b\u{200d}\u{200b}c"), "a\u{200c}b\u{200d}c");
        assert!(('\0'..=char::MAX).filter(|&c| is_ignorable(c)).all(|c| !c.is_numeric() && !c.is_whitespace()));
    }
}
