//! The policy beside a new job file.

use std::path::Path;

use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::write_whole_new;
use tacita_node::base::text::pasted;
use tacita_node::govern::policy::draft;

use super::Init;

/// Checks that a policy can be written, if one is asked for, and that --as is for something.
pub fn check(init: &Init) -> Result<()> {
    match (&init.policy, &init.me) {
        (Some(path), _) if path.symlink_metadata().is_ok() => Err(Error::Input(format!(
            "--policy {}: already exists, and is not overwritten; name another file",
            path.display()
        ))),
        (None, Some(me)) if init.input.is_none() => {
            Err(Error::Input(format!("--as {me}: add --input or --policy, of which it is the owner")))
        }
        _ => Ok(()),
    }
}

/// Writes the policy of a party, the first one if none is named, for the job in this text.
pub fn write(path: &Path, text: &str, me: Option<&str>) -> Result<()> {
    let job = JobSpec::parse(text, false)?;
    let missing = || Error::Input("--policy: whose is it? Add --as NAME".into());
    let me = me.or_else(|| job.parties.names().first().copied()).ok_or_else(missing)?;
    if job.job.served().is_none() {
        job.party(me)?;
    }
    write_whole_new(path, draft(&job, me).as_bytes())?;
    tracing::info!("wrote {}: see `tacita policy explain --help`", pasted(path.display()));
    Ok(())
}
