//! Parquet files made by hand, byte by byte, that say what no program would write.

/// Writer of Thrift's compact encoding.
#[derive(Default)]
pub struct Thrift {
    pub bytes: Vec<u8>,
    last: Vec<i16>,
}

impl Thrift {
    pub fn structure(fill: impl FnOnce(&mut Thrift)) -> Vec<u8> {
        let mut thrift = Thrift::default();
        thrift.open();
        fill(&mut thrift);
        thrift.close();
        thrift.bytes
    }

    pub fn open(&mut self) {
        self.last.push(0);
    }

    pub fn close(&mut self) {
        self.last.pop();
        self.bytes.push(0);
    }

    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn integer(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)) as u64);
    }

    fn field(&mut self, field: i16, kind: u8) {
        let last = self.last.last_mut().unwrap();
        assert!((1..15).contains(&(field - *last)));
        self.bytes.push(((field - *last) as u8) << 4 | kind);
        *last = field;
    }

    pub fn i32(&mut self, field: i16, value: i32) {
        self.field(field, 5);
        self.integer(value.into());
    }

    pub fn i64(&mut self, field: i16, value: i64) {
        self.field(field, 6);
        self.integer(value);
    }

    pub fn text(&mut self, field: i16, text: &str) {
        self.field(field, 8);
        self.varint(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    pub fn sub(&mut self, field: i16, fill: impl FnOnce(&mut Thrift)) {
        self.field(field, 12);
        self.open();
        fill(self);
        self.close();
    }

    /// A list of elements of a type (5: numbers, 8: texts, 12: structures).
    pub fn list(&mut self, field: i16, kind: u8, count: usize, fill: impl FnOnce(&mut Thrift)) {
        self.field(field, 9);
        self.bytes.push(0xf0 | kind);
        self.varint(count as u64);
        fill(self);
    }
}

/// Types of columns, and how often a value stands in a row.
pub const INT64: i32 = 2;
pub const BYTE_ARRAY: i32 = 6;
pub const FIXED: i32 = 7;
pub const REQUIRED: i32 = 0;
pub const OPTIONAL: i32 = 1;
pub const REPEATED: i32 = 2;

/// Numbers of encodings and codecs.
pub const PLAIN: i32 = 0;
pub const DELTA_LENGTH: i32 = 6;
pub const DELTA: i32 = 7;
pub const DICTIONARY: i32 = 8;
pub const UNPACKED: i32 = 0;
pub const GZIP: i32 = 2;

/// A file of one column in one row group.
pub struct File {
    pub kind: i32,
    pub width: i32,
    pub repetition: i32,
    pub codec: i32,
    pub rows: i64,
    pub pages: Vec<u8>,
    pub has_dictionary: bool,
    /// Length of the pages that the footer claims.
    pub claimed: Option<i64>,
}

impl File {
    pub fn new(kind: i32, rows: i64) -> File {
        let pages = Vec::new();
        File {
            kind,
            width: 0,
            repetition: REQUIRED,
            codec: UNPACKED,
            rows,
            pages,
            has_dictionary: false,
            claimed: None,
        }
    }

    /// Adds a page of values; `unpacked` is what it claims to become.
    pub fn data(mut self, values: i32, encoding: i32, unpacked: usize, content: &[u8]) -> File {
        self.pages.extend(Thrift::structure(|head| {
            head.i32(1, 0);
            head.i32(2, unpacked as i32);
            head.i32(3, content.len() as i32);
            head.sub(5, |data| {
                data.i32(1, values);
                data.i32(2, encoding);
                data.i32(3, 3);
                data.i32(4, 3);
            });
        }));
        self.pages.extend(content);
        self
    }

    /// Adds a dictionary page.
    pub fn dictionary(mut self, values: i32, unpacked: usize, content: &[u8]) -> File {
        self.pages.extend(Thrift::structure(|head| {
            head.i32(1, 2);
            head.i32(2, unpacked as i32);
            head.i32(3, content.len() as i32);
            head.sub(7, |dictionary| {
                dictionary.i32(1, values);
                dictionary.i32(2, PLAIN);
            });
        }));
        self.pages.extend(content);
        self.has_dictionary = true;
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let footer = Thrift::structure(|footer| {
            footer.i32(1, 1);
            footer.list(2, 12, 2, |schema| {
                schema.open();
                schema.text(4, "schema");
                schema.i32(5, 1);
                schema.close();
                schema.open();
                schema.i32(1, self.kind);
                if self.width > 0 {
                    schema.i32(2, self.width);
                }
                schema.i32(3, self.repetition);
                schema.text(4, "k");
                schema.close();
            });
            footer.i64(3, self.rows);
            footer.list(4, 12, 1, |groups| {
                groups.open();
                groups.list(1, 12, 1, |columns| {
                    columns.open();
                    columns.i64(2, 4);
                    columns.sub(3, |column| {
                        let length = self.claimed.unwrap_or(self.pages.len() as i64);
                        column.i32(1, self.kind);
                        column.list(2, 5, 1, |encodings| encodings.bytes.push(0));
                        column.list(3, 8, 1, |path| path.bytes.extend([1, b'k']));
                        column.i32(4, self.codec);
                        column.i64(5, self.rows);
                        column.i64(6, length);
                        column.i64(7, length);
                        column.i64(9, 4);
                        if self.has_dictionary {
                            column.i64(11, 4);
                        }
                    });
                    columns.close();
                });
                groups.i64(2, self.pages.len() as i64);
                groups.i64(3, self.rows);
                groups.close();
            });
        });
        with_footer(&self.pages, &footer)
    }
}

/// A file with these pages and this footer.
pub fn with_footer(pages: &[u8], footer: &[u8]) -> Vec<u8> {
    [b"PAR1", pages, footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}
