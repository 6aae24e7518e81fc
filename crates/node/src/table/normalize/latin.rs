//! `latin` and `initials`: names of persons in Latin letters, whole or shortened.

use super::words::{folded, sort_words};

/// Normalises like `name`, with the letters of other alphabets in Latin ones before the words are sorted.
pub(super) fn latin(value: &str, out: &mut String) -> Option<()> {
    let start = out.len();
    let mut gap = false;
    for letter in folded(value) {
        if letter.is_alphanumeric() {
            let mut push = |letter: char| {
                if gap && out.len() > start {
                    out.push(' ');
                }
                gap = false;
                out.push(letter);
            };
            match transliterated(letter) {
                Some(letters) => letters.chars().for_each(&mut push),
                None => push(letter),
            }
        } else {
            gap = true
        }
    }
    sort_words(out, start);
    (out.len() > start).then_some(())
}

/// The family name, and the first letters of the others, sorted: `LAST, First`, `LAST/FIRST` and `First Last` are known
/// by their form.
pub(super) fn initials(value: &str, out: &mut String) -> Option<()> {
    let (family, given) = match value.split_once([',', '/']) {
        Some((family, given)) => (tokens(family), tokens(given)),
        None => {
            let mut all = tokens(value);
            let last = all.pop()?;
            // In `Smith J` the initial comes last.
            if last.chars().count() == 1 && all.first().is_some_and(|first| first.chars().count() > 1) {
                let family = all.remove(0);
                all.push(last);
                (vec![family], all)
            } else {
                (vec![last], all)
            }
        }
    };
    if family.is_empty() {
        return None;
    }
    out.push_str(&family.concat());
    let mut letters: Vec<char> = given.iter().filter_map(|token| token.chars().next()).collect();
    letters.sort_unstable();
    for (place, letter) in letters.into_iter().enumerate() {
        out.push_str(if place == 0 { ", " } else { " " });
        out.push(letter);
    }
    Some(())
}

/// The words of a name: what blanks and dots part, without any other sign, in Latin letters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = vec![String::new()];
    for letter in folded(text) {
        match (letter.is_alphanumeric(), transliterated(letter)) {
            (true, Some(letters)) => tokens.last_mut().into_iter().for_each(|token| token.push_str(letters)),
            (true, None) => tokens.last_mut().into_iter().for_each(|token| token.push(letter)),
            (false, _) if letter.is_whitespace() || letter == '.' => tokens.push(String::new()),
            (false, _) => {}
        }
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

/// A letter without case and accents in Latin letters, where there is a usual way: of other Latin letters by their
/// look, of Cyrillic ones as travel documents have them (ICAO Doc 9303, part 3, section 6), of Greek ones one by one.
fn transliterated(letter: char) -> Option<&'static str> {
    Some(match letter {
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' | 'ɖ' => "d",
        'ł' => "l",
        'þ' => "th",
        'ħ' => "h",
        'ı' => "i",
        'ŋ' => "n",
        'ŧ' => "t",
        'ə' => "a",
        'а' => "a",
        'б' => "b",
        'в' => "v",
        'г' | 'ґ' => "g",
        'ѓ' => "g",
        'д' => "d",
        'е' | 'э' => "e",
        'є' => "ie",
        'ж' => "zh",
        'з' => "z",
        'ѕ' => "dz",
        'и' | 'і' | 'ї' | 'й' => "i",
        'ј' => "j",
        'к' => "k",
        'л' => "l",
        'љ' => "lj",
        'м' => "m",
        'н' => "n",
        'њ' => "nj",
        'о' => "o",
        'п' => "p",
        'р' => "r",
        'с' => "s",
        'т' => "t",
        'ћ' => "c",
        'у' | 'ў' => "u",
        'ф' => "f",
        'х' => "kh",
        'ц' => "ts",
        'ч' => "ch",
        'џ' => "dz",
        'ш' => "sh",
        'щ' => "shch",
        'ъ' => "ie",
        'ы' => "y",
        'ь' => "",
        'ђ' => "d",
        'ю' => "iu",
        'я' => "ia",
        'α' => "a",
        'β' => "v",
        'γ' => "g",
        'δ' => "d",
        'ε' => "e",
        'ζ' => "z",
        'η' | 'ι' => "i",
        'θ' => "th",
        'κ' => "k",
        'λ' => "l",
        'μ' => "m",
        'ν' => "n",
        'ξ' => "x",
        'ο' | 'ω' => "o",
        'π' => "p",
        'ρ' => "r",
        'σ' => "s",
        'τ' => "t",
        'υ' => "y",
        'φ' => "f",
        'χ' => "ch",
        'ψ' => "ps",
        _ => return None,
    })
}
