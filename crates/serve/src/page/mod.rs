//! Common parts of pages for a browser on the same machine: access control, serving, and the escaping of text.

pub mod guard;
pub mod origin;
pub mod server;

pub use guard::Guard;
pub use origin::PageOrigin;

/// Text that stands for itself in a page. Everything that comes from elsewhere goes through here.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Such as would turn the direction of what follows.
            other
                if other.is_control()
                    || matches!(other, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
                    || matches!(other, '\u{2066}'..='\u{2069}') =>
            {
                out.push('\u{fffd}');
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_elsewhere_is_text() {
        assert_eq!(escaped("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
        assert_eq!(escaped("a\u{202e}b\u{7}c\u{61c}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
    }
}
