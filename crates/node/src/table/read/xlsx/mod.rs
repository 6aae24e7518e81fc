//! Spreadsheets: a sheet of an Office Open XML workbook (`.xlsx`). Columns are text, each cell what a CSV export of it
//! would hold ([`cells`]).

mod cells;
mod parts;
mod rows;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use calamine::{Dimensions, Reader, SheetType, SheetVisible, Xlsx, XlsxError};
use tacita_core::{Error, Result};

use self::cells::cell_name;
use self::parts::Parts;
use self::rows::{Found, Rows};
use super::columnar::guarded;
use super::{ReadOptions, Source, unreadable};
use crate::base::text::counted;
use crate::table::Lines;

/// First bytes of files from old spreadsheet programs, and of files from any such program if they have a password.
const COMPOUND: [u8; 4] = [0xD0, 0xCF, 0x11, 0xE0];

/// The advice on them.
pub(super) const OLD_OR_LOCKED: &str = "is a spreadsheet of an old kind (.xls), or one that is locked with a password: save it as .xlsx without a password, or as CSV in UTF-8";

/// The advice on an OpenDocument spreadsheet.
const OPEN_DOCUMENT: &str = "is an OpenDocument spreadsheet: save it as .xlsx, or as CSV in UTF-8";

/// The advice on a kind of spreadsheet that is not read, by its ending.
pub(super) fn advice_on(ending: &str) -> Option<&'static str> {
    match ending {
        ".xls" | ".xlt" => Some("is a spreadsheet of an old kind (.xls): save it as .xlsx, or as CSV in UTF-8"),
        ".xlsb" => Some("is a spreadsheet in a binary form (.xlsb): save it as .xlsx, or as CSV in UTF-8"),
        ".ods" | ".fods" => Some(OPEN_DOCUMENT),
        ".numbers" => Some("is a spreadsheet of Numbers: export it as .xlsx, or as CSV in UTF-8"),
        _ => None,
    }
}

/// The advice on an archive that is called otherwise, by what it begins with.
pub(super) fn advice_on_archive(head: &[u8]) -> &'static str {
    let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
    match () {
        _ if has(b"opendocument.spreadsheet") => OPEN_DOCUMENT,
        _ if has(b"[Content_Types].xml") || has(b"xl/") || has(b"docProps/") => "is a spreadsheet: name it .xlsx",
        _ => "is a ZIP archive: name it .zip, with one table in it",
    }
}

/// A sheet that was read.
pub(super) struct Sheet {
    name: Arc<str>,
    batches: VecDeque<RecordBatch>,
    lines: Lines,
    rows: usize,
    done: u64,
}

/// Reads the sheet that the options name, or else the first one that is not hidden. It is read as a whole: it has
/// 1,048,576 rows at most.
///
/// Errors: the file is no workbook; it has no such sheet; the sheet takes more memory than the budget.
pub(super) fn open(
    mut file: File,
    name: &str,
    options: &ReadOptions,
    batch_bytes: usize,
) -> Result<(SchemaRef, Sheet)> {
    let memory = options.budget.bytes();
    check_form(&mut file, name)?;
    let parts = Parts::weigh(BufReader::new(&file), name, memory)?;
    guarded(name, || {
        let failed = |error| unreadable_sheet(name, error);
        let mut workbook = Xlsx::new(BufReader::new(file)).map_err(failed)?;
        let sheet = choose(&workbook, name, options.sheet.as_deref())?;
        let rows = Rows::new(name, options, memory.saturating_sub(parts.memory), batch_bytes);
        let found = rows.read(workbook.worksheet_cells_reader(&sheet).map_err(failed)?)?;
        let place = format!("{name}, sheet {sheet:?}");
        warn_of_errors(&place, &found);
        if parts.merged {
            warn_of_merged(&place, &workbook.merge_cells_by_sheet_name(&sheet).map_err(failed)?, options.skip);
        }
        if parts.formulas && found.has_empty {
            warn_of_formulas(&mut workbook, &sheet, &place).map_err(failed)?;
        }
        let (rows, done) = (found.batches.iter().map(RecordBatch::num_rows).sum(), 0);
        let sheet = Sheet { name: sheet.into(), batches: found.batches.into(), lines: found.lines, rows, done };
        Ok((found.schema, sheet))
    })
}

impl Sheet {
    /// Returns the name of the sheet.
    pub fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// Returns the number of rows, without the header.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl Source for Sheet {
    fn next_batch(&mut self, _: u64) -> Result<Option<RecordBatch>> {
        let batch = self.batches.pop_front();
        self.done += batch.as_ref().map_or(0, RecordBatch::num_rows) as u64;
        Ok(batch)
    }

