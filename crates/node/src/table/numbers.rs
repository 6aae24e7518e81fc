//! Columns of numbers: integers, or numbers with so many decimals, from whatever a table holds them as, and as results.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use tacita_core::protocol::dot::{Columns, Integers};
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::text::TextColumn;
use super::{DecimalMark, Table, TableKeys};

/// Columns to be read: logical name, and header in the table.
pub type NamedColumn = (String, String);

/// Form in which the numbers of a column are written, and its treatment.
#[derive(Debug, Clone, Copy, Default)]
pub struct NumberForm {
    /// Maximum number of decimals in the numbers.
    pub decimals: u32,
    /// Decimal mark in front of these, in text.
    pub mark: DecimalMark,
}

/// Reason that a value is no number of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Absent,
    NoNumber,
    Decimals,
    Range,
}

/// Reads columns of a table: numbers with `decimals` decimals at most, each as the integer that is 10^`decimals` times
/// as large. `true` is 1, `false` is 0. Rows for which `used` is false are 0, whatever they hold.
///
/// Errors ([`Error::Input`], naming column and place): a column is missing; a value is absent, no number, has more
/// decimals, or does not fit `integers`.
pub fn columns(
    table: &Table,
    names: &[NamedColumn],
    integers: Integers,
    form: NumberForm,
    used: impl Fn(usize) -> bool,
) -> Result<Columns> {
    let mut columns = Columns::new(integers, table.rows());
    for (logical, header) in names {
        let position = table.column(header, logical)?;
        let values = || values(table, position, form);
        let range = integers.range();
        let mut fault = None;
        // What stands behind a fault is not read: it may be long, and a dictionary shows it again and again.
        let read = values().enumerate().map_while(|(row, value)| {
            let value = match (used(row), value) {
                (false, _) => Ok(0),
                (true, Ok(value)) => {
                    let narrow = i64::try_from(value).ok().filter(|value| (range.0..=range.1).contains(value));
                    narrow.ok_or(Fault::Range)
                }
                (true, Err(fault)) => Err(fault),
            };
            value.map_err(|what| fault = Some((row, what))).ok()
        });
        let pushed = columns.push(read);
        if let Some((row, what)) = fault {
            return Err(refused(table, header, row, what, form, || {
                let used = values().enumerate().filter(|(row, _)| used(*row)).map(|(_, value)| value);
                out_of_range(integers, used)
            }));
        }
        pushed?;
    }
    Ok(columns)
}

/// The most decimals: an integer of 32 bits has no more digits behind the first.
pub const MAX_DECIMALS: u32 = 9;

/// Numbers that are added up are below 2^63 in absolute value. With [`MAX_DECIMALS`], the sum of as many as a table can
/// have rows is then below 2^125, as the protocols need it.
const SUMMED_BITS: u32 = 63;

/// A column added up, key by key. Secret: zeroized when dropped.
pub struct ColumnSums {
    /// For each key, the sum over its rows, times 10^decimals.
    pub of_keys: Zeroizing<Vec<i128>>,
    /// For each key, how many of its rows have a number.
    pub values: Zeroizing<Vec<u32>>,
    /// Rows of keys that have no number: they add nothing.
    pub absent: usize,
}

/// Adds up a column over the rows of each key. Numbers are read as by [`columns`].
///
/// Errors ([`Error::Input`], naming column and place): the column is missing; a value in the row of a key is no number,
/// has more decimals, or is 2^63 or more.
pub fn sums(table: &Table, (logical, header): &NamedColumn, form: NumberForm, keys: &TableKeys) -> Result<ColumnSums> {
    let position = table.column(header, logical)?;
    let most = (1i128 << SUMMED_BITS) * 10i128.pow(form.decimals);
    let mut key_of = vec![None; table.rows()];
    for key in 0..keys.len() {
        keys.rows(key).iter().for_each(|&row| key_of[row as usize] = Some(key));
    }
    let (of_keys, values_of_keys) = (Zeroizing::new(vec![0; keys.len()]), Zeroizing::new(vec![0; keys.len()]));
    let mut sums = ColumnSums { of_keys, values: values_of_keys, absent: 0 };
    for (row, value) in values(table, position, form).enumerate() {
        let Some(key) = key_of[row] else { continue };
        match value {
            Ok(value) if -most < value && value < most => {
                sums.of_keys[key] += value;
                sums.values[key] += 1;
            }
            Err(Fault::Absent) => sums.absent += 1,
            Ok(_) => return Err(refused(table, header, row, Fault::Range, form, too_large)),
            Err(fault) => return Err(refused(table, header, row, fault, form, too_large)),
        }
    }
    Ok(sums)
}

