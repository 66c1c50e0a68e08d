//! Checks of the kernel's capabilities for a job, before anything is built.

use crate::emulation::flows::{Choices, spec_of};
use crate::emulation::proxies;
use crate::traffic::Load;
use fairwave_scenario::plan::{Job, Plan};
use std::fs;
use std::io;

pub use crate::traffic::available_congestion_controls;

/// Reason for which the kernel cannot run those flows of `job` that need its sockets, as part of a
/// sentence; `None` if it can.
///
/// # Errors
/// If the kernel's congestion control algorithms cannot be read.
pub fn misfit(plan: &Plan, job: Job) -> io::Result<Option<String>> {
    let scenario = plan.scenario(job);
    let world = scenario.to_world(job.seed);
    let algorithms = available_congestion_controls()?;
    let choices = Choices::of(&scenario);
    let (flows, real) = (scenario.kernel_flows(), scenario.real_nodes());
    if let Some(at) = proxies::nodes(&world, &flows).into_iter().find(|at| !real.contains(at)) {
        let name = &world.nodes[at.0 as usize].name;
        return Ok(Some(format!("the proxy's node {name} is simulated; add it to `nodes`")));
    }
    for id in flows {
        let spec = match spec_of(&world, id, &choices) {
            Ok(spec) => spec,
            Err(unsupported) => return Ok(Some(unsupported.to_string())),
        };
        let Load::Connection(connection) = spec.load else { continue };
        let of_proxy = connection.through.as_ref().map(|through| &through.congestion_control);
        let needed = [&connection.congestion_control].into_iter().chain(of_proxy);
        if let Some(lacking) = needed.into_iter().find(|algorithm| !algorithms.contains(algorithm))
        {
            return Ok(Some(missing(lacking)));
        }
        if connection.is_multipath && !has_mptcp() {
            return Ok(Some(NO_MPTCP.to_owned()));
        }
    }
    Ok(None)
}

/// Message if the kernel has no MPTCP, or has it disabled.
pub(crate) const NO_MPTCP: &str = "the kernel has no MPTCP; one since 5.6 with CONFIG_MPTCP has \
                                   it, where the setting net.mptcp.enabled is 1";

/// Whether the kernel opens MPTCP sockets.
pub(crate) fn has_mptcp() -> bool {
    fs::read_to_string("/proc/sys/net/mptcp/enabled").is_ok_and(|text| text.trim() == "1")
}

/// Release of the running kernel, such as `6.18.5`.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Messages for those of `algorithms` that the kernel lacks, with their remedies.
///
/// # Errors
/// If the kernel's congestion control algorithms cannot be read.
pub fn absent(algorithms: &[String]) -> io::Result<Vec<String>> {
    let known = available_congestion_controls()?;
    Ok(algorithms
        .iter()
        .filter(|algorithm| !known.contains(algorithm))
        .map(|algorithm| missing(algorithm))
        .collect())
}

