//! The numbers that the paper prints.

/// Keys a second and core: of the proxy with many clients (figure 3c, 2319 by 8 cores), and with one (section 5.1, 7.2
/// ms a key).
pub const PROXY: [f64; 2] = [2319.0 / 8.0, 1e3 / 7.2];

/// The same of the database: on one core (figure 3a), and on 8 (figure 3c).
pub const DATABASE: [f64; 2] = [90.0, 651.0 / 8.0];

/// The proxy's where each transfer is made by itself: less than this (figure 3a).
pub const NOT_AMORTISED: f64 = 1.0;

/// Exponentiations a key in the basic and in the extended protocol (section 3.4): participant, proxy, database.
pub const EXPONENTIATIONS: [[usize; 2]; 3] = [[3, 8], [5, 12], [3, 5]];

/// Tables 2 and 3, shares of time in percent, of the proxy and of the participant: waiting, encryption, and of the
/// amortised transfers waiting, exponentiations, AES, arithmetic, the rest, and the transfers that they start from.
pub const SHARES: [[u32; 8]; 2] = [[60, 1, 0, 16, 4, 4, 6, 7], [0, 40, 31, 16, 2, 1, 3, 7]];

/// Figure 3b, stated: participants, and keys a second of four proxies on four cores. With 8 participants it is less by
/// "nearly a factor of two", which is no number.
pub const PROXY_4_CORES: (usize, u32) = (32, 900);

/// Figure 3b, stated: keys a second of the database on four cores, whatever the number of participants.
pub const DATABASE_4_CORES: u32 = 350;

/// Bytes of memory a key of a stage, of 32 bits (section 5.1, as it is printed there).
pub const MEMORY: f64 = 8196.0;
