//! `decimal`.

/// Maximum shift of the point by an exponent from the written digits. This is more than any number needs, and so
/// little that it takes no memory that matters.
const MAX_DIGITS: i64 = 400;

/// The decimal number: no plus sign, no zeros in front of the whole part or behind the fraction, no exponent, no `-0`.
/// `value` is trimmed.
pub(super) fn decimal(value: &str, out: &mut String) -> Option<()> {
    let (negative, unsigned) = match value.as_bytes()[0] {
        b'-' => (true, &value[1..]),
        b'+' => (false, &value[1..]),
        _ => (false, value),
    };
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => {
            (number, exponent.parse::<i64>().ok().filter(|n| n.unsigned_abs() <= MAX_DIGITS as u64)?)
        }
        None => (unsigned, 0),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let leading = digits.bytes().take_while(|&byte| byte == b'0').count();
    let digits = digits[leading..].trim_end_matches('0');
    if digits.is_empty() {
        out.push('0');
        return Some(());
    }
    // Where the point stands in the digits that are left.
    let point = whole.len() as i64 - leading as i64 + exponent;
    if point.abs() > MAX_DIGITS {
        return None;
    }
    if negative {
        out.push('-');
    }
    let zeros = |count: i64| std::iter::repeat_n('0', usize::try_from(count).unwrap_or(0));
    match usize::try_from(point).ok().filter(|&point| point > 0) {
        None => {
            out.push_str("0.");
            out.extend(zeros(-point));
            out.push_str(digits);
        }
        Some(point) if point < digits.len() => {
            out.push_str(&digits[..point]);
            out.push('.');
            out.push_str(&digits[point..]);
        }
        Some(point) => {
            out.push_str(digits);
            out.extend(zeros((point - digits.len()) as i64));
        }
    }
    Some(())
}
