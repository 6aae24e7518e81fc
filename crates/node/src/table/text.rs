//! The canonical text of typed values, so that a key is the same whatever file it came from.
//!
//! `docs/tables.md` lists the rules; they are part of the agreement between the parties, as the profiles are.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray, UInt64Array};
use arrow_schema::{DataType, TimeUnit};

use super::weight::places;

/// A column as text.
pub(crate) enum TextColumn {
    Text(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    /// A dictionary, or runs: where each row's value stands among the texts.
    Places(Vec<Option<usize>>, Box<TextColumn>),
}

impl TextColumn {
    /// The text of a column's values; `None` for types that have none (lists, structures, durations).
    pub fn new(array: &ArrayRef) -> Option<TextColumn> {
        match array.data_type() {
            DataType::Utf8 => Some(TextColumn::Text(array.as_string().clone())),
            DataType::LargeUtf8 => Some(TextColumn::Large(array.as_string().clone())),
            DataType::Utf8View => Some(TextColumn::View(array.as_string_view().clone())),
            DataType::Dictionary(..) | DataType::RunEndEncoded(..) => TextColumn::of_places(places(array)?),
            _ => format_column(array).map(TextColumn::Large),
        }
    }

    /// A value that several rows have is looked up in each of them, and written once.
    fn of_places((mut places, mut values): (Vec<Option<usize>>, ArrayRef)) -> Option<TextColumn> {
        if !matches!(values.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
            // Of a dictionary for many batches, only what occurs in this one is written.
            let mut used: Vec<_> = places.iter().flatten().map(|&place| place as u64).collect();
            used.sort_unstable();
            used.dedup();
            for place in places.iter_mut().flatten() {
                *place = used.partition_point(|&other| other < *place as u64);
            }
            values = arrow_select::take::take(&values, &UInt64Array::from(used), None).ok()?;
        }
        TextColumn::new(&values).map(|texts| TextColumn::Places(places, Box::new(texts)))
    }

    /// The text of a row; `None` where the value is absent.
    pub fn get(&self, row: usize) -> Option<&str> {
        match self {
            TextColumn::Text(array) => array.is_valid(row).then(|| array.value(row)),
            TextColumn::Large(array) => array.is_valid(row).then(|| array.value(row)),
            TextColumn::View(array) => array.is_valid(row).then(|| array.value(row)),
            TextColumn::Places(places, texts) => texts.get((*places.get(row)?)?),
        }
    }

    /// The column as an array of strings.
    pub fn into_array(self) -> ArrayRef {
        match self {
            TextColumn::Text(array) => Arc::new(array),
            TextColumn::Large(array) => Arc::new(array),
            TextColumn::View(array) => Arc::new(array),
            TextColumn::Places(ref places, _) => {
                Arc::new((0..places.len()).map(|row| self.get(row)).collect::<LargeStringArray>())
            }
        }
    }
}

/// Whether values of this type have a canonical text.
pub(super) fn has_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_text(values),
        DataType::RunEndEncoded(_, values) => has_text(values.data_type()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        _ => format_column(&arrow_array::new_empty_array(data_type)).is_some(),
    }
}

