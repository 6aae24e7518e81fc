//! Costs of Paillier's operations: one table for all jobs that compute under it.

use tacita_core::primitive::paillier::KeySize;

use crate::agreement::cost::Calibration;

/// CPU seconds of one operation each.
#[derive(Debug, Clone, Copy)]
pub struct OperationSeconds {
    /// A key is made; the time varies a lot.
    pub key: f64,
    /// Encryption of a number by the key's owner.
    pub encrypt: f64,
    /// Decryption of a number by the key's owner.
    pub decrypt: f64,
    /// A ciphertext is made a uniformly random one of its plaintext.
    pub rerandomize: f64,
    /// A ciphertext is multiplied into a product.
    pub multiply: f64,
    /// A list of ciphertexts is checked, besides multiplying them up.
    pub check: f64,
}

/// Under a key of 3072 bits on one thread of the machine that `docs/protocols/paillier.md`, *Cost*, names, with
/// AVX-512.
const MEASURED: OperationSeconds = OperationSeconds {
    key: 0.33,
    encrypt: 1.0 / 7080.0,
    decrypt: 1.0 / 1460.0,
    rerandomize: 1.0 / 490.0,
    multiply: 1.0 / 490_000.0,
    check: 0.9e-3,
};
const MEASURED_BITS: f64 = 3072.0;

/// A re-randomisation there under a key of 1024 bits: see [`Calibration::paillier_power`].
pub const MEASURED_POWER: f64 = 1.0 / 10_000.0;

impl OperationSeconds {
    /// Returns the costs with keys of this size on a machine like this one; without one, on the machine of the
    /// measurements. Exponentiations grow with the cube of a key's length, its generation with the fourth power, the
    /// others with the square.
    pub fn of(size: KeySize, machine: Option<&Calibration>) -> OperationSeconds {
        let longer = size.bits() as f64 / MEASURED_BITS;
        let slower = machine.map_or(1.0, |machine| machine.paillier_power / MEASURED_POWER);
        let [square, cube, fourth] = [2, 3, 4].map(|power| slower * longer.powi(power));
        OperationSeconds {
            key: MEASURED.key * fourth,
            encrypt: MEASURED.encrypt * cube,
            decrypt: MEASURED.decrypt * cube,
            rerandomize: MEASURED.rerandomize * cube,
            multiply: MEASURED.multiply * square,
            check: MEASURED.check * square,
        }
    }

    /// Returns the seconds for reading and checking so many ciphertexts, in so many lists.
    pub fn read(&self, ciphertexts: f64, lists: f64) -> f64 {
        self.multiply * ciphertexts + self.check * lists
    }
}
