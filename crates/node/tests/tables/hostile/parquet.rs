//! Hostile Parquet files.

use super::*;

/// A schema of groups in groups, down to one column.
fn deep(levels: usize) -> Vec<u8> {
    let footer = Thrift::structure(|footer| {
        footer.i32(1, 1);
        footer.list(2, 12, levels + 1, |schema| {
            for level in 0..levels {
                schema.open();
                if level > 0 {
                    schema.i32(3, OPTIONAL);
                }
                schema.text(4, "g");
                schema.i32(5, 1);
                schema.close();
            }
            schema.open();
            schema.i32(1, INT64);
            schema.i32(3, REQUIRED);
            schema.text(4, "k");
            schema.close();
        });
        footer.i64(3, 0);
        footer.list(4, 12, 0, |_| ());
    });
    with_footer(&[], &footer)
}

#[test]
fn a_schema_has_a_bounded_depth() {
    for levels in [33, 500, 100_000] {
        refused(&deep(levels), "parquet", &["levels deep"]);
    }
    // On a small stack, as threads have.
    let read = std::thread::Builder::new().stack_size(1 << 20).spawn(|| read_bytes(&deep(32), "parquet")).unwrap();
    assert_eq!(read.join().unwrap().unwrap().rows(), 0);
}

#[test]
fn a_schema_has_what_it_claims() {
    let claims = |children: i32, more: fn(&mut Thrift)| {
        let footer = Thrift::structure(|footer| {
            footer.i32(1, 1);
            footer.list(2, 12, 2, |schema| {
                schema.open();
                schema.text(4, "g");
                schema.i32(5, children);
                more(schema);
                schema.close();
                schema.open();
                schema.i32(1, INT64);
                schema.i32(3, REQUIRED);
                schema.text(4, "k");
                schema.close();
            });
            footer.i64(3, 0);
            footer.list(4, 12, 0, |_| ());
        });
        with_footer(&[], &footer)
    };
    assert_eq!(read_bytes(&claims(1, |_| ()), "parquet").unwrap().rows(), 0);
    refused(&claims(i32::MAX, |_| ()), "parquet", &["2147483647 parts"]);
    refused(&claims(-1, |_| ()), "parquet", &["-1 parts"]);
    // A field of another type than its number's: the library would read on elsewhere than the check.
    refused(&claims(1, |schema| schema.text(6, "\x0a\x15\x02")), "parquet", &["corrupt"]);
    // A footer that is not there.
    let mut bytes = claims(1, |_| ());
    let at = bytes.len() - 8;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    refused(&bytes, "parquet", &["footer", "more than the file has"]);
}

/// Indices into a dictionary: the first value, so many times.
fn first_of_dictionary(times: u64) -> Vec<u8> {
    let mut indices = Thrift::default();
    indices.bytes.push(1);
    indices.varint(times << 1);
    indices.bytes.push(0);
    indices.bytes
}

#[test]
fn a_value_of_a_dictionary_is_weighed_in_every_row() {
    let value = 10 << 20;
    let dictionary = gzip(|out| {
        out.write_all(&(value as u32).to_le_bytes()).unwrap();
        mebibytes(out, b'x', value >> 20);
    });
    let file = |rows: u64| {
        let indices = gzip(|out| out.write_all(&first_of_dictionary(rows)).unwrap());
        let file = File { codec: GZIP, ..File::new(BYTE_ARRAY, rows as i64) };
        let unpacked = first_of_dictionary(rows).len();
        file.dictionary(1, value + 4, &dictionary).data(rows as i32, DICTIONARY, unpacked, &indices).bytes()
    };
    assert_eq!(read_bytes(&file(5), "parquet").unwrap().rows(), 5);
    refused(&file(60_000), "parquet", &["\"k\"", "629 GB"]);
}

#[test]
fn a_beginning_that_values_share_is_weighed_in_every_value() {
    // A value, then values that share all of it; blocks of eight differences each.
    let values = |length: u64, count: u64| {
        let mut page = Vec::new();
        // Shared: 0, then `length` for ever.
        let mut shared = Thrift::default();
        [8, 1, count, 0].into_iter().for_each(|number| shared.varint(number));
        shared.varint(0);
        shared.bytes.push(32);
        shared.bytes.extend((length as u32).to_le_bytes());
        shared.bytes.extend([0; 28]);
        (9..count).step_by(8).for_each(|_| shared.bytes.extend([0, 0]));
        page.extend(shared.bytes);
        // Own: `length`, then 0 for ever. The least difference is -length, and the others add it again.
        let mut own = Thrift::default();
        [8, 1, count, length << 1].into_iter().for_each(|number| own.varint(number));
        own.varint((length << 1) - 1);
        own.bytes.push(32);
        own.bytes.extend([0; 4]);
        (1..8).for_each(|_| own.bytes.extend((length as u32).to_le_bytes()));
        (9..count).step_by(8).for_each(|_| own.bytes.extend([0, 0]));
        page.extend(own.bytes);
        page.extend(vec![b'x'; length as usize]);
        page
    };
    let file = |length, count| {
        let page = values(length, count);
        File::new(BYTE_ARRAY, count as i64).data(count as i32, DELTA, page.len(), &page).bytes()
    };
    let table = read_bytes(&file(3, 20), "parquet").unwrap();
    let column = arrow_cast::cast(table.batches()[0].column(0), &DataType::Utf8).unwrap();
    assert_eq!(column.as_any().downcast_ref::<StringArray>().unwrap(), &StringArray::from(vec!["xxx"; 20]));
    refused(&file(1 << 20, 60_000), "parquet", &["\"k\"", "at once"]);
}