fn too_large() -> String {
    format!("this number is too large to be added up: numbers are below 2^{SUMMED_BITS}")
}

/// The error about a value; `range` says what to do about one that is too large.
fn refused(
    table: &Table,
    header: &str,
    row: usize,
    fault: Fault,
    NumberForm { decimals, mark }: NumberForm,
    range: impl FnOnce() -> String,
) -> Error {
    let what = match fault {
        Fault::Absent => "there is no number, and every row needs one".to_owned(),
        Fault::NoNumber if mark == DecimalMark::Comma => {
            "this is no number (digits, a sign, a decimal comma, no other signs between digits), true or false".to_owned()
        }
        Fault::NoNumber => "this is no number (digits, a sign, a decimal point; with decimal = \",\" in [parties.X] of the job file a decimal comma), true or false".to_owned(),
        Fault::Decimals if decimals == MAX_DECIMALS => {
            format!("this number has more than {decimals} decimals: round it")
        }
        Fault::Decimals => {
            format!("this number has more than {decimals} decimals: agree on a larger `scale`, or round it")
        }
        Fault::Range => range(),
    };
    Error::Input(format!("{}, {}, column {header:?}: {what}", table.source(), table.place(row)))
}

/// Returns advice on numbers that do not fit, without showing one.
fn out_of_range(integers: Integers, values: impl Iterator<Item = std::result::Result<i128, Fault>>) -> String {
    let (mut low, mut high) = (0, 0);
    for value in values {
        match value {
            Ok(value) => (low, high) = (value.min(low), value.max(high)),
            Err(Fault::Range) => high = i128::MAX,
            Err(_) => (),
        }
    }
    let fits = |bits, signed| {
        let range = Integers::new(bits, signed).map(|integers| integers.range());
        range.is_ok_and(|range| i128::from(range.0) <= low && high <= i128::from(range.1))
    };
    let signed = integers.signed() || low < 0;
    let now = if integers.signed() { "signed, " } else { "" };
    let advice = match (1..=tacita_core::protocol::dot::MAX_BITS).find(|&bits| fits(bits, signed)) {
        Some(bits) if signed => format!("agree on signed = true and bits = {bits}"),
        Some(bits) => format!("agree on bits = {bits}"),
        None => "the column has numbers that are too large for any `bits`".into(),
    };
    format!("this number does not fit the job's columns ({now}bits = {}): {advice}", integers.bits())
}

/// The values of a column in order.
fn values(table: &Table, position: usize, form: NumberForm) -> impl Iterator<Item = std::result::Result<i128, Fault>> {
    table.batches().iter().flat_map(move |batch| {
        let column = Column::new(batch.column(position));
        let form = NumberForm { mark: form.mark.of_column(batch.column(position).data_type()), ..form };
        (0..batch.num_rows()).map(move |row| match &column {
            Some(column) => column.get(row, form),
            None => Err(Fault::NoNumber),
        })
    })
}

/// One batch of a column.
enum Column {
    /// Integers and truth values.
    Integers(ArrayRef),
    /// Text of values of every other type.
    Text(TextColumn),
}

impl Column {
    fn new(array: &ArrayRef) -> Option<Column> {
        // Bytes have a text, but hexadecimal: 0x31 would be thirty-one.
        if matches!(array.data_type(), DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
            || matches!(array.data_type(), DataType::FixedSizeBinary(_))
        {
            return None;
        }
        let small = matches!(
            array.data_type(),
            DataType::Boolean
                | DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
        );
        if small {
            arrow_cast::cast(array, &DataType::Int64).ok().map(Column::Integers)
        } else {
            TextColumn::new(array).map(Column::Text)
        }
    }

    fn get(&self, row: usize, NumberForm { decimals, mark }: NumberForm) -> std::result::Result<i128, Fault> {
        match self {
            Column::Integers(array) if array.is_null(row) => Err(Fault::Absent),
            Column::Integers(array) => {
                Ok(i128::from(array.as_primitive::<Int64Type>().value(row)) * 10i128.pow(decimals))
            }
            Column::Text(column) => {
                let text = mark.with_point(column.get(row).unwrap_or_default().trim()).ok_or(Fault::NoNumber)?;
                parse(&text, decimals)
            }
        }
    }
}

/// A number as people write it, times 10^`decimals`.
/// No number is longer, zeros in front and behind included.
const MAX_LETTERS: usize = 1000;

fn parse(text: &str, decimals: u32) -> std::result::Result<i128, Fault> {
    match text {
        "" => return Err(Fault::Absent),
        _ if text.len() > MAX_LETTERS => return Err(Fault::NoNumber),
        _ if text.eq_ignore_ascii_case("true") => return Ok(10i128.pow(decimals)),
        _ if text.eq_ignore_ascii_case("false") => return Ok(0),
        _ => (),
    }
    let (negative, digits) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::NoNumber);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > decimals as usize {
        return Err(Fault::Decimals);
    }
    let zeros = std::iter::repeat_n(b'0', decimals as usize - fraction.len());
    let value = whole
        .bytes()
        .chain(fraction.bytes())
        .chain(zeros)
        .try_fold(0i128, |value, digit| value.checked_mul(10)?.checked_add(i128::from(digit - b'0')));
    value.map(|value| if negative { -value } else { value }).ok_or(Fault::Range)
}

