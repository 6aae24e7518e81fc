//! Texts from elsewhere, fit for the places of a page that they go to.

use serde_json::Value;

/// A text in which nothing hides: characters that control, or that change the direction of what follows, become
/// `\u{...}`. Letters of all scripts stay, and so do the joiners that some of them need.
pub fn visible(text: &str) -> String {
    if text.trim().is_empty() {
        return format!("{text:?}");
    }
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) { visible.extend(c.escape_unicode()) } else { visible.push(c) }
    }
    visible
}

fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}')
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}')
        || matches!(c, '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || matches!(c as u32 & 0xffff, 0xfffe | 0xffff)
}

/// A text between tags, of HTML or of SVG in it, or within a quoted attribute.
pub fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '`' => escaped.push_str("&#96;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// At most so many characters of a text, with an ellipsis for the others.
pub fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// JSON within a script element: no tag can begin or end in it. The three characters stand only within strings.
pub fn script_json(value: &Value) -> String {
    value.to_string().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}
