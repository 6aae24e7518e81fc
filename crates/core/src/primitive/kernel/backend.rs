//! Choice of the kernels' back end for this process.

use std::sync::OnceLock;

/// Back end that this process uses.
static CHOSEN: OnceLock<Backend> = OnceLock::new();

/// A family of kernels that the processor can run: a value is made after it has been asked, so that whoever has one may
/// call what the family needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Backend(Family);

/// The families, from the slowest to the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Plain Rust; AES from the crate `aes`, which itself uses the processor's AES instructions where there are any and
    /// a bit-sliced form elsewhere.
    Portable,
    /// x86-64 with PCLMULQDQ: as `Portable`, with multiplication in GF(2^128) by carry-less products.
    Pclmul,
    /// x86-64 with PCLMULQDQ, AVX2 and FMA: as `Pclmul`, with products modulo long numbers, Jacobi symbols and points
    /// in vectors. Intel since Haswell, AMD since Zen.
    Avx2,
    /// x86-64 with AVX-512 (F, BW, DQ, VL, VBMI, IFMA), VAES, VPCLMULQDQ and GFNI: Intel since Ice Lake, AMD since Zen 4.
    Avx512,
}

impl Backend {
    /// The one that every processor can run.
    pub(crate) const PORTABLE: Backend = Backend(Family::Portable);

    /// Returns the name of the back end, for reports.
    pub fn name(self) -> &'static str {
        match self.0 {
            Family::Portable => "portable",
            Family::Pclmul => "pclmul",
            Family::Avx2 => "avx2",
            Family::Avx512 => "avx512",
        }
    }

    /// Returns the family of the back end. The processor has the features that it needs.
    #[inline]
    pub(crate) fn family(self) -> Family {
        self.0
    }
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Family {
    /// The family, if the processor can run it.
    fn available(self) -> Option<Backend> {
        self.is_available().then_some(Backend(self))
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        use std::is_x86_feature_detected as has;
        let vectors = || {
            let bytes = has!("avx512bw") && has!("avx512vbmi");
            has!("avx512f") && has!("avx512dq") && has!("avx512vl") && has!("avx512ifma") && bytes
        };
        match self {
            Family::Portable => true,
            Family::Pclmul => has!("pclmulqdq"),
            Family::Avx2 => has!("pclmulqdq") && has!("avx2") && has!("fma"),
            Family::Avx512 => {
                has!("pclmulqdq") && has!("aes") && has!("vaes") && has!("vpclmulqdq") && has!("gfni") && vectors()
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == Family::Portable
    }
}

/// The fastest family that the processor can run, found once; another one if [`choose`] has chosen it before.
pub fn chosen() -> Backend {
    // Tests of this crate have no `main` of their own that could choose.
    #[cfg(test)]
    let fastest = || asked(&std::env::var("TACITA_PORTABLE").unwrap_or_default());
    *CHOSEN.get_or_init(fastest)
}

/// Chooses for this process: `1` is the portable form of every kernel, the name of a family that the processor can run
/// ([`Backend::name`]) its form for that, and anything else the fastest. To be called before anything is computed: the
/// first choice stands.
pub fn choose(value: &str) {
    CHOSEN.get_or_init(|| asked(value));
}

/// Returns the back end that this value asks for.
fn asked(value: &str) -> Backend {
    let name = if value == "1" { Backend::PORTABLE.name() } else { value };
    available().into_iter().find(|backend| backend.name() == name).unwrap_or_else(fastest)
}

/// The fastest family that the processor can run.
fn fastest() -> Backend {
    available().last().copied().unwrap_or(Backend::PORTABLE)
}

/// Returns all families that the processor can run, the fastest last.
pub fn available() -> Vec<Backend> {
    let families = [Family::Portable, Family::Pclmul, Family::Avx2, Family::Avx512];
    families.into_iter().filter_map(Family::available).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_chooses_among_what_there_is() {
        assert!(asked("1") == Backend::PORTABLE);
        for value in ["", "0", "sse9"] {
            assert!(asked(value) == fastest());
        }
        assert!(available().into_iter().all(|backend| asked(backend.name()) == backend));
    }
}
