//! Instructions of this processor that the program makes use of.

/// The instructions of this CPU that the program makes use of.
pub fn instructions() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let found = [
            ("AVX2", std::is_x86_feature_detected!("avx2")),
            ("AVX-512 IFMA", std::is_x86_feature_detected!("avx512ifma") && std::is_x86_feature_detected!("avx512vl")),
        ];
        let found: Vec<_> = found.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
        if !found.is_empty() {
            return format!("with {}", found.join(" and "));
        }
    }
    "no AVX2 or AVX-512 IFMA: slower, but works".into()
}
