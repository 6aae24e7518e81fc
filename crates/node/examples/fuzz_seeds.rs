//! Writes the files that fuzzing of Parquet and Arrow starts from, small tables of many types, in every codec and
//! encoding; that of aggregation: what its roles send each other, and keep; and that of Paillier's keys and
//! ciphertexts.
//!
//! `cargo run --release -p tacita-node --example fuzz_seeds -- fuzz/seeds`

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use chacha20::ChaCha20Rng;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use rand_core::SeedableRng;
use tacita_core::primitive::paillier::{KeySize, PaillierSecretKey};
use tacita_core::protocol::aggregate::{DatabaseKey, Entry, Params, ProxyKey, RoundKeys, ask, blind, open, report};
use tacita_core::session::{Session, Transcript};

type Result = std::result::Result<(), Box<dyn Error>>;

/// Columns of several types, each in a table of its own, so that files stay small.
fn tables() -> std::result::Result<Vec<(&'static str, RecordBatch)>, Box<dyn Error>> {
    let words = || [Some("Ann"), None, Some("Bob"), Some("Ann"), Some("a text that is longer than others")].into_iter();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for length in [2, 0, 3] {
        lists.values().append_slice(&[7, 8, 9][..length]);
        lists.append(length > 0);
    }
    let dictionary: DictionaryArray<Int32Type> = words().collect();
    let values: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![3, 5]), &values)?;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("text", Arc::new(words().collect::<StringArray>())),
        ("view", Arc::new(words().collect::<StringViewArray>())),
        ("int", Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]))),
        ("bytes", Arc::new(FixedSizeBinaryArray::try_from_iter([[1u8, 2, 3], [4, 5, 6]].into_iter())?)),
        ("flags", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("lists", Arc::new(lists.finish())),
        ("dictionary", Arc::new(dictionary)),
        ("runs", Arc::new(runs)),
        ("nulls", Arc::new(NullArray::new(3))),
    ];
    let table = |(name, column): (&'static str, ArrayRef)| {
        Ok((name, RecordBatch::try_from_iter_with_nullable([("k", column, true)])?))
    };
    columns.into_iter().map(table).collect()
}

