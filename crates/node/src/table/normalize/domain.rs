//! `domain`.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

/// The domain name in lower-case ASCII, international labels as `xn--` (IDNA 2008 by way of UTS #46), without a dot at
/// its end. `value` is trimmed.
pub(super) fn domain(value: &str, out: &mut String) -> Option<()> {
    let name = Uts46::new()
        .to_ascii(value.as_bytes(), AsciiDenyList::URL, Hyphens::Allow, DnsLength::VerifyAllowRootDot)
        .ok()?;
    let name = name.strip_suffix('.').unwrap_or(&name);
    // An address is none, and neither is a pattern.
    let ends_in_number = name.rsplit('.').next()?.bytes().all(|byte| byte.is_ascii_digit());
    if ends_in_number || name.contains('*') {
        return None;
    }
    out.push_str(name);
    Some(())
}
