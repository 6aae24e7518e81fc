//! Roles in processes of their own, which can be killed.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;

use super::world::{serve, serving};
use crate::setting::ServiceConfig;
use crate::testing::KILL_AT;
use crate::wire::questions::MAX_QUESTION_BYTES;

/// The directory of the job, and the role.
const CHILD: &str = "TACITA_TEST_ROLE";

#[test]
#[ignore = "the process that is killed"]
fn child() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let (role, home) = told.split_once('@').unwrap();
    let home = Path::new(home);
    let setting = Arc::new(ServiceConfig::new(JobSpec::load(&home.join("job.json")).unwrap()).unwrap());
    let serving = serving(home, &setting, role, &Cancel::default());
    panic!("{role}: {:?}", serve(role, serving, MAX_QUESTION_BYTES, Duration::from_secs(60)));
}

/// A role in a process of its own.
pub struct Process {
    child: Child,
    said: PathBuf,
}

impl Process {
    /// Starts it; it ends itself at a step.
    pub fn start(home: &Path, role: &str, kill_at: Option<&str>) -> Process {
        let said = home.join(role).join("said");
        let out = std::fs::File::options().create(true).append(true).open(&said).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kills::process::child", "--nocapture", "--ignored"]);
        command.env(CHILD, format!("{role}@{}", home.display())).env_remove(KILL_AT);
        if let Some(at) = kill_at {
            command.env(KILL_AT, at);
        }
        command.stdout(out.try_clone().unwrap()).stderr(out).stdin(Stdio::null());
        Process { child: command.spawn().unwrap(), said }
    }

    /// Returns the complete output of this process and those before it.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap()
    }

    /// Whether it has ended itself at its step. It ends in no other way.
    pub fn has_ended(&mut self) -> bool {
        let Some(status) = self.child.try_wait().unwrap() else { return false };
        assert!(is_killed(status) && self.said().contains("killed at "), "{status}: {}", self.said());
        true
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert!(is_killed(status), "{status}: {}", self.said());
    }
}

fn is_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
