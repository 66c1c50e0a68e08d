//! `cargo xtask compare-minstrel`: our Minstrel beside Linux's own. The latter is compiled from
//! Debian's source of Linux and chooses the rates of our radio.
//!
//! Linux's side is a program under its licence (`benches/linux`), run as a process.

use crate::packages;
use std::fs;
use std::path::Path;
use xtask::shell::{Outcome, cargo, command, root, run_aside};

/// Linux's source, as installed by Debian's package.
const ARCHIVE: &str = "/usr/src/linux-source-6.1.tar.xz";
/// The directory of the files in the archive.
const INSIDE: &str = "linux-source-6.1/net/mac80211";

/// A file of Linux, its name here, and the replacements in it.
struct Source {
    name: &'static str,
    here: &'static str,
    edits: &'static [(&'static str, &'static str)],
}

/// The edits make room for 802.11ax: twelve rates in a group, a fourth width, and groups that the
/// program fills in. The algorithm is not changed.
const SOURCES: [Source; 2] = [
    Source {
        name: "rc80211_minstrel_ht.h",
        here: "minstrel_ht.h",
        edits: &[
            ("#define MCS_GROUP_RATES\t\t10", "#define MCS_GROUP_RATES\t\t12"),
            ("#define MINSTREL_VHT_STREAM_GROUPS\t6", "#define MINSTREL_VHT_STREAM_GROUPS\t8"),
            ("extern const struct mcs_group ", "extern struct mcs_group "),
        ],
    },
    Source {
        name: "rc80211_minstrel_ht.c",
        here: "minstrel_ht.c",
        edits: &[(
            "const struct mcs_group minstrel_mcs_groups[] =",
            "struct mcs_group minstrel_mcs_groups[MINSTREL_GROUPS_NB] =",
        )],
    },
];

/// Builds Linux's side, lets both choose rates at each place of the grid, and prints the table.
pub(crate) fn compare() -> Outcome {
    packages::minstrel()?;
    // The test in crates/protocols/dot11 expects the program here, for any target directory of
    // cargo.
    let place = root().join("target/minstrel");
    build(&place)?;
    let test = ["test", "--release", "-p", "fairwave-dot11", "--test", "it"];
    run_aside(cargo(&[&test[..], &["--", "--ignored", "linux::"]].concat()))?;
    let table = place.join("table.md");
    let text = fs::read_to_string(&table).map_err(|e| format!("{}: {e}", table.display()))?;
    println!("{text}");
    Ok(())
}

fn build(place: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    fs::create_dir_all(place).map_err(failed)?;
    let directory = place.to_string_lossy();
    let members = SOURCES.map(|source| format!("{INSIDE}/{}", source.name));
    let mut tar = command("tar", &["-xJf", ARCHIVE, "-C", &directory, "--strip-components=3"]);
    tar.args(members);
    run_aside(tar)?;
    for source in &SOURCES {
        let text = fs::read_to_string(place.join(source.name)).map_err(failed)?;
        fs::write(place.join(source.here), adapted(source, &text)?).map_err(failed)?;
    }
    let program = place.join("minstrel");
    let include = format!("-I{directory}");
    // Linux's code is compiled unchanged, so its warnings are suppressed.
    let options = ["-O2", "-w", "-Ibenches/linux", &include, "benches/linux/minstrel.c", "-o"];
    let mut compiler = command("cc", &options);
    compiler.arg(program);
    run_aside(compiler)
}

/// A file of Linux with its edits, without the kernel's headers.
fn adapted(source: &Source, text: &str) -> Result<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with("#include "));
    let mut text: String = lines.flat_map(|line| [line, "\n"]).collect();
    for (from, to) in source.edits {
        // An edit that fits nowhere, or twice, would compile and compare another algorithm.
        if text.matches(from).count() != 1 {
            return Err(format!("{}: not once `{from}`; is it Linux 6.1's?", source.name));
        }
        text = text.replace(from, to);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Source = Source { name: "a.h", here: "b.h", edits: &[("RATES 10", "RATES 12")] };

    #[test]
    fn headers_go_and_edits_must_fit() {
        let text = "#include <linux/types.h>\n#define RATES 10\nint i;\n";
        assert_eq!(adapted(&SOURCE, text), Ok("#define RATES 12\nint i;\n".to_owned()));
        let wrong = adapted(&SOURCE, "#define RATES 11\n").unwrap_err();
        assert_eq!(wrong, "a.h: not once `RATES 10`; is it Linux 6.1's?");
    }
}