fn format_column(array: &ArrayRef) -> Option<LargeStringArray> {
    let mut builder = LargeStringBuilder::with_capacity(array.len(), array.len() * 8);
    // Each value is written by `write` into the builder; what writes nothing at all is an absent value.
    macro_rules! primitive {
        ($type:ty, $write:expr) => {{
            let write: fn(&mut String, <$type as ArrowPrimitiveType>::Native) -> bool = $write;
            each(&mut builder, array.as_primitive::<$type>().iter(), |out, value| write(out, value))
        }};
    }
    macro_rules! integer {
        ($type:ty) => {
            primitive!($type, |out, value| write!(out, "{value}").is_ok())
        };
    }
    macro_rules! timestamp {
        ($type:ty, $per_second:expr, $zone:expr) => {{
            let zone = $zone;
            each(&mut builder, array.as_primitive::<$type>().iter(), |out, value| {
                write_timestamp(out, value, $per_second, zone);
                true
            })
        }};
    }
    match array.data_type() {
        DataType::Null => builder.append_nulls(array.len()),
        DataType::Boolean => each(&mut builder, array.as_boolean().iter(), |out, value| {
            out.push_str(if value { "true" } else { "false" });
            true
        }),
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => integer!(Int64Type),
        DataType::UInt8 => integer!(UInt8Type),
        DataType::UInt16 => integer!(UInt16Type),
        DataType::UInt32 => integer!(UInt32Type),
        DataType::UInt64 => integer!(UInt64Type),
        DataType::Float16 => {
            primitive!(Float16Type, |out, value| write_float(out, shortest_of_half(value), value.is_nan()))
        }
        DataType::Float32 => primitive!(Float32Type, |out, value| write_float(out, value, value.is_nan())),
        DataType::Float64 => primitive!(Float64Type, |out, value| write_float(out, value, value.is_nan())),
        DataType::Decimal32(_, scale) => decimal(&mut builder, array.as_primitive::<Decimal32Type>().iter(), *scale),
        DataType::Decimal64(_, scale) => decimal(&mut builder, array.as_primitive::<Decimal64Type>().iter(), *scale),
        DataType::Decimal128(_, scale) => decimal(&mut builder, array.as_primitive::<Decimal128Type>().iter(), *scale),
        DataType::Decimal256(_, scale) => decimal(&mut builder, array.as_primitive::<Decimal256Type>().iter(), *scale),
        DataType::Date32 => primitive!(Date32Type, |out, days| {
            write_date(out, i64::from(days));
            true
        }),
        DataType::Date64 => primitive!(Date64Type, |out, milliseconds| {
            match milliseconds.rem_euclid(86_400_000) {
                0 => write_date(out, milliseconds.div_euclid(86_400_000)),
                _ => write_timestamp(out, milliseconds, 1000, false),
            }
            true
        }),
        DataType::Time32(TimeUnit::Second) => {
            primitive!(Time32SecondType, |out, value| write_time(out, value.into(), 1))
        }
        DataType::Time32(_) => primitive!(Time32MillisecondType, |out, value| write_time(out, value.into(), 1000)),
        DataType::Time64(TimeUnit::Microsecond) => {
            primitive!(Time64MicrosecondType, |out, value| write_time(out, value, 1_000_000))
        }
        DataType::Time64(_) => primitive!(Time64NanosecondType, |out, value| write_time(out, value, 1_000_000_000)),
        DataType::Timestamp(unit, zone) => match unit {
            TimeUnit::Second => timestamp!(TimestampSecondType, 1, zone.is_some()),
            TimeUnit::Millisecond => timestamp!(TimestampMillisecondType, 1000, zone.is_some()),
            TimeUnit::Microsecond => timestamp!(TimestampMicrosecondType, 1_000_000, zone.is_some()),
            TimeUnit::Nanosecond => timestamp!(TimestampNanosecondType, 1_000_000_000, zone.is_some()),
        },
        DataType::Binary => each(&mut builder, array.as_binary::<i32>().iter(), write_hex),
        DataType::LargeBinary => each(&mut builder, array.as_binary::<i64>().iter(), write_hex),
        DataType::BinaryView => each(&mut builder, array.as_binary_view().iter(), write_hex),
        DataType::FixedSizeBinary(_) => each(&mut builder, array.as_fixed_size_binary().iter(), write_hex),
        _ => return None,
    }
    Some(builder.finish())
}

/// Appends the text of every value; `write` returns false for values that count as absent.
fn each<T>(
    builder: &mut LargeStringBuilder,
    values: impl Iterator<Item = Option<T>>,
    write: impl Fn(&mut String, T) -> bool,
) {
    let mut text = String::new();
    for value in values {
        text.clear();
        if value.is_some_and(|value| write(&mut text, value)) {
            builder.append_value(&text)
        } else {
            builder.append_null()
        }
    }
}

