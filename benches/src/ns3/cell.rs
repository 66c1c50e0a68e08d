//! A row of a table: the arguments of an ns-3 program, and our equivalent scenario.

use super::tables::Table;
use serde_json::Value;
use std::process::Command;
use xtask::workspace;

/// One cell that is simulated on both sides.
pub(super) struct Cell {
    table: Table,
    /// Arguments of ns-3's program, such as `--n=10`.
    pub(super) arguments: String,
}

/// Results of one of our runs.
pub(super) struct Told {
    pub(super) mbps: f64,
    /// Share of attempts at data frames and BlockAckReqs that got no response.
    pub(super) failed: f64,
    pub(super) jain: f64,
    pub(super) starved: f64,
    /// ACKs that the access point's queue dropped in the whole run, in thousands.
    pub(super) acks_dropped: f64,
}

impl Cell {
    pub(super) fn of(table: Table, arguments: String) -> Self {
        Self { table, arguments }
    }

    /// The value of an argument.
    fn get(&self, name: &str) -> Option<&str> {
        let value = |word: &'_ str| -> Option<usize> {
            let rest = word.strip_prefix("--")?.strip_prefix(name)?.strip_prefix('=')?;
            Some(word.len() - rest.len())
        };
        self.arguments.split(' ').find_map(|word| word.get(value(word)?..))
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }

    fn is_tcp(&self) -> bool {
        self.table == Table::Uploads || self.get("proto") == Some("tcp")
    }

    /// The letter or letters of the 802.11 standard.
    fn standard(&self) -> &str {
        match self.get("phy") {
            Some(phy) => &phy[..1],
            None => self.get("std").unwrap_or("ax"),
        }
    }

    fn is_legacy(&self) -> bool {
        matches!(self.standard(), "a" | "b" | "g")
    }

    fn direction(&self) -> &str {
        self.get("dir").unwrap_or("up")
    }

    /// Title for the table: the arguments in the words of results/validation.md.
    pub(super) fn title(&self) -> String {
        let width = self.number("width").unwrap_or(20);
        let mcs = self.get("mcs").unwrap_or("7");
        let mut title = match self.standard() {
            "n" => format!("HT{width} MCS {mcs}"),
            "ac" => format!("VHT{width} MCS {mcs}"),
            "ax" => format!("HE{width} MCS {mcs}"),
            legacy => format!("11{legacy}"),
        };
        let mut add = |words: &str| title.push_str(words);
        add(match self.get("phy") {
            Some("a54") => " 54",
            Some("b11") => " 11",
            Some("b2") => " 2",
            _ => "",
        });
        add(if self.get("nss") == Some("2") { ", 2 streams, 400 ns" } else { "" });
        add(if self.is_tcp() { ", TCP " } else { ", UDP " });
        add(self.direction());
        add(&format!(" {}", self.get("n").unwrap_or("1")));
        let notes = [
            ("bar", "1", ", asked"),
            ("rts", "1", ", RTS"),
            ("ba", "256", ", window 256"),
            ("buf", "128000", ", windows of 128 kB"),
            ("pd", "0", ", no preamble detection"),
            ("delack", "1", ", b = 1"),
            ("delack", "2", ", b = 2"),
        ];
        for (name, value, words) in notes {
            add(if self.get(name) == Some(value) { words } else { "" });
        }
        title
    }

    /// Our scenario file.
    fn scenario(&self) -> &'static str {
        match (self.is_legacy(), self.is_tcp(), self.direction()) {
            (true, _, "both") => "legacy-both.toml",
            (false, _, "both") => "udp-both.toml",
            (true, true, _) if self.table == Table::Uploads => "uploads.toml",
            (true, true, _) => "legacy-tcp.toml",
            (true, false, _) => "saturation.toml",
            (false, true, _) => "tcp-uplinks.toml",
            (false, false, _) => "udp-uplinks.toml",
        }
    }

    /// Seconds of warm-up, and of measurement.
    fn seconds(&self) -> (u32, u32) {
        let (warm, seconds) = (self.number("warm").unwrap_or(1), self.number("dur").unwrap_or(20));
        match self.table {
            Table::Uploads => (20, 100),
            // Collisions with a beacon are rare but costly, so the mean needs two hundred seconds.
            Table::Saturation if self.arguments == "--phy=b2 --n=50" => (1, 200),
            Table::Downloads | Table::Aggregation if !self.is_tcp() => (1, seconds.max(20)),
            _ => (warm, seconds),
        }
    }

    /// Keys and values that make the scenario this cell.
    fn settings(&self) -> Vec<String> {
        let (warm, seconds) = self.seconds();
        let mut keys = vec![
            format!("warm_up={warm} s"),
            format!("duration={} s", warm + seconds),
            format!("node.sta.count={}", self.get("n").unwrap_or("1")),
            format!("cell.standard=802.11{}", self.standard()),
        ];
        let mut set = |key: &str| keys.push(key.to_owned());
        if self.is_legacy() {
            self.set_legacy(&mut set);
        } else {
            self.set_modern(&mut set);
        }
        if self.get("rts") == Some("1") {
            set("cell.rts_threshold=0 B");
        }
        if self.direction() == "down" {
            set("flow.up.from=ap");
            set("flow.up.to=sta*");
        }
        if let Some(bytes) = self.get("buf") {
            set(&format!("tcp.send_buffer={bytes} B"));
            set(&format!("tcp.receive_buffer={bytes} B"));
        }
        if self.get("delack") == Some("1") {
            set("tcp.delayed_ack=off");
        }
        keys
    }

    fn set_legacy(&self, set: &mut impl FnMut(&str)) {
        let rate = match (self.get("phy"), self.standard()) {
            (Some("b2"), _) => 2,
            (_, "b") => 11,
            _ => 54,
        };
        for node in ["ap", "sta"] {
            set(&format!("node.{node}.data_rate={rate} Mbps"));
        }
        if self.standard() != "a" {
            set("cell.frequency=2412 MHz");
        }
        if self.get("pd") == Some("0") {
            set("cell.preamble_detection=off");
        }
    }

    fn set_modern(&self, set: &mut impl FnMut(&str)) {
        set(&format!("cell.width={} MHz", self.number("width").unwrap_or(20)));
        let asks = self.get("bar") == Some("1");
        set(if asks {
            "cell.block_ack_request=after-missing"
        } else {
            "cell.block_ack_request=on-drop"
        });
        set(&format!("cell.ampdu_frames={}", self.number("ba").unwrap_or(64)));
        let guard = f64::from(self.number("gi").unwrap_or(800)) / 1000.0;
        for node in ["ap", "sta"] {
            set(&format!("node.{node}.mcs={}", self.get("mcs").unwrap_or("7")));
            set(&format!("node.{node}.streams={}", self.get("nss").unwrap_or("1")));
            set(&format!("node.{node}.guard_interval={guard} us"));
        }
    }

    /// Our command for a seed; results are written to `out`.
    pub(super) fn ours(&self, seed: u32, out: &std::path::Path) -> Command {
        let mut run = workspace::fairwave("release", &["run", "--json", "--quiet", "--force"]);
        run.arg(format!("benches/ns3/{}", self.scenario()));
        run.args(["--seed".to_owned(), seed.to_string()]).arg("--out").arg(out);
        for setting in self.settings() {
            run.args(["--set", &setting]);
        }
        run
    }

    /// Parses our command's output.
    pub(super) fn reported(printed: &str) -> Result<Told, String> {
        let reported: Value = serde_json::from_str(printed).map_err(|error| error.to_string())?;
        let summary = &reported["summary"];
        let total = |name: &str| {
            let value = summary["totals"][name].as_f64();
            value.ok_or_else(|| format!("no {name} in a summary"))
        };
        let sum = |list: &str, name: &str| -> f64 {
            let rows = summary[list].as_array().into_iter().flatten();
            rows.filter_map(|row| row[name].as_f64()).sum()
        };
        Ok(Told {
            mbps: total("goodput_bps")? / 1e6,
            failed: sum("stations", "failures") / sum("stations", "attempts"),
            jain: total("jain")?,
            starved: total("starved_flows")?,
            acks_dropped: sum("flows", "acks_dropped_at_ap_all_run") / 1e3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use xtask::shell::root;

    #[test]
    fn a_title_says_what_the_arguments_say() {
        let title = |table, line: &str| Cell::of(table, line.to_owned()).title();
        let line = "--std=ac --mcs=9 --width=80 --dir=up --n=10 --proto=tcp --bar=1";
        assert_eq!(title(Table::Uplinks, line), "VHT80 MCS 9, TCP up 10, asked");
        let line = "--phy=b2 --n=50 --pd=0";
        assert_eq!(title(Table::Saturation, line), "11b 2, UDP up 50, no preamble detection");
        let line = "--phy=a54 --n=16 --delack=1";
        assert_eq!(title(Table::Uploads, line), "11a 54, TCP up 16, b = 1");
    }

    #[test]
    fn rows_of_all_tables_have_titles_of_their_own_and_scenarios() {
        for table in Table::value_variants() {
            let cells = table.rows().into_iter().map(|line| Cell::of(*table, line));
            let mut titles = std::collections::BTreeSet::new();
            for cell in cells {
                assert!(root().join("benches/ns3").join(cell.scenario()).exists());
                assert!(titles.insert(cell.title()), "{}", cell.title());
            }
        }
    }
}
