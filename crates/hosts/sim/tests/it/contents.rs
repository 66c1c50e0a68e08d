//! What packets carry is made for who sees packets, and changes nothing of the run.

use crate::ways::{HOST, SERVER, bottlenecks, gateway};
use fairwave_shake::Profile;
use fairwave_sim::run;
use fairwave_sim::world::{
    Loss, MultiTcpFlow, MultiTcpPath, ShakeFlow, ShakeFormat, ShakePath, Split, TcpFlow, Traffic,
    World,
};
use fairwave_tcp::Config;
use fairwave_trace::{Kind, NodeId, Sample, Sink};
use fairwave_units::{Bytes, Duration, Instant};
use fairwave_wire::datagram::{Contents, Datagram};

/// Counts what it is told of packets.
#[derive(Default)]
struct Seen {
    taps: bool,
    packets: u64,
    contents: u64,
}

impl Sink for Seen {
    fn wants(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Flow | Kind::Drop)
    }

    fn taps(&self, node: NodeId) -> bool {
        self.taps && (node == HOST || node == SERVER)
    }

    fn note_contents(&mut self, datagram: &Datagram, contents: Contents) {
        assert!(contents.fit(datagram), "{contents:?} in {datagram:?}");
        self.contents += 1;
    }

    fn record(&mut self, _: Instant, sample: &Sample) {
        self.packets += u64::from(matches!(sample, Sample::Packet(_)));
    }
}

fn path(way: usize) -> ShakePath {
    ShakePath { via: gateway(way), nominal: None, join: Duration::ZERO, leave: None, rejoin: None }
}

/// Two ways, of which one loses, for each transport whose packets carry more than lengths tell.
fn worlds() -> [World; 2] {
    let profile = Profile::Modern;
    let rules = profile.rules();
    let shake = Traffic::Shake(ShakeFlow {
        config: profile.config(),
        format: ShakeFormat::Udp,
        scheduler: rules.scheduler.name().into(),
        growth: rules.growth.name().into(),
        size: Some(Bytes(200_000)),
        paths: vec![path(0), path(1)],
    });
    let multi = Traffic::MultiTcp(MultiTcpFlow {
        tcp: TcpFlow {
            sender: Config::default(),
            receiver: Config::default(),
            congestion_control: "reno".into(),
            size: Some(Bytes(200_000)),
            source: None,
        },
        paths: [0, 1].map(|i| MultiTcpPath { via: gateway(i), weight: 1 }).to_vec(),
        split: Split::Adaptive,
        block: 5000,
        buffer: 100_000,
    });
    [shake, multi].map(|traffic| {
        let way = (2_000, Duration::from_millis(10));
        let mut world = bottlenecks([way, way], 20, traffic);
        world.links[1].loss = Loss::both(0.05);
        World { duration: Duration::from_secs(20), ..world }
    })
}

#[test]
fn contents_are_made_where_packets_are_shown_and_nowhere_else() {
    for world in worlds() {
        let mut plain = Seen::default();
        let unseen = run(&world, &mut plain, &mut |_| {}).expect("the world is right");
        assert_eq!((plain.packets, plain.contents), (0, 0));
        let mut tapped = Seen { taps: true, ..Seen::default() };
        let seen = run(&world, &mut tapped, &mut |_| {}).expect("the world is right");
        assert!(tapped.contents > 100 && tapped.packets > tapped.contents, "{}", tapped.contents);
        assert_eq!(seen, unseen);
    }
}
