//! Parser from the text of a predicate to its meaning, typed by the values that reports may carry.

use tacita_core::{Error, Result};

use super::{Bound, Comparison, MAX_BYTES, Measure, Node, Predicate, Relation};
use crate::base::text::shown;
use crate::jobs::aggregate::Domain;

/// Parentheses and `not` nest no deeper.
const MAX_DEPTH: usize = 32;

/// The most reports or reporters that a bound may name.
const MAX_COUNT: i128 = u32::MAX as i128;

/// Example of a condition, for messages.
const EXAMPLE: &str = "as in distinct >= 3";

impl Predicate {
    /// Reads a predicate over rows whose reports carry values of this domain.
    ///
    /// Errors ([`Error::Input`]): it is not of the language, or compares what cannot be compared; the text begins with
    /// the place of the first character that is wrong, counted from 1.
    pub fn parse(text: &str, domain: &Domain) -> Result<Predicate> {
        if text.len() > MAX_BYTES {
            return Err(Error::Input(format!("{} bytes are too long: use at most {MAX_BYTES}", text.len())));
        }
        let mut parser = Parser { tokens: tokens(text)?, next: 0, end: text.chars().count() + 1, depth: 0, domain };
        let root = parser.any()?;
        match parser.tokens.get(parser.next) {
            None => Ok(Predicate { root }),
            Some((place, token)) => wrong(*place, format!("found {} instead of and, or or the end", token.shown())),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Number(i128),
    Quoted(String),
    Relation(Relation),
    Open,
    Close,
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Token::Word(word) => format!("\"{}\"", shown(word)),
            Token::Number(number) => number.to_string(),
            Token::Quoted(word) => format!("'{}'", shown(word)),
            Token::Relation(relation) => relation.sign().to_owned(),
            Token::Open => "(".into(),
            Token::Close => ")".into(),
        }
    }

    fn is(&self, wanted: &str) -> bool {
        matches!(self, Token::Word(word) if word == wanted)
    }
}

fn wrong<T>(place: usize, what: impl std::fmt::Display) -> Result<T> {
    Err(Error::Input(format!("character {place}: {what}")))
}

/// The tokens, each with its place in characters, from 1 on.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>> {
    let letters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let while_ = |from: usize, good: fn(char) -> bool| -> String {
            letters[from..].iter().take_while(|letter| good(**letter)).collect()
        };
        let (length, token) = match letter {
            _ if letter.is_whitespace() => {
                at += 1;
                continue;
            }
            '(' => (1, Token::Open),
            ')' => (1, Token::Close),
            '\'' | '"' => {
                let word: String = letters[at + 1..].iter().take_while(|inner| **inner != letter).collect();
                let length = word.chars().count() + 2;
                if at + length > letters.len() {
                    return wrong(at + 1, "this quote is never closed");
                }
                (length, Token::Quoted(word))
            }
            '-' | '+' | '0'..='9' => {
                let digits = while_(at + 1, |letter| letter.is_alphanumeric() || "._".contains(letter));
                let written = format!("{letter}{digits}");
                // TOML allows underscores between digits, too.
                let plain = written.replace('_', "");
                match plain.parse::<i64>() {
                    Ok(number) => (written.chars().count(), Token::Number(number.into())),
                    Err(_) => return wrong(at + 1, format!("\"{}\" is no whole number of 64 bits", shown(&written))),
                }
            }
            _ if letter.is_alphabetic() => {
                let word = while_(at, |letter| letter.is_alphanumeric() || letter == '_');
                (word.chars().count(), Token::Word(word.to_lowercase()))
            }
            _ => {
                let sign = while_(at, |letter| "<>=!".contains(letter));
                match Relation::ALL.iter().find(|(_, known)| *known == sign) {
                    Some((relation, _)) => (sign.len(), Token::Relation(*relation)),
                    None if sign == "==" => return wrong(at + 1, "write = instead of =="),
                    None => {
                        let odd = if sign.is_empty() { letter.to_string() } else { sign };
                        return wrong(at + 1, format!("\"{}\" means nothing here", shown(&odd)));
                    }
                }
            }
        };
        found.push((at + 1, token));
        at += length;
    }
    Ok(found)
}

