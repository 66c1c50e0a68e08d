//! The available algorithms, in the order of their listing.

use crate::Error;

/// An algorithm that can be loaded.
#[derive(Debug)]
pub struct Algorithm {
    /// Its name in the kernel: at most 15 characters. A socket that requests a longer name gets the
    /// algorithm with its first 15 characters.
    pub name: &'static str,
    /// Its name in `fairwave-cc`.
    pub model: &'static str,
    /// A line of description for listings.
    pub summary: &'static str,
    /// Other names for [`find`].
    aliases: &'static [&'static str],
    /// The ELF object with its programs.
    pub(crate) object: &'static [u8],
}

impl Algorithm {
    /// Whether it counts ACKs that it finds lost.
    pub fn watches_acks(&self) -> bool {
        self.model.starts_with("ack-loss")
    }
}

/// All algorithms.
pub static ALGORITHMS: [Algorithm; 8] = [
    Algorithm {
        name: "fw_ackloss_reno",
        model: "ack-loss-timestamps+reno",
        summary: "Reno that answers lost ACKs as lost segments",
        aliases: &["ackloss-reno", "ack-loss+reno"],
        object: include_bytes!("../objects/fw_ackloss_reno.o"),
    },
    Algorithm {
        name: "fw_ackloss_cubi",
        model: "ack-loss-timestamps+cubic",
        summary: "CUBIC that answers lost ACKs as lost segments",
        aliases: &["fw_ackloss_cubic", "ackloss-cubic", "ack-loss+cubic"],
        object: include_bytes!("../objects/fw_ackloss_cubic.o"),
    },
    Algorithm {
        name: "fw_compound",
        model: "compound",
        summary: "Compound TCP: Reno's window plus a delay-based one",
        aliases: &[],
        object: include_bytes!("../objects/fw_compound.o"),
    },
    Algorithm {
        name: "fw_ackloss_comp",
        model: "ack-loss-timestamps+compound",
        summary: "Compound TCP that answers lost ACKs as lost segments",
        aliases: &["fw_ackloss_compound", "ackloss-compound", "ack-loss+compound"],
        object: include_bytes!("../objects/fw_ackloss_comp.o"),
    },
    Algorithm {
        name: "fw_literal_reno",
        model: "ack-loss-literal+reno",
        summary: "Reno that answers lost ACKs; the receiver acknowledges each segment",
        aliases: &["ackloss-literal-reno"],
        object: include_bytes!("../objects/fw_literal_reno.o"),
    },
    Algorithm {
        name: "fw_literal_cubi",
        model: "ack-loss-literal+cubic",
        summary: "CUBIC that answers lost ACKs; the receiver acknowledges each segment",
        aliases: &["fw_literal_cubic", "ackloss-literal-cubic"],
        object: include_bytes!("../objects/fw_literal_cubic.o"),
    },
    Algorithm {
        name: "fw_literal_comp",
        model: "ack-loss-literal+compound",
        summary: "Compound TCP that answers lost ACKs; the receiver acknowledges each segment",
        aliases: &["fw_literal_compound", "ackloss-literal-compound"],
        object: include_bytes!("../objects/fw_literal_comp.o"),
    },
    Algorithm {
        name: "fw_tcp_av",
        model: "tcp-av",
        summary: "a window that aims at a target rate; without a target, Reno",
        aliases: &[],
        object: include_bytes!("../objects/fw_tcp_av.o"),
    },
];

/// The algorithm with this name, in the kernel or in `fairwave-cc`.
///
/// # Errors
/// [`Error::Unknown`] if there is none.
pub fn find(name: &str) -> Result<&'static Algorithm, Error> {
    let called = |algorithm: &&Algorithm| {
        [algorithm.name, algorithm.model].contains(&name) || algorithm.aliases.contains(&name)
    };
    ALGORITHMS.iter().find(called).ok_or_else(|| {
        let known =
            ALGORITHMS.iter().map(|algorithm| algorithm.name).collect::<Vec<_>>().join(", ");
        Error::Unknown { name: name.to_owned(), known }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_the_kernels_fifteen_characters_and_are_found_by_longer_ones() {
        for algorithm in &ALGORITHMS {
            assert!(algorithm.name.len() <= 15, "{}", algorithm.name);
            for name in algorithm.aliases.iter().chain([&algorithm.name, &algorithm.model]) {
                assert_eq!(find(name).expect("it is known").name, algorithm.name);
            }
            // The kernel truncates the name that a socket requests.
            let longer = algorithm.aliases.iter().filter(|alias| alias.starts_with("fw_"));
            longer.for_each(|alias| assert_eq!(&alias[..15], algorithm.name));
        }
        assert!(find("cubic").unwrap_err().to_string().contains("fw_ackloss_reno"));
    }
}
