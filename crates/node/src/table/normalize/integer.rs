//! `integer`.

/// The decimal number of any length: no plus sign, no zeros in front, no `-0`. A fraction of zeros is dropped: tables
/// that came through pandas write integers so when some are absent. `value` is trimmed.
pub(super) fn integer(value: &str, out: &mut String) -> Option<()> {
    let (negative, digits) = match value.as_bytes()[0] {
        b'-' => (true, &value[1..]),
        b'+' => (false, &value[1..]),
        _ => (false, value),
    };
    let (digits, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || fraction.is_empty() || !fraction.bytes().all(|byte| byte == b'0') {
        return None;
    }
    match digits.trim_start_matches('0') {
        "" => out.push('0'),
        digits => {
            if negative {
                out.push('-');
            }
            out.push_str(digits);
        }
    }
    Some(())
}