/// Message for a missing algorithm. The kernel's own algorithms are modules where they are not
/// built in.
fn missing(algorithm: &str) -> String {
    let remedy = match algorithm.starts_with("fw_") {
        true => format!("`fairwave cc load {algorithm}` as root gives it one"),
        false => format!("`modprobe tcp_{algorithm}` as root may give it one"),
    };
    format!("the kernel has no congestion control {algorithm}; {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"# Does it fit?
title = "One flow: for tests"
duration = "1 s"
cell.standard = "802.11a"
node = [
    { name = "ap", kind = "access-point", data_rate = "54 Mbps" },
    { name = "sta", kind = "station", data_rate = "54 Mbps" },
    { name = "server", kind = "host" },
]
link = [{ ends = ["ap", "server"] }]
flow = [{ name = "up", from = "sta", to = "server" }]
emulate.kernel_flows = ["up"]
"#;

    fn of(set: &str) -> Option<String> {
        let plan = Plan::parse("fit.toml", SCENARIO, &[set.to_owned()]).expect("a scenario");
        misfit(&plan, plan.jobs()[0]).expect("Linux tells its congestion controls")
    }

    #[test]
    fn an_algorithm_of_the_kernel_fits_and_one_that_nobody_loaded_is_named() {
        assert_eq!(of("tcp.congestion_control=reno"), None);
        let printed = of("tcp.congestion_control=vegas").expect("not in this kernel");
        let remedy = "`modprobe tcp_vegas` as root may give it one";
        assert_eq!(printed, format!("the kernel has no congestion control vegas; {remedy}"));
    }

    #[test]
    fn an_algorithm_by_the_kernels_own_name_takes_the_place_of_the_scenarios() {
        assert_eq!(of(r#"emulate.kernel_congestion_control=["up=cubic"]"#), None);
        let printed = of(r#"emulate.kernel_congestion_control=["up=fw_nobodys"]"#)
            .expect("not in this kernel");
        assert!(
            printed.contains("no congestion control fw_nobodys; `fairwave cc load"),
            "{printed}"
        );
    }

    #[test]
    fn an_algorithm_of_the_papers_is_one_to_be_loaded() {
        let printed = missing("fw_ackloss_reno");
        assert!(printed.ends_with("; `fairwave cc load fw_ackloss_reno` as root gives it one"));
    }

    #[test]
    fn a_proxy_is_at_a_real_node_and_its_algorithm_is_the_kernels() {
        let passed =
            SCENARIO.replace("host\" },\n]", "host\" },\n{ name = \"proxy1\", kind = \"host\" }]");
        let passed = passed
            .replace(
                r#"["ap", "server"] }"#,
                r#"["ap", "proxy1"] }, { ends = ["proxy1", "server"] }"#,
            )
            .replace(r#"to = "server" }"#, r#"to = "server", proxy = { at = "proxy1" } }"#);
        let of = |set: &str| {
            let sets = [set.to_owned()];
            let plan = Plan::parse("fit.toml", &passed, &sets).unwrap_or_else(|e| panic!("{e}"));
            misfit(&plan, plan.jobs()[0]).expect("Linux tells its congestion controls")
        };
        assert_eq!(of("flow.up.proxy.congestion_control=reno"), None);
        let printed = of("flow.up.proxy.congestion_control=westwood").expect("not in this kernel");
        assert!(printed.contains("no congestion control westwood"), "{printed}");
        let printed = of(r#"emulate.nodes=["sta", "server"]"#).expect("its node is simulated");
        assert!(printed.contains("node proxy1 is simulated"), "{printed}");
    }

    #[test]
    fn mptcp_has_no_coupled_laws_and_no_paths_that_come_and_go() {
        let of = |shake: &str| {
            let paths = format!("{PATHS}{shake}");
            let plan = Plan::parse("fit.toml", &paths, &[]).expect("a scenario");
            misfit(&plan, plan.jobs()[0]).expect("Linux tells its congestion controls")
        };
        let alone = r#"paths = [{ via = "phone1" }]"#;
        assert_eq!(of(alone), None, "it is TCP");
        let printed = of(&format!("{alone}\ngrowth = \"olia\"")).expect("no kernel couples");
        assert!(
            printed.contains("flow up cannot run on the kernel's sockets: the windows"),
            "{printed}"
        );
        let printed = of(r#"paths = [{ via = "phone1" }, { via = "phone2", join = "1 s" }]"#);
        assert!(printed.expect("it joins late").contains("its paths join or leave under way"));
    }

    const PATHS: &str = r#"# Does it fit?
title = "Two paths: for tests"
duration = "1 s"
emulate = { kernel_flows = ["*"], mptcp = true }
node = [
    { name = "host", kind = "host" },
    { name = "phone", kind = "host", count = 2 },
    { name = "server", kind = "host" },
]
link = [{ ends = ["host", "phone*"] }, { ends = ["phone*", "server"] }]
[[flow]]
name = "up"
from = "host"
to = "server"
transport = "shake"
"#;
}