fn write_parquet(path: &Path, table: &RecordBatch, properties: WriterProperties) -> Result {
    let mut writer = ArrowWriter::try_new(File::create(path)?, table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.close()?;
    Ok(())
}

fn write_arrow(directory: &Path, name: &str, table: &RecordBatch, codec: Option<CompressionType>) -> Result {
    let options = || IpcWriteOptions::default().try_with_compression(codec);
    let schema = table.schema();
    let mut file = FileWriter::try_new_with_options(File::create(directory.join(name))?, &schema, options()?)?;
    file.write(table)?;
    file.finish()?;
    let stream = File::create(directory.join(format!("{name}-stream")))?;
    let mut stream = StreamWriter::try_new_with_options(stream, &schema, options()?)?;
    stream.write(table)?;
    stream.write(table)?;
    stream.finish()?;
    Ok(())
}

/// Writes seeds for the target `aggregate`: a round number, then the bytes read in that round. The rounds are
/// generated in the same way as in the target.
fn write_aggregate(directory: &Path) -> Result {
    for (which, (key_bytes, values, distinct)) in
        [(16, 0, true), (16, 3, true), (20, 10, false)].into_iter().enumerate()
    {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let params = Params::new(Session::new(Transcript::new("fuzz")), key_bytes, values, distinct)?;
        let (proxy, database) = (ProxyKey::generate(&params, &mut rng), DatabaseKey::generate(&params, &mut rng));
        let public = [database.public(&params, &mut rng), proxy.public(&params, &mut rng)];
        let keys = RoundKeys::new(&params, &public[0], &public[1], &mut rng).ok_or("keys that prove nothing")?;
        let entries = [("x", 0), ("192.0.2.1", values.saturating_sub(1))];
        let entries = entries.map(|(key, value)| Entry { key: key.as_bytes().to_vec(), value });
        let reports = report(&params, &keys, "fuzz", 0, &entries, &mut rng)?;
        let blinded =
            blind(&params, &keys, &proxy, "fuzz", 0, &reports, &mut rng).map_err(|error| error.to_string())?;
        let opened = open(&params, &database, &blinded)?;
        let sealed: Vec<&[u8]> = opened.rows.iter().map(|row| &row.sealed[..]).collect();
        for (name, bytes) in [
            ("report", &reports[..params.report_bytes()]),
            ("reports", &reports),
            ("entries", &blinded),
            ("question", &ask(&params, &keys, &sealed, &mut rng)?),
            ("proxy", &proxy.to_bytes(&params)),
            ("database", &database.to_bytes(&params)),
            ("public", &public.concat()),
        ] {
            fs::write(directory.join(format!("{name}-{which}")), [&[which as u8], bytes].concat())?;
        }
    }
    Ok(())
}

/// A key of the target `paillier`, and ciphertexts of it, each behind the number of its reader.
fn write_paillier(directory: &Path) -> Result {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let key = PaillierSecretKey::generate(KeySize::new(512)?, &mut rng);
    let public = key.public();
    let ciphertexts = public.encrypt(&public.encode(&[0, 1, -1, i128::MAX]), &mut rng).to_bytes();
    for (name, reader, bytes) in [
        ("ciphertexts", 0, ciphertexts.clone()),
        ("public", 1, [public.to_bytes(), ciphertexts].concat()),
        ("secret", 2, key.to_bytes().to_vec()),
        ("kept", 3, Vec::new()),
    ] {
        fs::write(directory.join(name), [&[reader], &bytes[..]].concat())?;
    }
    Ok(())
}

fn main() -> Result {
    let seeds = PathBuf::from(std::env::args().nth(1).ok_or("say where to: fuzz/seeds")?);
    let aggregate = seeds.join("aggregate");
    fs::create_dir_all(&aggregate)?;
    write_aggregate(&aggregate)?;
    let paillier = seeds.join("paillier");
    fs::create_dir_all(&paillier)?;
    write_paillier(&paillier)?;
    let (parquet, arrow) = (seeds.join("parquet"), seeds.join("arrow"));
    fs::create_dir_all(&parquet)?;
    fs::create_dir_all(&arrow)?;
    let builder = || WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_1_0);
    for (name, table) in tables()? {
        if name != "runs" {
            write_parquet(&parquet.join(name), &table, builder().build())?;
        }
        write_arrow(&arrow, name, &table, None)?;
    }
    let (_, text) = tables()?.swap_remove(0);
    for (name, codec) in [
        ("snappy", Compression::SNAPPY),
        ("gzip", Compression::GZIP(GzipLevel::default())),
        ("brotli", Compression::BROTLI(BrotliLevel::default())),
        ("lz4", Compression::LZ4),
        ("lz4_raw", Compression::LZ4_RAW),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
    ] {
        let properties = builder().set_writer_version(WriterVersion::PARQUET_2_0).set_compression(codec);
        write_parquet(&parquet.join(name), &text, properties.build())?;
    }
    for (name, encoding) in [
        ("plain", Encoding::PLAIN),
        ("delta", Encoding::DELTA_BYTE_ARRAY),
        ("delta_length", Encoding::DELTA_LENGTH_BYTE_ARRAY),
    ] {
        let properties = builder().set_dictionary_enabled(false).set_encoding(encoding);
        write_parquet(&parquet.join(name), &text, properties.build())?;
    }
    // Short columns are not packed: that would make them longer.
    let long: ArrayRef = Arc::new(StringArray::from(vec!["again and again "; 40]));
    let text = RecordBatch::try_from_iter([("k", long)])?;
    write_arrow(&arrow, "lz4", &text, Some(CompressionType::LZ4_FRAME))?;
    write_arrow(&arrow, "zstd", &text, Some(CompressionType::ZSTD))
}