/// Plain decimal notation: the shortest that reads back as the same number, never with an exponent, integers without
/// a point. Not-a-number is what pandas writes for an absent value, so it is one here.
fn write_float<T: std::fmt::Display>(out: &mut String, value: T, absent: bool) -> bool {
    let wrote = !absent && write!(out, "{value}").is_ok();
    if out == "-0" {
        out.remove(0);
    }
    wrote
}

/// A number of half precision.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The number of single precision with the fewest digits that reads back as this one of half precision.
fn shortest_of_half(value: Half) -> f32 {
    let exact = value.to_f32();
    let rounded = |digits: usize| format!("{exact:.digits$e}").parse().unwrap_or(exact);
    (0..5).map(rounded).find(|&short| Half::from_f32(short) == value).unwrap_or(exact)
}

/// The decimal number without zeros at the end of its fraction, so that the column's scale does not matter.
fn decimal<T: ToString>(builder: &mut LargeStringBuilder, values: impl Iterator<Item = Option<T>>, scale: i8) {
    each(builder, values, |out, value| {
        let digits = value.to_string();
        let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
        if digits == "0" {
            out.push('0');
            return true;
        }
        out.push_str(sign);
        let scale = i32::from(scale);
        if scale <= 0 {
            out.push_str(digits);
            out.extend(std::iter::repeat_n('0', scale.unsigned_abs() as usize));
            return true;
        }
        let scale = scale as usize;
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        out.push_str(whole);
        let fraction = fraction.trim_end_matches('0');
        if !fraction.is_empty() {
            out.push('.');
            out.push_str(fraction);
        }
        true
    });
}

fn write_hex(out: &mut String, bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| write!(out, "{byte:02x}").is_ok())
}

/// `YYYY-MM-DD`; years before 0 or above 9999 carry a sign, as ISO 8601 has it.
pub(super) fn write_date(out: &mut String, days: i64) {
    let (year, month, day) = civil(days);
    let written = match year {
        0..=9999 => write!(out, "{year:04}-{month:02}-{day:02}"),
        _ => write!(out, "{year:+05}-{month:02}-{day:02}"),
    };
    debug_assert!(written.is_ok());
}

