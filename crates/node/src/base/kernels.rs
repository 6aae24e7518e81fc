//! Form of the kernels that a process uses.

use tacita_core::primitive::kernel::backend;

/// The environment variable that, set to `1`, makes every kernel take its portable form, and set to the name of a
/// family that the processor can run, its form for that.
pub const VARIABLE: &str = "TACITA_PORTABLE";

/// Takes the form that the environment asks for: to be called before anything is computed.
pub fn choose() {
    backend::choose(&std::env::var(VARIABLE).unwrap_or_default());
}
