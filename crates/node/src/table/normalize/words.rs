//! `text` and `name`.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};

/// NFKC, full case folding, NFKC again (folding may undo it), runs of white space to one blank. `value` is trimmed.
pub(super) fn text(value: &str, out: &mut String) -> Option<()> {
    if value.is_ascii() {
        push_words(value.split_whitespace(), out, |word, out| {
            out.extend(word.bytes().map(|byte| char::from(byte.to_ascii_lowercase())));
        });
        return Some(());
    }
    let folded: String = value.nfkc().default_case_fold().nfkc().collect();
    let start = out.len();
    push_words(folded.split_whitespace(), out, |word, out| out.push_str(word));
    (out.len() > start).then_some(())
}

/// NFKD, combining marks dropped, full case folding, everything that is no letter or digit made a blank, the words
/// sorted by code point, one blank between.
pub(super) fn name(value: &str, out: &mut String) -> Option<()> {
    let start = out.len();
    if value.is_ascii() {
        push_plain(value.bytes().map(char::from), out, |c| c.is_ascii_alphanumeric().then(|| c.to_ascii_lowercase()));
    } else {
        push_plain(folded(value), out, |c| c.is_alphanumeric().then_some(c));
    }
    sort_words(out, start);
    (out.len() > start).then_some(())
}

/// The characters of a name without case and accents.
pub(super) fn folded(value: &str) -> impl Iterator<Item = char> {
    // Folding after the marks are gone can leave characters that decompose further, hence the second NFKD.
    value.nfkd().filter(|&c| !is_mark(c)).default_case_fold().nfkd().filter(|&c| !is_mark(c))
}

/// Marks that are dropped: those that combine (their class is not 0) and those that are no letters. The vowel signs of
/// Indic scripts are marks of class 0 that count as letters: they are a part of the word.
fn is_mark(c: char) -> bool {
    canonical_combining_class(c) != 0 || (is_combining_mark(c) && !c.is_alphanumeric())
}

fn push_words<'a>(words: impl Iterator<Item = &'a str>, out: &mut String, push: impl Fn(&str, &mut String)) {
    for (i, word) in words.enumerate() {
        if i > 0 {
            out.push(' ');
        }
        push(word, out);
    }
}

/// Appends what `keep` makes of the characters; runs of others become one blank, none at either end.
fn push_plain(chars: impl Iterator<Item = char>, out: &mut String, keep: impl Fn(char) -> Option<char>) {
    let start = out.len();
    let mut gap = false;
    for c in chars {
        match keep(c) {
            Some(c) => {
                if gap && out.len() > start {
                    out.push(' ');
                }
                gap = false;
                out.push(c);
            }
            None => gap = true,
        }
    }
}

/// Sorts the words of `out[start..]`. UTF-8 sorts as code points do.
pub(super) fn sort_words(out: &mut String, start: usize) {
    let text = &out[start..];
    if text.split(' ').is_sorted() {
        return;
    }
    let length = text.len();
    // Nearly all names have few words: these need no memory.
    let mut few = [""; 8];
    let mut many = Vec::new();
    let count = text.bytes().filter(|&byte| byte == b' ').count() + 1;
    let words = match few.get_mut(..count) {
        Some(few) => {
            few.iter_mut().zip(text.split(' ')).for_each(|(slot, word)| *slot = word);
            few
        }
        None => {
            many.extend(text.split(' '));
            &mut many[..]
        }
    };
    words.sort_unstable();
    let mut sorted = String::with_capacity(length);
    push_words(words.iter().copied(), &mut sorted, |word, out| out.push_str(word));
    out.replace_range(start.., &sorted);
}
