//! Measurements by the scripts of the tests, so that the suite checks the networks measured.

use serde_json::Value;
use xtask::shell::{command, root};
use xtask::workspace;

/// Result of a task of a script of the tests, in its own namespaces.
///
/// # Errors
/// If the script fails, or prints something else than JSON.
pub(crate) fn measured(script: &str, task: &str) -> Result<Value, String> {
    let script = root().join("crates/cli/tests/it").join(script).display().to_string();
    let fairwave = workspace::target().join("release/fairwave").display().to_string();
    let namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let program = ["python3", "-B", &script, &fairwave, task];
    let mut unshare = command("unshare", &[&namespaces[..], &program].concat());
    let output = unshare.output().map_err(|error| format!("unshare: {error}"))?;
    match output.status.success() {
        true => serde_json::from_slice(&output.stdout).map_err(|error| format!("{task}: {error}")),
        false => Err(format!("{task}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
