//! One link: its known properties, and the results of `fairwave probe`.

use clap::ValueEnum;
use serde_json::Value;

/// Sites of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Site {
    /// Queues of this machine's kernel, between namespaces.
    Host,
    /// Queues of Debian's kernel 6.1, in a virtual machine.
    Guest,
    /// Access points of the emulator.
    Emulator,
}

/// One link.
pub(super) struct Link {
    pub(super) name: String,
    /// The kind of its queue.
    pub(super) kind: String,
    /// The number of packets that it holds, if it is limited by a number.
    pub(super) packets: Option<f64>,
    found: Value,
}

impl Link {
    /// Reads a line `name|kind|packets|{results}`.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.splitn(4, '|').map(str::trim).collect();
        let [name, kind, packets, found] = fields[..] else {
            return Err(format!("no link: {line}"));
        };
        let found = serde_json::from_str(found).map_err(|error| format!("{name}: {error}"))?;
        let (name, kind) = (name.to_owned(), kind.to_owned());
        Ok(Self { name, kind, packets: packets.parse().ok(), found })
    }

    /// The kind that the probe found.
    pub(super) fn reported(&self) -> &str {
        self.found["kind"].as_str().unwrap_or("cannot tell")
    }

    /// A number that the probe found.
    pub(super) fn number(&self, pointer: &str) -> Option<f64> {
        self.found.pointer(pointer)?.as_f64()
    }

    /// Whether the interval of the count holds the true number.
    pub(super) fn is_in_interval(&self) -> Option<bool> {
        let [low, high] = ["low", "high"].map(|end| self.number(&format!("/buffer/packets/{end}")));
        Some((low?..=high?).contains(&self.packets?))
    }

    /// Error of the count of packets, in packets.
    pub(super) fn off(&self) -> Option<f64> {
        Some(self.number("/buffer/packets/value")? - self.packets?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_link() {
        let packets = r#"{"value": 99.5, "low": 99, "high": 100.5}"#;
        let json = format!(r#"{{"kind": "packets", "buffer": {{"packets": {packets}}}}}"#);
        let link = Link::read(&format!("pfifo | packets | 100 | {json}")).unwrap();
        assert_eq!((link.reported(), link.off()), ("packets", Some(-0.5)));
        assert_eq!(link.is_in_interval(), Some(true));
        let other = Link::read(&format!("pfifo|packets|101|{json}")).unwrap();
        assert_eq!(other.is_in_interval(), Some(false));
        let free = Link::read(r#"free|none-found|-|{"kind": null}"#).unwrap();
        assert_eq!((free.reported(), free.packets, free.off()), ("cannot tell", None, None));
        assert!(Link::read("pfifo|packets").is_err());
        assert!(Link::read("pfifo|packets|100|cannot open a socket").is_err());
    }
}
