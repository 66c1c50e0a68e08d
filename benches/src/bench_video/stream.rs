//! A stream: the way of its datagrams, its scenario and its programs.

use std::path::Path;

/// Transport between the source and the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// `fairwave dccp relay` inside UDP, with notices of the handover.
    Relay,
    /// The same without notices.
    RelayBlind,
    /// The kernel's TCP.
    Tcp,
    /// Nothing but UDP.
    Udp,
    /// RTP paced by GCC.
    Gcc,
}

/// A stream over a handover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) way: Way,
    /// Time without an access point.
    pub(super) gap_ms: u32,
    pub(super) seed: u32,
    /// State of the mobile's device in the gap.
    pub(super) away: String,
    /// Rate of the encoder.
    pub(super) rate_kbps: u32,
}

/// Files of a run.
pub(super) struct Place<'a> {
    /// Directory of the built programs.
    pub(super) built: &'a Path,
    pub(super) directory: &'a Path,
    /// Origin of the player's times: the wall clock at the start.
    pub(super) epoch_us: u64,
}

/// ffmpeg's test source.
pub(super) const SOURCE: &str = "testsrc2=size=640x360:rate=25";
/// Pictures a second.
pub(super) const RATE: f64 = 25.0;
/// Unit of a transport stream's times.
pub(super) const TICKS: u64 = 90_000;
/// File with the received pictures at their media times.
pub(super) const RECEIVED: &str = "received.nut";
/// Shortest time without a new picture that is a freeze.
pub(super) const FREEZE_S: f64 = 0.2;
/// Time from the start to the gap, and from its end to the end of the run.
const BEFORE_MS: u32 = 12_000;
const AFTER_MS: u32 = 11_000;
/// Port of the player, and of what stands before it.
const PLAYER: &str = "127.0.0.1:5004";
const PORT: u16 = 5_006;
/// Other work on the machine must not delay the programs.
const URGENT: &str = "exec chrt --rr 1";

const SCENARIO: &str = include_str!("scenario.toml");

impl Way {
    pub(super) const ALL: [Self; 5] =
        [Self::Relay, Self::RelayBlind, Self::Tcp, Self::Udp, Self::Gcc];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::RelayBlind => "relay-blind",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Gcc => "rtp-gcc",
        }
    }

    /// Where ffmpeg sends.
    const fn to(self) -> &'static str {
        match self {
            Self::Tcp => "tcp://host:5006?tcp_nodelay=1",
            Self::Udp => "udp://host:5006?pkt_size=1316",
            Self::Relay | Self::RelayBlind | Self::Gcc => "udp://127.0.0.1:5004?pkt_size=1316",
        }
    }

    /// Where the player receives.
    const fn from(self) -> &'static str {
        match self {
            Self::Tcp => "tcp://0.0.0.0:5006?listen=1",
            Self::Udp => "udp://0.0.0.0:5006",
            Self::Relay | Self::RelayBlind | Self::Gcc => "udp://127.0.0.1:5004",
        }
    }

    /// Arguments of the program between source and player: at the host, and at the mobile.
    fn between(self, built: &Path) -> Option<[String; 2]> {
        let fairwave = built.join("fairwave");
        let relay = |blind: &str, ends: &str| {
            format!("'{}' dccp relay{blind} --encapsulate {ends}", fairwave.display())
        };
        let relays = |blind| {
            let listens = format!("--from dccp:17983 --to udp:{PLAYER}");
            let connects = format!("--from udp:{PLAYER} --to dccp:host");
            Some([relay(blind, &listens), relay(blind, &connects)])
        };
        let gcc = |ends: &str| format!("'{}' {ends}", built.join("examples/rtc-relay").display());
        match self {
            Self::Relay => relays(""),
            Self::RelayBlind => relays(" --no-handovers"),
            Self::Tcp | Self::Udp => None,
            Self::Gcc => Some([
                gcc(&format!("receive {PORT} {PLAYER}")),
                gcc(&format!("send {PLAYER} host:{PORT}")),
            ]),
        }
    }
}

