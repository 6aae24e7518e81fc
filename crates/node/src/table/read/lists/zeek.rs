//! Logs of Zeek: tab-separated with a header of `#` lines, or a JSON object on each line.

use serde_json::Value;

use super::WantedColumn;
use crate::base::text::shown;

/// Column with the originator of a connection: the one taken from `conn.log` if nothing else is said.
const ORIGINATOR: &str = "id.orig_h";

/// A log, as far as it has been read.
pub(super) struct Log {
    wanted: Vec<WantedColumn>,
    separator: String,
    empty: String,
    unset: String,
    /// Indices of the wanted columns, once a header has been read.
    places: Option<Vec<usize>>,
}

impl Log {
    pub fn new(wanted: &[WantedColumn]) -> Log {
        Log {
            wanted: wanted.to_vec(),
            separator: "\t".into(),
            empty: "(empty)".into(),
            unset: "-".into(),
            places: None,
        }
    }

    /// The wanted values of a line; none of a line that is no entry.
    pub fn line(&mut self, line: &str) -> Result<Option<Vec<Option<String>>>, String> {
        match line.trim_start_matches('\u{FEFF}') {
            "" => Ok(None),
            line if line.starts_with('#') => self.header(&line[1..]).map(|()| None),
            line if line.starts_with('{') => self.object(line).map(Some),
            line => self.fields(line).map(Some),
        }
    }

    fn header(&mut self, line: &str) -> Result<(), String> {
        if let Some(written) = line.strip_prefix("separator ") {
            self.separator = unescaped(written);
            return if self.separator.is_empty() { Err("#separator names none".into()) } else { Ok(()) };
        }
        let mut words = line.split(self.separator.as_str());
        match words.next() {
            Some("empty_field") => self.empty = words.next().unwrap_or_default().to_owned(),
            Some("unset_field") => self.unset = words.next().unwrap_or_default().to_owned(),
            Some("fields") => {
                let names: Vec<&str> = words.collect();
                let place = |column: &WantedColumn| {
                    let found =
                        self.names(column).into_iter().find_map(|name| names.iter().position(|field| *field == name));
                    found.ok_or_else(
                        || {
                            format!(
                                "no field {:?}; the log has {}; if another one holds it, map it: `columns = {{ ... }}` in [parties.X] of the \
                                 job file",
                                column.header,
                                shown(&names.join(", "))
                            )
                        },
                    )
                };
                self.places = Some(self.wanted.iter().map(place).collect::<Result<_, _>>()?);
            }
            _ => (),
        }
        Ok(())
    }

    /// Under which names a wanted column is looked for: where the reader has mapped none, the originator stands for the
    /// key, which is the first.
    fn names<'a>(&self, column: &'a WantedColumn) -> Vec<&'a str> {
        let is_key = self.wanted.first().is_some_and(|first| first.header == column.header);
        let own = column.header.as_str();
        if is_key && !column.mapped { vec![own, ORIGINATOR] } else { vec![own] }
    }

    fn fields(&self, line: &str) -> Result<Vec<Option<String>>, String> {
        let Some(places) = &self.places else {
            return Err(
                "a log of Zeek has a line that begins with #fields before its entries, or an object on each line"
                    .into(),
            );
        };
        let fields: Vec<&str> = line.split(self.separator.as_str()).collect();
        let value = |place: &usize| match fields.get(*place) {
            Some(text) if *text == self.unset || *text == self.empty => Ok(None),
            Some(text) => Ok(Some(unescaped(text))),
            None => Err(format!("{} fields are fewer than #fields names", fields.len())),
        };
        places.iter().map(value).collect()
    }

    fn object(&self, line: &str) -> Result<Vec<Option<String>>, String> {
        let object: Value = serde_json::from_str(line).map_err(|error| if error.is_eof() { "is no JSON object, which a log of Zeek has on each line. MISP's warning lists, STIX bundles and other JSON \
                     over several lines are not read: give the keys as a list or a table"
                .to_owned() } else { "is no JSON object".to_owned() })?;
        let find = |name: &str| -> Option<&Value> {
            object.get(name).or_else(|| name.split('.').try_fold(&object, |inner, part| inner.get(part)))
        };
        let value = |column: &WantedColumn| match self.names(column).into_iter().find_map(find) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(Value::Bool(bool)) => Ok(Some(bool.to_string())),
            Some(_) => Err(format!("field {:?} is no single value", column.header)),
        };
        self.wanted.iter().map(value).collect()
    }
}

/// A text with the characters that it writes as `\x09`.
fn unescaped(text: &str) -> String {
    if !text.contains("\\x") {
        return text.to_owned();
    }
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = rest.get(2..4).filter(|_| rest.starts_with(b"\\x"));
        let code = code
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
