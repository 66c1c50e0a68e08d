//! Stations behind routers: an address counts once its owner has shown that he receives there.

use super::*;

const HERE: &str = "10.0.0.7:4000";
const THERE: &str = "[fd79::7]:4000";

fn open() -> Bench {
    Bench::new(ApConfig { tokens: Some(Key::new(&[9; KEY_LEN]).unwrap()), ..pw() })
}

fn sent(from: &str, token: Token, frame: &ReceivedFrame) -> ApInput {
    let report = frame.payload().try_into().unwrap();
    ApInput::Datagram(Routed::new(from.parse().unwrap(), &routed::datagram(&report, token)))
}

impl Bench {
    /// The token that was sent last.
    fn token(&self) -> Token {
        self.replies.last().unwrap().1.token
    }

    fn reaches(&self) -> Vec<Reach> {
        let reach = |decision: &Decision| match decision {
            Decision::Changed { action: Action::Serve { reach, .. }, .. } => Some(*reach),
            _ => None,
        };
        self.decisions.iter().filter_map(reach).collect()
    }
}

fn address(text: &str) -> Reach {
    Reach::Address(text.parse::<SocketAddr>().unwrap().ip())
}

#[test]
fn a_report_counts_with_the_token_that_was_sent_to_its_address() {
    let mut bench = open();
    bench.notify(0, sent(HERE, Token::default(), &report_frame(A, 1, 0, 10.0)));
    bench.has_requested(&[]);
    assert!(!bench.replies[0].1.is_believed && bench.ap.stations.len() == 0);
    bench.notify(200, sent(HERE, bench.token(), &report_frame(A, 2, 200, 10.0)));
    bench.has_requested(&[(200, A, Some(0.8))]);
    assert_eq!(bench.reaches(), [address(HERE)]);
    let (to, reply) = bench.replies[1];
    assert_eq!((to, reply.is_believed, reply.sequence), (HERE.parse().unwrap(), true, 2));
    assert_eq!(bench.ap.counters().challenges, 1);
}

#[test]
fn a_token_is_of_one_station_one_address_and_two_minutes() {
    let mut bench = open();
    bench.notify(0, sent(HERE, Token::default(), &report_frame(A, 1, 0, 10.0)));
    let token = bench.token();
    bench.notify(10, sent(HERE, token, &report_frame(B, 1, 10, 10.0)));
    bench.notify(20, sent(THERE, token, &report_frame(A, 2, 20, 10.0)));
    bench.notify(120_000, sent(HERE, token, &report_frame(A, 3, 120_000, 10.0)));
    bench.has_requested(&[]);
    assert_eq!(bench.ap.counters().challenges, 4);
    let token = bench.token();
    bench.notify(239_999, sent(HERE, token, &report_frame(A, 4, 239_999, 10.0)));
    bench.has_requested(&[(239_999, A, Some(0.8))]);
}

#[test]
fn a_station_moves_to_another_address_and_to_the_air() {
    let mut bench = open();
    for (at, from) in [(0, HERE), (400, THERE)] {
        bench.notify(at, sent(from, Token::default(), &report_frame(A, at + 1, at, 10.0)));
        bench.notify(at + 200, sent(from, bench.token(), &report_frame(A, at + 2, at + 200, 10.0)));
    }
    bench.notify(800, report(A, 900, 800, 10.0));
    let mut reaches = bench.reaches();
    reaches.dedup();
    assert_eq!(reaches, [address(HERE), address(THERE), Reach::Link]);
    assert!(bench.ap.addresses.is_empty(), "{:?}", bench.ap.addresses);
}

#[test]
fn an_address_has_one_station_until_that_is_not_served_any_more() {
    let mut bench = open();
    for (at, link) in [(0, A), (1, B)] {
        bench.notify(at, sent(HERE, Token::default(), &report_frame(link, 1, at, 10.0)));
        bench.notify(at + 10, sent(HERE, bench.token(), &report_frame(link, 2, at + 10, 10.0)));
    }
    bench.has_requested(&[(10, A, Some(0.8))]);
    assert_eq!(bench.refusals(), [(B, Refusal::WrongAddress)]);
    // A is silent for a minute, and its SoC is not known any more.
    bench.notify(70_000, sent(HERE, Token::default(), &report_frame(B, 3, 70_000, 10.0)));
    bench.notify(70_010, sent(HERE, bench.token(), &report_frame(B, 4, 70_010, 10.0)));
    assert_eq!(bench.actions.last(), Some(&(70_010, B, bench.actions[0].2)));
}

#[test]
fn what_is_forged_is_not_answered() {
    let mut bench = open();
    let mut forged: [u8; soc::LEN] = report_frame(A, 1, 0, 10.0).payload().try_into().unwrap();
    forged[47] ^= 1;
    bench.notify(0, sent(HERE, Token::default(), &ReceivedFrame::new(A, &forged)));
    bench.notify(0, ApInput::Datagram(Routed::new(HERE.parse().unwrap(), &forged)));
    bench.notify(0, ApInput::Datagram(Routed::new(HERE.parse().unwrap(), &[0; 80])));
    assert!(bench.replies.is_empty());
    assert_eq!(bench.refusals(), [(A, Refusal::Forged)]);
    let refused = bench.ap.counters().strangers_refused;
    assert_eq!(
        (refused[Refusal::Truncated as usize], refused[Refusal::Malformed as usize]),
        (1, 1)
    );
    let mut closed = Bench::new(pw());
    closed.notify(0, sent(HERE, Token::default(), &report_frame(A, 1, 0, 10.0)));
    assert_eq!(closed.refusals(), [(A, Refusal::Unknown)]);
}

proptest! {
    /// Datagrams of a station with a key of its own, with tokens and addresses as they come, move
    /// no other station, and no address that never received a token.
    #[test]
    fn datagrams_of_one_move_nobody_else(
        all in prop::collection::vec((0..3u8, 0..3usize, any::<bool>(), 0..40_000u64), 1..60),
    ) {
        let mut bench = open();
        bench.notify(0, report(B, 1, 0, 4.0));
        let (mut at, mut proven) = (1, Vec::new());
        for (number, (place, back, has_token, pause)) in all.into_iter().enumerate() {
            at += pause / 10;
            let from = format!("10.0.0.{place}:{}", 4000 + back);
            let known = proven.len().checked_sub(back + 1).and_then(|index| proven.get(index));
            let token = known.filter(|_| has_token).map_or(Token::default(), |(_, token)| *token);
            bench.notify(at, sent(&from, token, &report_frame(A, number as u64 + 1, at, 10.0)));
            proven = bench.replies.iter().map(|(to, reply)| (to.ip(), reply.token)).collect();
            if let Some(known) = bench.ap.stations.get(A)
                && let Reach::Address(address) = known.reach
            {
                prop_assert!(proven.iter().any(|(to, _)| *to == address));
            }
        }
        let of_b = bench.decisions.iter().filter(|decision| matches!(
            decision,
            Decision::Changed { action: Action::Serve { station: B, reach, .. }, .. }
                if *reach != Reach::Link
        ));
        prop_assert_eq!(of_b.count(), 0);
        prop_assert!(bench.ap.addresses.len() <= 1);
    }
}
