//! `cargo xtask probe-links`: `fairwave probe` over links with known queues. These are this
//! machine's queues between namespaces, those of Debian's kernel 6.1 in a virtual machine, and
//! access points of the emulator. The accuracy is written to results/probe-links.md, with the rules
//! that were changed after a run over these links.

use crate::vm;
use clap::Args;
use link::{Link, Site};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::shell::{Outcome, cargo, command, note, root, run_aside, shown};
use xtask::workspace;

mod link;
mod page;

/// Options of `probe-links`.
#[derive(Args)]
pub(crate) struct Options {
    /// Probe only the links of this site; earlier results of the other sites are kept
    #[arg(long)]
    only: Option<Site>,
    /// Probe only the links whose name contains this; earlier results of the others are kept. A
    /// guest is switched off after 500 s, which is too short for all of its links beside other work
    #[arg(long, value_name = "TEXT")]
    link: Option<String>,
    /// Probe nothing, and write the page from the earlier results
    #[arg(long)]
    judge: bool,
}

/// Links of the two kernels, for `probe-links.sh`.
const HOST_LINKS: &str = include_str!("probe_links/host.links");
const GUEST_LINKS: &str = include_str!("probe_links/guest.links");
/// Maximum rates of the probes. The guest's processor is emulated, and therefore slow.
const HOST_RATE: &str = "100 Mbps";
const GUEST_RATE: &str = "12 Mbps";
/// The guest's script.
const GUEST: &str = include_str!("probe_links/guest.sh");
/// The modules that its queues need, without `.ko`. FQ-CoDel is part of the kernel itself.
const MODULES: [&str; 6] = [
    "drivers/net/veth",
    "net/sched/sch_tbf",
    "net/sched/sch_codel",
    "net/sched/sch_pie",
    "net/sched/sch_cake",
    "net/sched/sch_sfq",
];
/// The emulated access point, and a flow beside the probe.
const ACCESS_POINT: &str = include_str!("probe_links/access-point.toml");
const UPLOAD: &str = "[[flow]]\nname = \"upload\"\nfrom = \"phone\"\nto = \"server\"\n";
/// Cells of the emulator: the buffer sizes of the paper's six without aggregation, and three sizes
/// with it. The rates of the probes are above those of the radios, and such that the emulator keeps
/// time.
const CELLS: [Cell; 4] = [
    Cell { standard: "802.11g", rate: "60 Mbps", buffers: &[255, 149, 172, 135, 49, 31] },
    Cell { standard: "802.11n", rate: "200 Mbps", buffers: &[100, 255, 500] },
    Cell { standard: "802.11ac", rate: "200 Mbps", buffers: &[100, 255, 500] },
    Cell { standard: "802.11ax", rate: "200 Mbps", buffers: &[100, 255, 500] },
];
/// The key of both ends. It need not be secret, since no other host is in the namespaces.
const CODE: &str = "sixteenlettersok";