struct Parser<'a> {
    tokens: Vec<(usize, Token)>,
    next: usize,
    /// The place after the last character.
    end: usize,
    depth: usize,
    domain: &'a Domain,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    /// Returns the position of the next token.
    fn place(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(place, _)| *place)
    }

    fn found(&self) -> String {
        self.peek().map_or("the end".into(), Token::shown)
    }

    fn take(&mut self, wanted: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is(wanted));
        self.next += usize::from(found);
        found
    }

    fn any(&mut self) -> Result<Node> {
        self.parts("or", Parser::all, Node::Any, |node| match node {
            Node::Any(parts) => Ok(parts),
            other => Err(other),
        })
    }

    fn all(&mut self) -> Result<Node> {
        self.parts("and", Parser::one, Node::All, |node| match node {
            Node::All(parts) => Ok(parts),
            other => Err(other),
        })
    }

    /// Parts with a word between them; what is in parentheses and of the same kind is no part of its own.
    fn parts(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Node>,
        join: fn(Vec<Node>) -> Node,
        split: fn(Node) -> std::result::Result<Vec<Node>, Node>,
    ) -> Result<Node> {
        let mut parts = Vec::new();
        loop {
            match split(part(self)?) {
                Ok(inner) => parts.extend(inner),
                Err(one) => parts.push(one),
            }
            if !self.take(word) {
                break;
            }
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => Ok(join(parts)),
        }
    }

    fn one(&mut self) -> Result<Node> {
        let place = self.place();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return wrong(place, format!("not and parentheses nest more than {MAX_DEPTH} deep here"));
        }
        let node = if self.take("not") {
            Node::Not(Box::new(self.one()?))
        } else if self.peek() == Some(&Token::Open) {
            self.next += 1;
            let inner = self.any()?;
            self.close(place)?;
            inner
        } else {
            Node::Compare(self.comparison()?)
        };
        self.depth -= 1;
        Ok(node)
    }

    fn close(&mut self, opened: usize) -> Result<()> {
        match self.peek() {
            Some(Token::Close) => {
                self.next += 1;
                Ok(())
            }
            _ => wrong(self.place(), format!("found {} instead of the ) that closes character {opened}", self.found())),
        }
    }

    fn comparison(&mut self) -> Result<Comparison> {
        let measure_place = self.place();
        let measure = self.measure()?;
        let Some(&Token::Relation(relation)) = self.peek() else {
            return wrong(self.place(), format!("found {} instead of >=, >, <=, <, = or !=, {EXAMPLE}", self.found()));
        };
        self.next += 1;
        let place = self.place();
        let bound = match self.peek() {
            Some(Token::Number(number)) => Bound::Number(*number),
            Some(Token::Quoted(word)) => {
                let place_of = matches!(self.domain, Domain::Grades(_)).then(|| self.domain.place(word)).flatten();
                match (self.domain, place_of) {
                    (Domain::Grades(_), Some(place)) => Bound::Grade(place, word.trim().to_owned()),
                    (Domain::Grades(_), None) => {
                        return wrong(place, format!("'{}' is none of round.values", shown(word)));
                    }
                    _ => return wrong(place, format!("'{}' is a grade, and round.values has none", shown(word))),
                }
            }
            _ => return wrong(place, format!("found {} instead of a number or a grade in quotes", self.found())),
        };
        self.next += 1;
        self.check(measure, (measure_place, place), &bound)?;
        Ok(Comparison { measure, relation, bound })
    }

    fn measure(&mut self) -> Result<Measure> {
        let place = self.place();
        let known = |word: &str| Measure::ALL.iter().find(|(_, name)| *name == word).map(|(measure, _)| *measure);
        let measure = match self.peek() {
            Some(Token::Word(word)) => known(word),
            _ => None,
        };
        let Some(measure) = measure else {
            return wrong(
                place,
                format!(
                    "found {} instead of count, distinct, sum(value), median(value), min(value), max(value) or mode(value), \
                     {EXAMPLE}",
                    self.found()
                ),
            );
        };
        self.next += 1;
        if measure.is_of_values() {
            let opened = self.place();
            if self.peek() != Some(&Token::Open) {
                return wrong(opened, format!("{measure} is written with (value) behind it"));
            }
            self.next += 1;
            if !self.take("value") {
                return wrong(self.place(), format!("found {} instead of value, as in {measure}", self.found()));
            }
            self.close(opened)?;
        }
        Ok(measure)
    }

    /// Whether a row can have such a measure, and such a bound be meant.
    fn check(&self, measure: Measure, (place, bound_place): (usize, usize), bound: &Bound) -> Result<()> {
        let grades = matches!(self.domain, Domain::Grades(_));
        if measure.is_of_values() && !self.domain.has_values() {
            return wrong(place, format!("{measure}: reports carry no value: agree on round.values, or leave it out"));
        }
        if measure == Measure::Sum && grades {
            return wrong(place, "sum(value): grades cannot be added up: use median, min, max or mode");
        }
        match (measure, bound) {
            (Measure::Count | Measure::Distinct, Bound::Number(number)) if (0..=MAX_COUNT).contains(number) => Ok(()),
            (Measure::Count | Measure::Distinct, Bound::Number(number)) => {
                wrong(bound_place, format!("no row has {measure} {number}: use 0 to {MAX_COUNT}"))
            }
            (Measure::Count | Measure::Distinct | Measure::Sum, Bound::Grade(..)) => {
                wrong(bound_place, format!("{measure} is a number, and is compared with a grade"))
            }
            (Measure::Sum, Bound::Number(_)) => Ok(()),
            (_, Bound::Number(number)) if grades => {
                wrong(bound_place, format!("{measure} is a grade, and is compared with {number}: put grades in quotes"))
            }
            (_, Bound::Number(number)) => match self.domain.bounds() {
                Some((min, max)) if (i128::from(min)..=i128::from(max)).contains(number) => Ok(()),
                Some((min, max)) => {
                    wrong(bound_place, format!("no value is {number}: round.values has {min} to {max}"))
                }
                None => Ok(()),
            },
            (_, Bound::Grade(..)) => Ok(()),
        }
    }
}