#[test]
fn pages_are_what_they_claim() {
    // Lengths of 2^40 values in a page of one.
    let mut lengths = Thrift::default();
    [128, 4, 1 << 40, 0].into_iter().for_each(|number| lengths.varint(number));
    let lengths = lengths.bytes;
    refused(&File::new(BYTE_ARRAY, 1).data(1, DELTA_LENGTH, lengths.len(), &lengths).bytes(), "parquet", &["corrupt"]);
    // 256 MiB in a page of eight bytes.
    let bomb = gzip(|out| mebibytes(out, 0, 1 << 8));
    let file = File { codec: GZIP, ..File::new(INT64, 1) };
    refused(&file.data(1, PLAIN, 8, &bomb).bytes(), "parquet", &["packed block is corrupt"]);
    // Two GiB in ten bytes.
    let file = File { codec: GZIP, ..File::new(INT64, 1) };
    refused(&file.data(1, PLAIN, i32::MAX as usize, &[0; 10]).bytes(), "parquet", &["2.1 GB"]);
    // A dictionary of so many values in eight bytes.
    for kind in [INT64, BYTE_ARRAY] {
        let file = File::new(kind, 1).dictionary(i32::MAX, 8, &[0; 8]).data(1, DICTIONARY, 2, &[1, 2]);
        refused(&file.bytes(), "parquet", &["corrupt"]);
    }
    // Pages beyond the end, before the beginning, and longer than their column.
    for claimed in [1 << 40, i64::MAX, -1] {
        let file = File { claimed: Some(claimed), ..File::new(INT64, 1) };
        refused(&file.data(1, PLAIN, 8, &[0; 8]).bytes(), "parquet", &["write it again"]);
    }
    let file = File { claimed: Some(30), ..File::new(INT64, 100) };
    refused(&file.data(100, PLAIN, 800, &[0; 800]).bytes(), "parquet", &["longer than its column"]);
}

/// Definition levels: so many values that are absent.
fn absent(count: u64) -> Vec<u8> {
    let mut levels = Thrift::default();
    levels.varint(count << 1);
    levels.bytes.push(0);
    [&(levels.bytes.len() as u32).to_le_bytes()[..], &levels.bytes].concat()
}

#[test]
fn rows_take_something() {
    for rows in [1 << 50, i64::MAX] {
        let file = File::new(INT64, rows).data(1, PLAIN, 8, &[0; 8]);
        refused(&file.bytes(), "parquet", &["more than 4294967295 rows"]);
    }
    refused(&File::new(INT64, -1).data(1, PLAIN, 8, &[0; 8]).bytes(), "parquet", &["fewer than no rows"]);
    // Absent numbers are numbers once they are read.
    let rows = i32::MAX;
    let levels = absent(rows as u64);
    let file = File { repetition: OPTIONAL, ..File::new(INT64, rows.into()) };
    refused(&file.data(rows, PLAIN, levels.len(), &levels).bytes(), "parquet", &["t.parquet"]);
    let levels = absent(100_000);
    let file = File { repetition: OPTIONAL, ..File::new(INT64, 100_000) };
    assert_eq!(
        read_bytes(&file.data(100_000, PLAIN, levels.len(), &levels).bytes(), "parquet").unwrap().rows(),
        100_000
    );
    // And values of a fixed length have it where they are absent.
    let file = File { repetition: OPTIONAL, width: i32::MAX, ..File::new(FIXED, 100_000) };
    refused(&file.data(100_000, PLAIN, absent(100_000).len(), &absent(100_000)).bytes(), "parquet", &["\"k\""]);
    // A list of so many values in one row.
    let mut levels = Vec::new();
    for level in [1u8, 1] {
        let mut run = Thrift::default();
        run.varint((i32::MAX as u64) << 1);
        run.bytes.push(level);
        levels.extend((run.bytes.len() as u32).to_le_bytes());
        levels.extend(run.bytes);
    }
    let file = File { repetition: REPEATED, ..File::new(INT64, 1) };
    refused(&file.data(i32::MAX, PLAIN, levels.len(), &levels).bytes(), "parquet", &["\"k\"", "at once"]);
}