impl Stream {
    /// The scenario in TOML.
    pub(super) fn scenario(&self) -> String {
        let end_ms = BEFORE_MS + self.gap_ms;
        let keys = [
            ("DURATION", end_ms + AFTER_MS),
            ("GAP_END", end_ms),
            ("GAP_BEGIN", BEFORE_MS),
            ("GAP", self.gap_ms),
        ];
        let put = |text: String, (key, ms): (&str, u32)| {
            text.replace(&format!("\"{key}\""), &format!("\"{ms} ms\""))
        };
        keys.into_iter().fold(SCENARIO.replace("AWAY", &self.away), put)
    }

    /// The programs, as `fairwave emulate --exec` takes them. The first of each node writes the
    /// log that is read: the player at the host, and the states of the device at the mobile.
    pub(super) fn programs(&self, place: &Place<'_>) -> Vec<String> {
        let states = "ip -o monitor link | while read -r line; do echo \"$(date +%s%N) $line\"; \
                      done";
        let mut programs = vec![
            format!("host={}", self.player(place)),
            format!("mobile={states}"),
            format!("mobile@2s={}", self.source()),
        ];
        if let Some([host, mobile]) = self.way.between(place.built) {
            programs.push(format!("host={URGENT} {host}"));
            programs.push(format!("mobile@1s={URGENT} {mobile}"));
        }
        programs
    }

    fn source(&self) -> String {
        let (rate, to) = (self.rate_kbps, self.way.to());
        format!(
            "{URGENT} ffmpeg -hide_banner -nostats -loglevel warning -re -f lavfi -i {SOURCE} \
             -c:v libx264 -preset veryfast -tune zerolatency -threads 1 -pix_fmt yuv420p -bf 0 \
             -g 25 -b:v {rate}k -maxrate {rate}k -bufsize {}k -muxdelay 0 -muxpreload 0 \
             -flush_packets 1 -f mpegts '{to}'",
            rate / 3
        )
    }

    /// ffmpeg as a player without a buffer. It notes the media time of each picture and the wall
    /// clock at which it is decoded, stores it, and shows the newest one 25 times a second, where
    /// freezes are looked for.
    fn player(&self, place: &Place<'_>) -> String {
        let graph = format!(
            "[0:v]showinfo@media=checksum=0,split[a][b];[b]settb=1/1000000,\
             setpts=RTCTIME-{},showinfo@clock=checksum=0,fps={RATE},freezedetect=d={FREEZE_S}[v]",
            place.epoch_us
        );
        format!(
            "{URGENT} ffmpeg -hide_banner -nostats -nostdin -loglevel info -fflags nobuffer \
             -flags low_delay -probesize 32768 -analyzeduration 200000 -threads 1 -copyts \
             -i '{}' -filter_complex '{graph}' -map '[a]' -fps_mode passthrough -c:v ffv1 \
             -threads 1 -f nut -y '{}' -map '[v]' -f null -",
            self.way.from(),
            place.directory.join(RECEIVED).display()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(way: Way) -> Stream {
        Stream { way, gap_ms: 500, seed: 1, away: "dormant".to_owned(), rate_kbps: 420 }
    }

    #[test]
    fn the_scenario_is_valid_and_has_its_gap() {
        let text = stream(Way::Udp).scenario();
        let plan = fairwave_scenario::plan::Plan::parse("video", &text, &[]);
        assert!(plan.is_ok(), "{}\n{text}", plan.expect_err("is wrong"));
        assert!(text.contains("disconnection = \"500 ms\"") && text.contains("\"dormant\""));
        assert!(text.contains("warm_up = \"12500 ms\""), "{text}");
    }

    #[test]
    fn the_first_programs_are_the_player_and_the_states_of_the_device() {
        let path = Path::new("/built");
        for way in Way::ALL {
            let place = Place { built: path, directory: path, epoch_us: 7 };
            let programs = stream(way).programs(&place);
            let first = |node: &str| programs.iter().find(|one| one.starts_with(node));
            assert!(first("host").is_some_and(|one| one.contains("freezedetect")), "{programs:?}");
            assert!(first("mobile").is_some_and(|one| one.contains("monitor")), "{programs:?}");
            assert_eq!(programs.len(), if way.between(path).is_some() { 5 } else { 3 });
        }
    }
}
