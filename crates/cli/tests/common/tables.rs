//! Tables as the tests see them, and the larger public data sets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use tacita_node::table::output::write;
use tacita_node::table::{ReadOptions, Selection, read};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Rows by column name.
pub type Rows = Vec<BTreeMap<String, String>>;

/// The directory of a public data set below `TACITA_DATA`; `None`, with a note, where it is not there.
pub fn data(set: &str) -> Option<PathBuf> {
    let path = std::env::var_os("TACITA_DATA").map(|root| Path::new(&root).join(set)).filter(|path| path.is_dir());
    if path.is_none() {
        eprintln!("left out: TACITA_DATA does not lead to a directory with {set}");
    }
    path
}

/// Reads a table of any format; CSV and JSON with other code than the program's.
pub fn rows_of(path: impl AsRef<Path>) -> Rows {
    let path = path.as_ref();
    match path.extension().and_then(|ending| ending.to_str()).unwrap() {
        "csv" => {
            let mut reader = csv::Reader::from_path(path).unwrap();
            reader.deserialize().map(Result::unwrap).collect()
        }
        "json" => serde_json::from_str(&super::text(path)).unwrap(),
        _ => columnar(path),
    }
}

fn columnar(path: &Path) -> Rows {
    let table = read(path, &ReadOptions::default()).unwrap();
    let options = FormatOptions::new();
    let mut rows = Vec::new();
    for batch in table.batches() {
        let texts: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap()).collect();
        let names = || table.schema().fields().iter().map(|field| field.name().clone());
        rows.extend((0..batch.num_rows()).map(|row| {
            names().zip(&texts).map(|(name, text)| (name, text.value(row).to_string())).collect::<BTreeMap<_, _>>()
        }));
    }
    rows
}

/// One column's values, sorted.
pub fn column(rows: &Rows, name: &str) -> Vec<String> {
    let mut values: Vec<_> = rows.iter().map(|row| row[name].clone()).collect();
    values.sort();
    values
}

/// Writes the CSV file `from` as `to`, in the format of its ending.
pub fn convert(from: &Path, to: &str) {
    if to.ends_with(".gz") {
        let file = std::fs::File::create(to).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::copy(&mut std::fs::File::open(from).unwrap(), &mut packed).unwrap();
        packed.finish().unwrap();
    } else if to.ends_with(".csv") {
        std::fs::copy(from, to).unwrap();
    } else {
        let table = read(from, &ReadOptions::default()).unwrap();
        write(&Selection::all(&table), Path::new(to), None).unwrap();
    }
}

/// Name and date as the makers of the medical data write a key: `ABBOTT CYRIL|1973-10-26`. Written anew here, so that
/// the program's own normalisation is not its own judge.
pub fn joined_key(name: &str, date: &str) -> String {
    let plain: String = name.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_uppercase).collect();
    let mut words: Vec<_> = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    let date = match date.split('/').collect::<Vec<_>>()[..] {
        [day, month, year] => format!("{year}-{month}-{day}"),
        _ if date.len() == 8 => format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]),
        _ => date.to_owned(),
    };
    format!("{}|{date}", words.join(" "))
}