/// An integer over 10^`decimals` as people write it, without zeros at its end.
pub fn decimal(integer: i128, decimals: u32) -> String {
    let digits = integer.unsigned_abs().to_string();
    let padded = format!("{digits:0>width$}", width = decimals as usize + 1);
    let (whole, fraction) = padded.split_at(padded.len() - decimals as usize);
    let fraction = fraction.trim_end_matches('0');
    let sign = if integer < 0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// A JSON number if that is exactly the decimal number in `text`, else the text.
pub fn to_json(text: &str) -> Value {
    if let Ok(integer) = text.parse::<i64>() {
        return json!(integer);
    }
    if let Ok(integer) = text.parse::<u64>() {
        return json!(integer);
    }
    match text.parse::<f64>() {
        Ok(float) if float.to_string() == text => json!(float),
        _ => json!(text),
    }
}

/// A column of a result: of 64-bit integers if all are, else of texts.
pub fn to_column(name: &str, texts: &[String]) -> (Field, ArrayRef) {
    match texts.iter().map(|text| text.parse::<i64>().ok()).collect::<Option<Vec<_>>>() {
        Some(integers) => (Field::new(name, DataType::Int64, false), Arc::new(Int64Array::from(integers))),
        None => (Field::new(name, DataType::Utf8, false), Arc::new(StringArray::from(texts.to_vec()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::key::{KeyColumn, KeySpec, NullWords};
    use crate::table::{Duplicates, Nulls, Profile, ReadOptions, read::read_csv};

    #[test]
    fn json_holds_every_number_exactly() {
        for (text, value) in [
            ("41", json!(41)),
            ("-3", json!(-3)),
            ("18446744073709551615", json!(u64::MAX)),
            ("18446744073709551616", json!("18446744073709551616")),
            ("12.5", json!(12.5)),
            ("-0.01", json!(-0.01)),
            ("0.12345678901234567891", json!("0.12345678901234567891")),
        ] {
            assert_eq!(to_json(text), value);
        }
    }

    #[test]
    fn columns_are_added_up_by_key() {
        let sums = |text: &str, duplicates, decimals| {
            let table = read_csv(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
            let column = KeyColumn { name: "k".into(), header: "k".into(), profile: Profile::None };
            let spec = KeySpec {
                columns: vec![column],
                duplicates,
                nulls: Nulls::Skip,
                words: NullWords::default(),
                allow_unreadable: false,
            };
            let (keys, _) = TableKeys::build(&table, &spec).unwrap();
            sums(&table, &("x".into(), "x".into()), NumberForm { decimals, mark: DecimalMark::Point }, &keys)
        };
        let text = "k,x\nb,12.50\na,-0.25\n,junk\nb,7\nc,\na,9223372036854775807\nc,0.1\n";
        let found = sums(text, Duplicates::All, 2).unwrap();
        assert_eq!((&found.of_keys[..], found.absent), (&[922_337_203_685_477_580_675, 1950, 10][..], 1));
        assert_eq!(found.values[..], [2, 2, 1]);
        let found = sums(text, Duplicates::First, 9).unwrap();
        assert_eq!((&found.of_keys[..], found.absent), (&[-250_000_000, 12_500_000_000, 0][..], 1));
        assert_eq!(found.values[..], [1, 1, 0]);
        for (text, decimals, words) in [
            ("k,x\na,1\nb,1.25\n", 1, ["line 3", "scale"]),
            ("k,x\na,1\nb,0.1234567891\n", 9, ["line 3", "round it"]),
            ("k,x\na,x7\n", 9, ["line 2", "no number"]),
            ("k,x\na,9223372036854775808\n", 9, ["line 2", "too large"]),
            ("k,x\na,-9223372036854775808\n", 0, ["line 2", "too large"]),
            ("k,x\na,9999999999999999999999999999999999999999\n", 0, ["line 2", "too large"]),
            ("k,y\na,1\n", 0, ["no column", "\"x\""]),
        ] {
            let Err(Error::Input(error)) = sums(text, Duplicates::All, decimals) else { panic!("{text:?} is read") };
            assert!(words.iter().all(|word| error.contains(word)) && !error.contains("x7"), "{error}");
        }
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, decimals, value) in [
            ("0", 0, 0),
            ("1", 0, 1),
            ("-17", 0, -17),
            ("+17", 0, 17),
            ("007", 0, 7),
            ("3.0", 0, 3),
            ("3.", 0, 3),
            (".5", 1, 5),
            ("12.5", 2, 1250),
            ("-0.01", 2, -1),
            ("true", 0, 1),
            ("FALSE", 0, 0),
            ("True", 2, 100),
        ] {
            assert_eq!(parse(text, decimals), Ok(value), "{text}");
        }
        for (text, decimals, fault) in [
            ("", 0, Fault::Absent),
            ("x", 0, Fault::NoNumber),
            ("1e3", 0, Fault::NoNumber),
            ("1,5", 2, Fault::NoNumber),
            ("--1", 0, Fault::NoNumber),
            ("-", 0, Fault::NoNumber),
            (".", 0, Fault::NoNumber),
            ("NaN", 0, Fault::NoNumber),
            ("0.5", 0, Fault::Decimals),
            ("0.125", 2, Fault::Decimals),
            ("9999999999999999999999999999999999999999", 0, Fault::Range),
        ] {
            assert_eq!(parse(text, decimals), Err(fault), "{text}");
        }
    }

    #[test]
    fn decimals_are_written_as_they_are_read() {
        for (integer, decimals, text) in
            [(0, 0, "0"), (0, 4, "0"), (12345, 2, "123.45"), (-5, 3, "-0.005"), (12300, 4, "1.23"), (700, 2, "7")]
        {
            assert_eq!(decimal(integer, decimals), text);
        }
    }

    #[test]
    fn faults_name_column_and_line_and_show_no_value() {
        let read = |text: &str, integers, decimals| {
            let table = read_csv(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
            let form = NumberForm { decimals, mark: DecimalMark::Point };
            columns(&table, &[("value".into(), "x".into())], integers, form, |row| row != 1)
        };
        let byte = Integers::new(8, false).unwrap();
        let good = read("id,x\n1,5\n2,junk\n3,255\n", byte, 0).unwrap();
        assert_eq!((good.value(0, 0), good.value(0, 1), good.value(0, 2)), (5, 0, 255));
        for (text, integers, decimals, words) in [
            ("x\n5\n6\n256\n", byte, 0, ["line 4", "bits = 9"]),
            ("x\n5\n6\n-7\n", byte, 0, ["line 4", "signed = true and bits = 4"]),
            ("x\n5\n6\n200\n", Integers::new(8, true).unwrap(), 0, ["line 4", "signed = true and bits = 9"]),
            ("x\n5\n6\n99999999999999999999\n", byte, 0, ["line 4", "too large"]),
            ("x\n2\n1\n0\n", Integers::BINARY, 0, ["line 2", "bits = 2"]),
            ("x\n1.25\n1\n0\n", byte, 1, ["line 2", "scale"]),
            ("id,x\n1,\n2,3\n", byte, 0, ["line 2", "no number"]),
            ("x\nseven\n1\n0\n", byte, 0, ["line 2", "true or false"]),
            ("y\n1\n", byte, 0, ["no column", "\"x\""]),
        ] {
            let Err(Error::Input(error)) = read(text, integers, decimals) else { panic!("{text:?} is read") };
            assert!(words.iter().all(|word| error.contains(word)) && !error.contains("256"), "{error}");
        }
    }
    #[test]
    fn a_decimal_comma_is_read_where_it_is_said() {
        let read = |text: &str| {
            let table = read_csv(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
            let form = NumberForm { decimals: 2, mark: DecimalMark::Comma };
            columns(&table, &[("value".into(), "x".into())], Integers::new(20, true).unwrap(), form, |_| true)
        };
        let good = read("id;x\n1;12,50\n2;-0,05\n3;7\n").unwrap();
        assert_eq!((good.value(0, 0), good.value(0, 1), good.value(0, 2)), (1250, -5, 700));
        // What a point separates here is not known.
        for text in ["x;y\n1.25;1\n", "x;y\n1.234,50;1\n", "x;y\n1,2,3;4\n"] {
            let Err(Error::Input(error)) = read(text) else { panic!("{text:?} is read") };
            assert!(error.contains("line 2") && error.contains("decimal comma"), "{error}");
        }
    }
}
