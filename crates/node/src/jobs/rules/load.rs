//! What a party brings: its items, and the ids of its rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use tacita_core::{Error, Result};

use super::Brought;
use crate::agreement::{ItemsFrom, Sizes, Source};
use crate::jobs::intersect;
use crate::jobs::rules::spec::{Bins, Spec};
use crate::table::baskets::{self, Binning, ItemColumn, Items};
use crate::table::{RowCounts, Table};

impl Brought {
    /// Reads a party's baskets, and the ids of its rows.
    pub fn load(job: &Spec<'_>, me: &str, source: &Source) -> Result<Brought> {
        let alignment = job.alignment();
        if let Source::File { path, .. } = source
            && baskets::is_dat(path)
        {
            return match alignment {
                None => by_position(job, baskets::read_dat(path)?, &path.display().to_string()),
                Some(_) => Err(Error::Input(format!(
                    "{}: baskets in this form have no ids, and row_id asks for them: write them as CSV, or leave out row_id",
                    path.display()
                ))),
            };
        }
        let Some((table, allow_unreadable)) = source.table()? else {
            return Err(Error::Input("association rules need baskets: give --input FILE".into()));
        };
        let Some(alignment) = alignment else {
            if let Some(line) = table.blank_line() {
                return Err(Error::Input(format!(
                    "{}, line {line}: a blank line, where rows are aligned by position: is it an empty basket? Write \"\" \
                     for one, or remove the line",
                    table.source()
                )));
            }
            return by_position(job, items(job, me, &table)?, table.source());
        };
        let items = items(job, me, &table)?;
        let loaded = intersect::Loaded::of(&alignment, me, table, allow_unreadable)?;
        let (rows, sizes) = (loaded.keys().counts(), loaded.sizes().clone());
        Ok(Brought { own: job.own.clone(), items, rows, ids: Some(Arc::new(loaded)), sizes })
    }
}

fn by_position(job: &Spec<'_>, items: Items, source: &str) -> Result<Brought> {
    let rows = RowCounts { read: items.rows(), items: items.rows(), ..RowCounts::default() };
    let mut sizes = Sizes { items: items.rows() as u64, ..Sizes::default() };
    intersect::check_limits(job, source, &mut sizes)?;
    Ok(Brought { own: job.own.clone(), items, rows, ids: None, sizes })
}

/// The items of a table, as the job has it for this party.
fn items(job: &Spec<'_>, me: &str, table: &Table) -> Result<Items> {
    let column = |name: &str, header: &str| {
        let bins = job.own.bins.get(name).or_else(|| job.own.bins.get(header));
        let binning = bins.map(|bins| match bins {
            Bins::Quantiles(count) => Binning::Quantiles(*count as usize),
            Bins::Bounds(bounds) => Binning::Bounds(bounds.clone()),
        });
        ItemColumn { name: name.to_owned(), header: header.to_owned(), binning }
    };
    match job.items_of(me) {
        ItemsFrom::Basket(basket) => {
            warn_of_bins(job, me, &[]);
            let named = (basket.column.as_str(), job.header(me, &basket.column));
            let items =
                baskets::of_column(table, named, &basket.separator).map_err(|error| perhaps_dat(error, table))?;
            if let Some(other) = baskets::perhaps_separator(&items) {
                tracing::warn!(
                    "{}, column {:?}: no basket has more than one item, and names hold `{other}`: items are separated by `{}` \
                     here; another separator is said with items = {{ separator = \"{other}\" }} or --separator",
                    table.source(),
                    named.1,
                    basket.separator
                );
            }
            Ok(items)
        }
        ItemsFrom::Columns(names) => {
            let columns: Vec<_> = names.iter().map(|name| column(name, job.header(me, name))).collect();
            warn_of_bins(job, me, &columns);
            baskets::of_columns(table, &columns)
        }
        ItemsFrom::All(_) => {
            let ids = job.own.row_id.as_ref().map_or(&[][..], |names| names.all());
            let ids: BTreeSet<&str> = ids.iter().map(|name| job.header(me, name)).collect();
            let headers = baskets::all_columns(table, &ids);
            let columns: Vec<_> = headers.iter().map(|header| column(header, header)).collect();
            warn_of_bins(job, me, &columns);
            baskets::of_columns(table, &columns)
        }
    }
}

/// Warns of bins for no column of this party: they may be for the other's, or for none because of a typing error.
fn warn_of_bins(job: &Spec<'_>, me: &str, columns: &[ItemColumn]) {
    let here = |name: &String| columns.iter().any(|column| column.name == *name || column.header == *name);
    for name in job.own.bins.keys().filter(|name| !here(name)) {
        tracing::warn!(
            "bins.{}: no item column of {me} is called so: is it one of {}'s?",
            name.escape_debug(),
            job.peer_of(me)
        );
    }
}

/// A file of baskets, a line each, that is read as CSV has a basket where its header should be.
fn perhaps_dat(error: Error, table: &Table) -> Error {
    let fields = table.schema().fields();
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let basket = |header: &str| !header.is_empty() && header.split_ascii_whitespace().all(number);
    match error {
        Error::Input(text) if fields.iter().all(|field| basket(field.name())) => Error::Input(format!(
            "{text}. Its first line looks like a basket: a file with a basket in each line is read if its name ends in .dat"
        )),
        other => other,
    }
}