    fn lines(&mut self) -> Option<&mut Lines> {
        Some(&mut self.lines)
    }

    fn done(&self) -> u64 {
        self.done
    }
}

/// Refuses what is no archive.
fn check_form(file: &mut File, name: &str) -> Result<()> {
    let mut head = Vec::new();
    file.take(COMPOUND.len() as u64).read_to_end(&mut head).map_err(|error| unreadable(name, error))?;
    file.seek(SeekFrom::Start(0)).map_err(|error| unreadable(name, error))?;
    let what = match &head[..] {
        [] => "is empty",
        head if head == COMPOUND => OLD_OR_LOCKED,
        [b'P', b'K', ..] => return Ok(()),
        _ => "is no .xlsx file, despite its name: correct the name, or save it as .xlsx",
    };
    Err(Error::Input(format!("{name}: {what}")))
}

/// The name of the sheet to read.
fn choose<R: Read + Seek>(workbook: &Xlsx<R>, name: &str, wanted: Option<&str>) -> Result<String> {
    let sheets = workbook.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
    let sheets: Vec<_> = sheets.map(|sheet| (&sheet.name, sheet.visible != SheetVisible::Visible)).collect();
    let shown =
        |(sheet, is_hidden): &(&String, bool)| format!("{sheet:?}{}", if *is_hidden { " (hidden)" } else { "" });
    let all = || sheets.iter().map(shown).collect::<Vec<_>>().join(", ");
    let how = "sheet = \"NAME\" in [parties.X] of the job file, or --sheet NAME";
    if let Some(wanted) = wanted {
        return match sheets.iter().find(|(sheet, _)| *sheet == wanted) {
            Some((sheet, _)) => Ok(sheet.to_string()),
            None => Err(Error::Input(format!("{name}: no sheet {wanted:?}; its sheets are {}", all()))),
        };
    }
    let visible: Vec<_> = sheets.iter().filter(|(_, is_hidden)| !is_hidden).collect();
    match visible[..] {
        [] if sheets.is_empty() => Err(Error::Input(format!("{name}: has no sheet with cells"))),
        [] => Err(Error::Input(format!("{name}: all of its sheets are hidden, {}: name one, {how}", all()))),
        [(sheet, _), ..] => {
            if sheets.len() > 1 {
                tracing::warn!("{name}: sheet {sheet:?} is read, of {}; another one with {how}", all());
            }
            Ok(sheet.to_string())
        }
    }
}

fn warn_of_errors(place: &str, found: &Found) {
    if let Some((cell, error)) = &found.first_error {
        let errors = counted(found.errors, "cell");
        tracing::warn!(
            "{place}: {errors} with an error in place of a value, the first is {cell} ({error}): they are read as empty"
        );
    }
}

/// Warns of merged cells below the lines that are left out.
fn warn_of_merged(place: &str, areas: &[Dimensions], skip: usize) {
    let mut areas: Vec<_> = areas.iter().filter(|area| area.end.0 as usize >= skip).collect();
    areas.sort_by_key(|area| area.start);
    if let Some(first) = areas.first() {
        let merged = counted(areas.len() as u64, "area");
        tracing::warn!(
            "{place}: {merged} of merged cells, the first is {}:{}: only the first cell of each has its value, and the others are empty",
            cell_name(first.start),
            cell_name(first.end)
        );
    }
}

/// Warns of formulas that no program has calculated, as libraries write them.
fn warn_of_formulas<R: Read + Seek>(
    workbook: &mut Xlsx<R>,
    sheet: &str,
    place: &str,
) -> std::result::Result<(), XlsxError> {
    let mut cells = workbook.worksheet_cells_reader(sheet)?;
    let (mut formulas, mut first) = (0, None);
    while let Some(cell) = cells.next_cell_with_formula_metadata()? {
        if cell.formula.is_some() && cell.value == calamine::DataRef::Empty {
            formulas += 1;
            first.get_or_insert(cell.pos);
        }
    }
    if let Some(first) = first {
        tracing::warn!(
            "{place}: {} without a calculated value, the first is {}: they are read as empty; open the file in a spreadsheet program, and save it",
            counted(formulas, "formula"),
            cell_name(first)
        );
    }
    Ok(())
}

/// The error about a workbook that cannot be read.
fn unreadable_sheet(name: &str, error: XlsxError) -> Error {
    match error {
        XlsxError::Password => Error::Input(format!("{name}: {OLD_OR_LOCKED}")),
        XlsxError::FileNotFound(_) | XlsxError::RelationshipNotFound => {
            Error::Input(format!("{name}: is an archive, and no .xlsx file: name it .zip, or save the sheet as .xlsx"))
        }
        error => unreadable(name, error),
    }
}

#[cfg(test)]
mod tests;