/// Probes the links, and writes the page.
pub(crate) fn probe_links(options: &Options) -> Outcome {
    let place = workspace::target().join("probe-links");
    fs::create_dir_all(&place).map_err(|error| failed(&place, &error))?;
    if !options.judge {
        // Real-time measurements need a release build.
        run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    }
    let mut all = Vec::new();
    for site in [Site::Host, Site::Guest, Site::Emulator] {
        let file = place.join(format!("{site:?}.lines").to_lowercase());
        if !options.judge && options.only.is_none_or(|only| only == site) {
            let wanted = options.link.as_deref().unwrap_or_default();
            let lines = match site {
                Site::Host => host(&place, &named(HOST_LINKS, wanted))?,
                Site::Guest => guest(named(GUEST_LINKS, wanted))?,
                Site::Emulator => emulator(&place, wanted)?,
            };
            let before = fs::read_to_string(&file).unwrap_or_default();
            let lines = merged(&before, &lines);
            fs::write(&file, lines).map_err(|error| failed(&file, &error))?;
        }
        if !file.exists() {
            note(&format!("{site:?}: never probed, and left out"));
            continue;
        }
        let text = fs::read_to_string(&file).map_err(|error| failed(&file, &error))?;
        let links: Result<Vec<Link>, String> = text.lines().map(Link::read).collect();
        all.push((site, links?));
    }
    let page = root().join("results/probe-links.md");
    fs::write(&page, page::page(&all)).map_err(|error| failed(&page, &error))?;
    note(&format!("{} links: {}", all.iter().map(|(_, l)| l.len()).sum::<usize>(), page.display()));
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn fairwave() -> PathBuf {
    workspace::target().join("release/fairwave")
}

/// The shell scripts that make networks and probe through them.
fn scripts() -> PathBuf {
    root().join("crates/cli/tests/data")
}

/// Output of a program that succeeds.
fn printed(mut program: Command) -> Result<String, String> {
    note(&shown(&program));
    let output = program.output().map_err(|error| format!("{}: {error}", shown(&program)))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(text).ok_or_else(|| format!("{}: {errors}", shown(&program)))
}

/// The result lines in the scripts' output.
fn lines(said: &str) -> String {
    let line = |line: &str| Some(format!("{}\n", line.split_once("LINK ")?.1.trim_end()));
    said.lines().filter_map(line).collect()
}

/// The lines of the links whose name contains `wanted`.
fn named(links: &str, wanted: &str) -> String {
    let matching = links.lines().filter(|line| name(line).contains(wanted));
    matching.map(|line| format!("{line}\n")).collect()
}

fn name(line: &str) -> &str {
    line.split('|').next().unwrap_or_default()
}

/// The earlier results, in which `now` replaces older lines of the same links.
fn merged(before: &str, now: &str) -> String {
    let is_older = |line: &&str| now.lines().all(|newer| name(newer) != name(line));
    let kept = before.lines().filter(is_older).chain(now.lines());
    kept.map(|line| format!("{line}\n")).collect()
}

fn host(place: &Path, links: &str) -> Result<String, String> {
    let file = place.join("host.links");
    fs::write(&file, links).map_err(|error| failed(&file, &error))?;
    let script = ". \"$DATA/probe-links.sh\" < host.links";
    let apart = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork"];
    let after = ["--kill-child", "--mount-proc", "sh", "-eu", "-c", script];
    let mut unshare = command("unshare", &[&apart[..], &after].concat());
    unshare.current_dir(place).env("F", fairwave()).env("DATA", scripts()).env("RATE", HOST_RATE);
    Ok(lines(&printed(unshare)?))
}

fn guest(links: String) -> Result<String, String> {
    let scripts = ["probe-net.sh", "probe-links.sh"].map(|name| scripts().join(name));
    let [net, probes] = scripts.each_ref().map(fs::read_to_string);
    let read =
        |text: std::io::Result<String>, path: &Path| text.map_err(|error| failed(path, &error));
    let guest = vm::Guest {
        place: "probe-vm",
        commands: vec![fairwave()],
        init: GUEST,
        files: vec![
            ("probe-net.sh", read(net, &scripts[0])?),
            ("probe-links.sh", read(probes, &scripts[1])?),
            ("links", links),
            ("rate", GUEST_RATE.to_owned()),
        ],
        programs: &["ip", "tc"],
        packages: &[],
        modules: MODULES.to_vec(),
    };
    Ok(lines(&guest.boot()?))
}

/// Probes one access point after the other, in real time.
fn emulator(place: &Path, wanted: &str) -> Result<String, String> {
    let file = place.join("access-point.toml");
    fs::write(&file, ACCESS_POINT).map_err(|error| failed(&file, &error))?;
    let mut text = String::new();
    for (cell, buffer, with_upload) in emulated_links() {
        let beside = if with_upload { " beside an upload" } else { "" };
        let name = format!("{}, {buffer} packets{beside}", cell.standard);
        if !name.contains(wanted) {
            continue;
        }
        fs::write(&file, cell.scenario(buffer, with_upload))
            .map_err(|error| failed(&file, &error))?;
        let found = emulated(place, &file, cell.rate)?;
        text.push_str(&format!("{name}|packets|{buffer}|{found}\n"));
    }
    Ok(text)
}

/// A cell of the emulator.
struct Cell {
    standard: &'static str,
    /// Maximum sending rate of the probe.
    rate: &'static str,
    /// Sizes of the access point's buffer in packets.
    buffers: &'static [u32],
}

impl Cell {
    fn aggregates(&self) -> bool {
        self.standard != "802.11g"
    }

    fn scenario(&self, buffer: u32, with_upload: bool) -> String {
        let buffer = format!("{buffer} packets");
        let mut text =
            ACCESS_POINT.replace("802.11g", self.standard).replace("100 packets", &buffer);
        if self.aggregates() {
            text = text.replace("data_rate = \"54 Mbps\"", "mcs = 7");
            text = text.replacen("[[node]]", "width = \"20 MHz\"\n[[node]]", 1);
        }
        text + if with_upload { UPLOAD } else { "" }
    }
}

/// Every cell and buffer size, those that aggregate with an upload too.
fn emulated_links() -> impl Iterator<Item = (&'static Cell, u32, bool)> {
    let all = CELLS.iter().flat_map(|cell| cell.buffers.iter().map(move |buffer| (cell, *buffer)));
    all.flat_map(|(cell, buffer)| {
        let beside = cell.aggregates().then_some((cell, buffer, true));
        [Some((cell, buffer, false)), beside].into_iter().flatten()
    })
}

/// Result of a probe in the emulator. A late run is repeated once.
fn emulated(place: &Path, file: &Path, rate: &str) -> Result<String, String> {
    let (fairwave, out) = (fairwave(), place.join("emulated"));
    let [program, out_name] = [&fairwave, &out].map(|path| path.to_string_lossy());
    let serve = format!("laptop={program} probe serve --pairing {CODE}");
    let probe = format!("server@1s={program} probe laptop --pairing {CODE} --rate '{rate}' --json");
    let file = file.to_string_lossy();
    // A real-time priority, since other programs on this machine would delay the emulator.
    let punctual = ["-f", "50", &program, "emulate", &file, "--force", "--quiet", "--out"];
    let programs = [&out_name, "--exec", &serve, "--exec", &probe];
    let reported = || printed(command("chrt", &[&punctual[..], &programs].concat()));
    reported().or_else(|late| {
        note(&late);
        reported()
    })?;
    let log = out.join("programs/server.log");
    let text = fs::read_to_string(&log).map_err(|error| failed(&log, &error))?;
    let json = text.find('{').map(|begin| text[begin..].replace('\n', ""));
    json.ok_or_else(|| format!("{}: no result: {text}", log.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_is_probed_again_replaces_its_older_line_alone() {
        let before = "a|packets|1|{}\nb|bytes|2|{}\n";
        assert_eq!(merged(before, "a|packets|1|{new}\n"), "b|bytes|2|{}\na|packets|1|{new}\n");
        assert_eq!(merged(before, "c|aqm|-|{}\n"), format!("{before}c|aqm|-|{{}}\n"));
    }

    #[test]
    fn cells_are_scenarios_with_their_buffers() {
        let all: Vec<_> = emulated_links().collect();
        assert_eq!((all.len(), all.iter().filter(|(.., upload)| *upload).count()), (24, 9));
        for (cell, buffer, with_upload) in all {
            let scenario = cell.scenario(buffer, with_upload);
            let parts = [cell.standard, &format!("\"{buffer} packets\"")];
            assert!(parts.iter().all(|part| scenario.contains(part)), "{scenario}");
            assert_eq!(scenario.contains("20 MHz"), cell.aggregates(), "{scenario}");
        }
    }

    #[test]
    fn links_are_chosen_by_their_names() {
        assert_eq!(named(GUEST_LINKS, "").lines().count(), GUEST_LINKS.lines().count());
        assert_eq!(named(GUEST_LINKS, "CAKE").lines().count(), 2);
        assert_eq!(named(GUEST_LINKS, "limit 60 depth"), "", "words of tc are no names");
    }
}
