//! The commands of the tutorial "Measure your Wi-Fi in five minutes", run as printed there:
//! `wired$` in the server's namespace, stations in the client's, behind a router in place of the
//! Wi-Fi.

use super::field;
use std::fs;
use std::path::Path;
use std::thread;

const PAGE: &str = "docs/tutorials/measure.md";

/// The router's queues, and the server's name in the tutorial.
const NETWORK: &str = "
printf '127.0.0.1 localhost\\n10.9.2.1 wired.lan\\n' > hosts
mount --bind hosts /etc/hosts
shape a root tbf rate 20mbit burst 16kb limit 150000
shape b root tbf rate 10mbit burst 16kb limit 150000
export PATH=\"$(dirname \"$F\"):$PATH\"
";

/// A question of the page: the commands of each host, and their output.
struct Section {
    commands: Vec<(String, String)>,
    shown: String,
}

impl Section {
    /// The commands of a host, for one shell.
    fn of(&self, host: &str) -> String {
        let own = self.commands.iter().filter(|(at, _)| at == host);
        own.map(|(_, command)| format!("{command}\n")).collect()
    }
}

/// The sections of the page with commands: each a block of commands, then a block of outputs.
fn sections() -> Vec<Section> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let page = fs::read_to_string(page).expect(PAGE);
    let blocks: Vec<&str> = page.split("```\n").skip(1).step_by(2).collect();
    let (pairs, rest) = blocks.as_chunks::<2>();
    assert_eq!(rest.len(), 0, "{PAGE}: commands, then what they print");
    let command = |line: &str| {
        let (host, command) = line.split_once("$ ").unwrap_or_else(|| panic!("{PAGE}: {line}"));
        (host.to_owned(), command.to_owned())
    };
    let section = |[commands, shown]: &[&str; 2]| Section {
        commands: commands.lines().map(command).collect(),
        shown: (*shown).to_owned(),
    };
    pairs.iter().map(section).collect()
}

/// Condition for the server to be ready: it has printed the code that the stations need, or it
/// listens at a TCP port.
fn readiness(section: &Section) -> &'static str {
    match section.of("laptop").contains("CODE") {
        true => "grep -q -- '--pairing .*' served",
        false => "ip netns exec s ss -Hltn | grep -q .",
    }
}

/// A script that runs a section: the server first, then its stations at once.
fn script(section: &Section) -> String {
    let mut script = NETWORK.to_owned();
    let file = |name: &str, text: &str| format!("cat > {name} << 'END'\n{text}END\n");
    script += &file("wired", &section.of("wired"));
    script += &format!(
        "ip netns exec s sh wired > served 2> serve-errors & server=$!\n\
        until {}; do kill -0 $server; done\n\
        code=$(sed -n 's/.*--pairing //p' served)\n",
        readiness(section)
    );
    for host in ["laptop", "tablet"] {
        let commands = section.of(host);
        if !commands.is_empty() {
            script += &file(host, &format!("{commands}wait\n"));
            script += &format!(
                "sed -i \"s/CODE/$code/\" {host}\n\
                unshare --uts sh -c 'hostname {host}; exec ip netns exec c sh -e {host}' \
                    > {host}-said 2> errors-{host} & {host}=$!\n"
            );
        }
    }
    for host in ["laptop", "tablet"].iter().filter(|host| !section.of(host).is_empty()) {
        script += &format!("wait ${host} || {{ cat errors-*; false; }}\n");
    }
    script
}

/// The words at the beginning of a line, up to its first figure or bar. The widths of columns
/// depend on the figures.
fn beginning(line: &str) -> Vec<&str> {
    let text = line.split(|mark: char| mark.is_ascii_digit() || mark == '#').next();
    text.unwrap_or_default().split_whitespace().collect()
}

/// Whether a line has the probe's findings. They have tests of their own and depend on the
/// machine's load, so they are not compared here.
fn is_finding(line: &str) -> bool {
    line.starts_with("The buffer") || line.starts_with("A video call")
}

#[test]
fn the_commands_of_the_tutorial_print_what_it_shows() {
    let run = |section: &Section| {
        let Some(ended) = field::run(&script(section)) else { return };
        let printed = ended.file("laptop-said");
        for shown in section.shown.lines().filter(|line| !is_finding(line)) {
            let is_there = printed.lines().any(|line| beginning(line) == beginning(shown));
            assert!(is_there, "{PAGE}: {shown:?} is not in\n{printed}{}", ended.told());
        }
        let tablet = ended.file("tablet-said");
        assert!(tablet.is_empty() || tablet == printed, "all stations print the same: {tablet}");
        assert_eq!(printed.contains("Round trip"), ended.file("probe.html").contains("<svg"));
    };
    let sections = sections();
    assert_eq!(sections.len(), 3, "probe, fairness and proxy");
    // The sections mostly wait, so they run at the same time.
    thread::scope(|scope| {
        for section in &sections {
            scope.spawn(|| run(section));
        }
    });
}
