//! Headers that look like data: the first row may have been taken for them.

use arrow_schema::Schema;

use super::{Profile, Table};

impl Table {
    /// Returns a warning if the header looks like data.
    pub fn warning_of_header(&self) -> Option<String> {
        (self.lines.is_some() && header_is_data(&self.schema)).then(|| {
            format!(
                "{}: its header looks like data: if its first line is a row, set header = false in [parties.X] of the job file, \
                 or --no-header",
                self.source
            )
        })
    }
}

/// Returns advice for the case that the first line is no header, where it does not look like one.
pub(super) fn advice_on_header(schema: &Schema) -> &'static str {
    let mut names = schema.fields().iter().map(|field| field.name().as_str());
    if header_is_data(schema) {
        "; if its first line is a row and no header, set header = false in [parties.X] of the job file, or --no-header: the \
         columns are then column_1 and so on"
    } else if schema.fields().len() == 1 || names.next().is_some_and(|name| name.starts_with('#')) {
        "; if there are lines above its header, skip them with skip = N in [parties.X] of the job file, or --skip N"
    } else {
        ""
    }
}

/// Whether headers look like data: the first row may have been taken for them. A date or an address is hardly ever a
/// header; a number may be one, as a year is, and counts where no other header is without a digit.
pub(crate) fn header_is_data(schema: &Schema) -> bool {
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    let is_number = |name: &str| Profile::INTEGER.count_read(&[name]) == 1;
    let has_digit = |name: &str| name.bytes().any(|byte| byte.is_ascii_digit());
    names().any(|name| looks_like_data(name) && !is_number(name)) || names().any(is_number) && names().all(has_digit)
}

/// Whether a header is a value of a certain kind: a date, a number, an address.
pub(crate) fn looks_like_data(header: &str) -> bool {
    Profile::of_kinds().iter().any(|profile| profile.count_read(&[header]) == 1)
}
