//! The `tacita` command.

fn main() -> std::process::ExitCode {
    tacita::main()
}
