//! Measures one thing: `tacita-bench NAME [ARGUMENTS]`. Without a name it lists what there is.

mod measures;

use std::process::ExitCode;

fn main() -> ExitCode {
    tacita_node::base::kernels::choose();
    let name = tacita_bench::arguments().next();
    let Some(name) = name else {
        measures::NAMES.iter().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let known = name.to_str().and_then(measures::run);
    known.unwrap_or_else(|| {
        eprintln!("error: {} is not measured: without a name, all names are listed", name.display());
        ExitCode::from(2)
    })
}
