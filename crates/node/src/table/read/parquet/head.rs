//! The head of a page: its kind, its lengths, and how many values it claims.

use parquet::basic::Encoding;

use super::thrift::{FALSE, I32, Reader, STRUCT, TRUE};

/// Header of a page.
pub(super) struct Head {
    /// Length of the header in bytes.
    pub bytes: usize,
    /// The page's length, and what it is unpacked.
    pub packed: usize,
    pub unpacked: usize,
    pub values: u32,
    pub encoding: Encoding,
    pub kind: Kind,
}

/// Kinds of pages in a column.
pub(super) enum Kind {
    Dictionary {
        is_sorted: bool,
    },
    /// Values, with the encodings of their levels.
    Data {
        repetition: Encoding,
        definition: Encoding,
    },
    /// The same, in the newer form.
    DataV2 {
        nulls: u32,
        rows: u32,
        repetition_bytes: usize,
        definition_bytes: usize,
        is_packed: bool,
    },
    /// Page whose contents are not needed.
    Other,
}

/// Numbers and truth values of a structure, by field.
#[derive(Default)]
struct Fields {
    numbers: [Option<i32>; 9],
    truths: [Option<bool>; 9],
}

impl Fields {
    fn read(reader: &mut Reader<'_>) -> Option<Fields> {
        let (mut fields, mut last) = (Fields::default(), 0);
        while let Some((field, kind)) = reader.field(&mut last)? {
            let slot = usize::try_from(field).ok().filter(|field| *field < 9);
            match (slot, kind) {
                (Some(slot), I32) => fields.numbers[slot] = Some(reader.i32()?),
                (Some(slot), TRUE | FALSE) => fields.truths[slot] = Some(kind == TRUE),
                _ => reader.skip(kind)?,
            }
        }
        Some(fields)
    }

    fn count(&self, field: usize) -> Option<u32> {
        self.numbers[field].and_then(|number| number.try_into().ok())
    }

    fn length(&self, field: usize) -> Option<usize> {
        self.count(field).map(|length| length as usize)
    }

    fn encoding(&self, field: usize) -> Option<Encoding> {
        self.numbers[field].and_then(encoding)
    }
}

impl Head {
    /// The head at the beginning of `bytes`; `None` if it is not whole, or none.
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let mut reader = Reader::new(bytes);
        let (mut numbers, mut last) = ([None; 4], 0);
        let (mut data, mut dictionary, mut data_v2) = (None, None, None);
        while let Some((field, kind)) = reader.field(&mut last)? {
            match (field, kind) {
                (1..=3, I32) => numbers[field as usize] = Some(reader.i32()?),
                (5, STRUCT) => data = Some(Fields::read(&mut reader)?),
                (7, STRUCT) => dictionary = Some(Fields::read(&mut reader)?),
                (8, STRUCT) => data_v2 = Some(Fields::read(&mut reader)?),
                _ => reader.skip(kind)?,
            }
        }
        let length = |field: usize| numbers[field].and_then(|number: i32| usize::try_from(number).ok());
        let (unpacked, packed) = (length(2)?, length(3)?);
        let head = |values, encoding, kind| Head { bytes: reader.position(), packed, unpacked, values, encoding, kind };
        Some(match numbers[1]? {
            0 => {
                let fields = data?;
                let kind = Kind::Data { definition: fields.encoding(3)?, repetition: fields.encoding(4)? };
                head(fields.count(1)?, fields.encoding(2)?, kind)
            }
            2 => {
                let fields = dictionary?;
                let kind = Kind::Dictionary { is_sorted: fields.truths[3].unwrap_or(false) };
                head(fields.count(1)?, fields.encoding(2)?, kind)
            }
            3 => {
                let fields = data_v2?;
                let kind = Kind::DataV2 {
                    nulls: fields.count(2)?,
                    rows: fields.count(3)?,
                    definition_bytes: fields.length(5)?,
                    repetition_bytes: fields.length(6)?,
                    is_packed: fields.truths[7].unwrap_or(true),
                };
                head(fields.count(1)?, fields.encoding(4)?, kind)
            }
            _ => head(0, Encoding::PLAIN, Kind::Other),
        })
    }
}

fn encoding(number: i32) -> Option<Encoding> {
    // The first version wrote levels in an encoding that nothing else has.
    #[expect(deprecated)]
    let bit_packed = Encoding::BIT_PACKED;
    Some(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        4 => bit_packed,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return None,
    })
}
