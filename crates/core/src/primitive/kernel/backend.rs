//! Which form of the kernels this process takes.

use std::sync::OnceLock;

/// The environment variable that, set to `1`, makes every kernel take its portable form.
pub const PORTABLE_VARIABLE: &str = "TACITA_PORTABLE";

/// A family of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Plain Rust; AES from the crate `aes`, which itself uses the processor's AES instructions where there are any and
    /// a bit-sliced form elsewhere.
    Portable,
    /// x86-64 with PCLMULQDQ: as `Portable`, with multiplication in GF(2^128) by carry-less products.
    Pclmul,
    /// x86-64 with PCLMULQDQ and AVX2: as `Pclmul`, with products modulo long numbers and Jacobi symbols
    /// in vectors. Intel since Haswell, AMD since Zen.
    Avx2,
    /// x86-64 with AVX-512 (F, BW, DQ, VL, VBMI, IFMA), VAES, VPCLMULQDQ and GFNI: Intel since Ice Lake, AMD since Zen 4.
    Avx512,
}

impl Backend {
    /// Its name, for reports.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Portable => "portable",
            Backend::Pclmul => "pclmul",
            Backend::Avx2 => "avx2",
            Backend::Avx512 => "avx512",
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        use std::is_x86_feature_detected as has;
        let vectors = || {
            let bytes = has!("avx512bw") && has!("avx512vbmi");
            has!("avx512f") && has!("avx512dq") && has!("avx512vl") && has!("avx512ifma") && bytes
        };
        match self {
            Backend::Portable => true,
            Backend::Pclmul => has!("pclmulqdq"),
            Backend::Avx2 => has!("pclmulqdq") && has!("avx2"),
            Backend::Avx512 => {
                has!("pclmulqdq") && has!("aes") && has!("vaes") && has!("vpclmulqdq") && has!("gfni") && vectors()
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == Backend::Portable
    }
}

/// The fastest family that the processor can run, found once; [`Backend::Portable`] if the environment asks for it.
pub fn chosen() -> Backend {
    static CHOSEN: OnceLock<Backend> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        if std::env::var_os(PORTABLE_VARIABLE).is_some_and(|value| value == "1") {
            Backend::Portable
        } else {
            fastest()
        }
    })
}

/// The fastest family that the processor can run.
fn fastest() -> Backend {
    *available().last().expect("the portable family runs everywhere")
}

/// All families that the processor can run, the fastest last.
pub fn available() -> Vec<Backend> {
    let families = [Backend::Portable, Backend::Pclmul, Backend::Avx2, Backend::Avx512];
    families.into_iter().filter(|family| family.is_available()).collect()
}
