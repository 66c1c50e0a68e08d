//! The one list of sources.

/// A source as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its spelling in scenarios.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The standard or paper that its form and its defaults are from.
    pub source: &'static str,
    /// Keys of its own.
    pub parameters: &'static [&'static str],
}

/// Every source, in the order in which it is listed.
pub const ALL: &[Entry] = &[
    Entry {
        name: "cbr",
        summary: "datagrams at a constant rate",
        source: "",
        parameters: &["payload", "interval", "rate"],
    },
    Entry {
        name: "poisson",
        summary: "datagrams at exponential intervals",
        source: "",
        parameters: &["payload", "interval", "rate"],
    },
    Entry {
        name: "on-off",
        summary: "constant rate in exponential or Pareto periods, silence between them",
        source: "Willinger, Taqqu, Sherman, Wilson 1997",
        parameters: &["payload", "interval", "rate", "on", "off", "pareto_shape"],
    },
    Entry {
        name: "voip",
        summary: "one direction of a call: talk-spurts and pauses",
        source: "ITU-T P.59, G.711",
        parameters: &["payload", "interval", "on", "off"],
    },
    Entry {
        name: "video",
        summary: "frames of I and P size at a constant frame rate, cut into datagrams",
        source: "Krunz, Tripathi 1997",
        parameters: &["payload", "interval", "rate", "group", "intra_ratio", "spread"],
    },
    Entry {
        name: "trace",
        summary: "datagrams at the times and of the sizes of a CSV file",
        source: "",
        parameters: &["file", "repeat_every"],
    },
    Entry {
        name: "saturate",
        summary: "datagrams as fast as the interface takes them",
        source: "Bianchi 2000",
        parameters: &["payload"],
    },
    Entry {
        name: "web",
        summary: "pages of objects over TCP connections, reading between them",
        source: "3GPP2 C.R1002-0; IEEE 802.16m-08/004r5",
        parameters: &["web"],
    },
];