fn write_time(out: &mut String, value: i64, per_second: i64) -> bool {
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    let clock = (seconds.div_euclid(3600), seconds.rem_euclid(3600) / 60, seconds.rem_euclid(60));
    let written = write!(out, "{:02}:{:02}:{:02}", clock.0, clock.1, clock.2);
    if fraction > 0 {
        let width = per_second.ilog10() as usize;
        let digits = format!("{fraction:0width$}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
    written.is_ok()
}

/// `YYYY-MM-DDTHH:MM:SS`, then the fraction if there is one, then `Z` if the column has a time zone.
fn write_timestamp(out: &mut String, value: i64, per_second: i64, zone: bool) {
    let per_day = 86_400 * per_second;
    write_date(out, value.div_euclid(per_day));
    out.push('T');
    write_time(out, value.rem_euclid(per_day), per_second);
    if zone {
        out.push('Z');
    }
}

/// Year, month and day of a day counted from 1970-01-01 (Gregorian, also before its time): Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::*;

    fn texts(array: impl Array + 'static) -> Vec<Option<String>> {
        let array: ArrayRef = Arc::new(array);
        let column = TextColumn::new(&array).unwrap();
        (0..array.len()).map(|row| column.get(row).map(str::to_string)).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some(text.to_string())).collect()
    }

    #[test]
    fn numbers() {
        assert_eq!(texts(Int8Array::from(vec![-5, 0])), some(&["-5", "0"]));
        assert_eq!(texts(UInt64Array::from(vec![u64::MAX])), some(&["18446744073709551615"]));
        let floats = Float64Array::from(vec![12.0, -0.0, 0.1, 1e21, f64::INFINITY, f64::NAN]);
        let mut expected = some(&["12", "0", "0.1", "1000000000000000000000", "inf"]);
        expected.push(None);
        assert_eq!(texts(floats), expected);
        assert_eq!(texts(Float32Array::from(vec![0.1])), some(&["0.1"]));
        let halves = [0.1, 1.5, -0.0, 65504.0, 6e-8, 2049.0].map(Half::from_f32);
        let halves: Float16Array = halves.into_iter().map(Some).collect();
        assert_eq!(texts(halves), some(&["0.1", "1.5", "0", "65500", "0.00000006", "2048"]));
        let decimals = Decimal128Array::from(vec![1250, -5, 0, 1200]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(texts(decimals), some(&["12.5", "-0.05", "0", "12"]));
        let decimals = Decimal128Array::from(vec![12]).with_precision_and_scale(10, -2).unwrap();
        assert_eq!(texts(decimals), some(&["1200"]));
        assert_eq!(texts(BooleanArray::from(vec![true, false])), some(&["true", "false"]));
        assert_eq!(texts(BinaryArray::from(vec![&b"\x00\xffA"[..]])), some(&["00ff41"]));
    }

    #[test]
    fn times() {
        let days = [0, -1, 11_016, 19_782, -719_162, 2_932_896, -719_528, 2_932_897];
        let dates = ["1970-01-01", "1969-12-31", "2000-02-29", "2024-02-29", "0001-01-01", "9999-12-31"];
        let mut expected = some(&dates);
        expected.extend(some(&["0000-01-01", "+10000-01-01"]));
        assert_eq!(texts(Date32Array::from(days.to_vec())), expected);
        assert_eq!(texts(Date64Array::from(vec![-86_400_000])), some(&["1969-12-31"]));
        let stamps = TimestampMicrosecondArray::from(vec![0, -1, 1_500_000]);
        let expected = ["1970-01-01T00:00:00", "1969-12-31T23:59:59.999999", "1970-01-01T00:00:01.5"];
        assert_eq!(texts(stamps), some(&expected));
        let stamps = TimestampSecondArray::from(vec![86_400]).with_timezone("+02:00");
        assert_eq!(texts(stamps), some(&["1970-01-02T00:00:00Z"]));
        assert_eq!(texts(Time32SecondArray::from(vec![3661])), some(&["01:01:01"]));
        // No value of a corrupt file makes it panic.
        for extreme in [i64::MIN, i64::MAX] {
            assert!(texts(TimestampSecondArray::from(vec![extreme]))[0].is_some());
            assert!(texts(Date64Array::from(vec![extreme]))[0].is_some());
            assert!(texts(Time64NanosecondArray::from(vec![extreme]))[0].is_some());
        }
    }

    #[test]
    fn dictionaries_and_absent_values() {
        let array: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
        assert_eq!(texts(array), [Some("a".to_string()), None, Some("a".to_string())]);
        assert_eq!(texts(NullArray::new(2)), [None, None]);
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(-8), Some(9)]));
        let keys = Int8Array::from(vec![Some(3), Some(0), None, Some(3), Some(1)]);
        let array = DictionaryArray::<Int8Type>::new(keys, values.clone());
        let expected = [Some("9"), Some("7"), None, Some("9"), None].map(|text| text.map(str::to_owned));
        assert_eq!(texts(array.clone()), expected);
        assert_eq!(texts(array.slice(1, 3)), expected[1..4]);
        assert_eq!(
            texts(DictionaryArray::<Int8Type>::new(Int8Array::new_null(2), new_empty_array(&DataType::Int64))),
            [None, None]
        );
    }

    #[test]
    fn runs() {
        let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]));
        let array = RunArray::<Int16Type>::try_new(&Int16Array::from(vec![2, 3, 6]), &values).unwrap();
        let expected =
            [Some("a"), Some("a"), None, Some("c"), Some("c"), Some("c")].map(|text| text.map(str::to_owned));
        assert_eq!(texts(array.clone()), expected);
        for start in 0..6 {
            assert_eq!(texts(array.slice(start, 6 - start)), expected[start..]);
            assert_eq!(texts(array.slice(0, start)), expected[..start]);
        }
        assert!(!has_text(&DataType::new_list(DataType::Int8, true)));
    }
}
