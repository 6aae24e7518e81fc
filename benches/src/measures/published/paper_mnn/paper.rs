//! The numbers that the paper prints, in seconds.

/// Table 3: by n the helper's and a party's, by size.
pub const TABLE_3: [(usize, [f64; 5], [f64; 5]); 3] = [
    (4, [0.65, 2.69, 10.4, 36.7, 151.0], [0.82, 3.39, 13.4, 54.1, 214.0]),
    (8, [0.76, 2.95, 12.4, 44.4, 178.0], [0.90, 3.75, 15.7, 60.3, 241.0]),
    (16, [0.90, 3.64, 15.8, 56.4, 225.0], [1.30, 4.71, 19.2, 76.1, 307.0]),
];

/// Table 4: the same for 2^6 items, by level.
pub const TABLE_4: [(usize, [f64; 5], [f64; 5]); 3] = [
    (4, [0.61, 2.74, 8.29, 57.2, 275.0], [0.87, 4.28, 11.1, 85.7, 417.0]),
    (8, [0.72, 2.95, 7.84, 58.1, 277.0], [1.43, 4.38, 10.8, 86.9, 417.0]),
    (16, [0.90, 3.41, 9.09, 61.4, 284.0], [1.30, 5.18, 12.0, 91.8, 433.0]),
];

/// Table 5: (A), (B) and (C) for 2^6 items and n = 4, by level. (D) is about 0.01 everywhere.
pub const TABLE_5: [[f64; 3]; 5] =
    [[0.61, 0.50, 0.37], [2.74, 2.67, 1.60], [8.29, 6.79, 4.35], [57.2, 55.8, 29.9], [275.0, 275.0, 142.0]];

/// Table 6: the same at 80 bits, by n.
pub const TABLE_6: [[f64; 3]; 3] = [[0.55, 0.45, 0.34], [0.67, 0.44, 0.43], [0.82, 0.44, 0.67]];

/// Table 7: wall time by cores, for n = 4 as table 8 shows.
pub const TABLE_7: [(usize, [f64; 5]); 3] =
    [(1, [1.02, 3.89, 15.0, 82.9, 297.0]), (2, [1.49, 2.83, 8.72, 33.0, 131.0]), (4, [1.33, 2.22, 6.14, 22.6, 87.1])];

/// Table 8: by n wall time of Kissner & Song's protocol, and of the paper's.
pub const TABLE_8: [(usize, [f64; 5], [f64; 5]); 3] = [
    (4, [0.50, 3.06, 50.6, 1051.0, f64::NAN], [1.02, 3.89, 15.0, 82.9, 297.0]),
    (8, [0.92, 6.41, 92.0, 1491.0, f64::NAN], [1.50, 3.05, 19.4, 83.2, 355.0]),
    (16, [2.10, 13.9, 190.0, 3246.0, f64::NAN], [1.98, 7.29, 28.7, 112.0, 450.0]),
];

/// Sizes of the tables, as powers of two.
pub const SIZES: [u32; 5] = [6, 8, 10, 12, 14];

/// Returns the entry in the column of that size, if there is one.
pub fn at(row: &[f64; 5], log2: u32) -> Option<f64> {
    SIZES.iter().position(|size| *size == log2).map(|column| row[column])
}
