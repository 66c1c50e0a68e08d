//! What was recorded at one start of an access point is worth nothing at another.

use super::*;
use fairwave_wire::soc::Greeting;

const LATER: Session = Session([6; SESSION_LEN]);

fn greeting(link: Mac, sequence: u64) -> ReceivedFrame {
    ReceivedFrame::new(link, &Greeting { station: link, sequence }.seal(&key_of(link)))
}

#[test]
fn reports_of_an_earlier_start_or_of_another_access_point_are_forged() {
    let mut bench = Bench::new(ApConfig { session: LATER, ..pw() });
    bench.notify(0, report(A, 1, 0, 10.0));
    // A report that is sealed with the station's own key is of no session at all.
    let ApInput::Report(bare) = report(A, 2, 0, 10.0) else { unreachable!() };
    let (claim, _) = soc::parse(bare.payload()).unwrap();
    let bare = claim.unchecked().seal(&key_of(A));
    bench.notify(200, ApInput::Report(ReceivedFrame::new(A, &bare)));
    bench.has_requested(&[]);
    assert_eq!(bench.refusals(), [(A, Refusal::Forged); 2]);
    assert!(bench.answers.is_empty() && bench.ap.stations.len() == 0);
}

#[test]
fn a_greeting_is_answered_with_the_session_and_moves_nothing() {
    let mut bench = Bench::new(pw());
    bench.notify(10, ApInput::Report(greeting(A, 7)));
    bench.has_requested(&[]);
    assert_eq!(bench.answered(), [(10, A, 7)]);
    assert!(bench.ap.stations.len() == 0 && bench.ap.table.is_empty());
    // A station that has started anew does not know the session, and its SoC stays what it was.
    bench.notify(200, report(A, 8, 200, 10.0));
    bench.notify(300, ApInput::Report(greeting(A, 9)));
    bench.has_requested(&[(200, A, Some(0.8))]);
    assert_eq!(bench.answered(), [(10, A, 7), (200, A, 8), (300, A, 9)]);
    assert_eq!(bench.ap.counters().challenges, 2);
}

#[test]
fn greetings_of_others_are_refused_and_have_a_pace() {
    let mut bench = Bench::new(pw());
    let of_a = greeting(A, 1);
    bench.notify(0, ApInput::Report(ReceivedFrame::new(B, of_a.payload())));
    let mut forged = of_a.payload().to_vec();
    forged[40] ^= 1;
    bench.notify(0, ApInput::Report(ReceivedFrame::new(A, &forged)));
    bench.notify(0, ApInput::Report(ReceivedFrame::new(A, &forged[..63])));
    forged[2] = 9;
    bench.notify(0, ApInput::Report(ReceivedFrame::new(A, &forged)));
    let expected = [
        (B, Refusal::WrongSender),
        (A, Refusal::Forged),
        (A, Refusal::Truncated),
        (A, Refusal::UnknownVersion),
    ];
    assert_eq!(bench.refusals(), expected);
    // Only a station with another key gets the notice.
    assert_eq!(bench.notices, [KeyRefused { station: A, sequence: 1 }]);
    for _ in 0..200 {
        bench.notify(0, ApInput::Report(of_a));
    }
    // 64 together, of which two were spent above.
    let flooding = bench.ap.counters().strangers_refused[Refusal::Flooding as usize];
    assert_eq!((bench.answers.len() as u64, flooding), (200 - flooding, flooding));
    assert!((60..=65).contains(&bench.answers.len()), "{}", bench.answers.len());
}

#[test]
fn a_greeting_in_a_datagram_brings_token_and_session() {
    let tokens = Some(Key::new(&[9; KEY_LEN]).unwrap());
    let mut bench = Bench::new(ApConfig { tokens, ..pw() });
    let from: SocketAddr = "10.0.0.7:4000".parse().unwrap();
    let sent = |frame: &ReceivedFrame, token: Token| {
        let bytes = frame.payload().try_into().unwrap();
        ApInput::Datagram(Routed::new(from, &routed::datagram(&bytes, token)))
    };
    bench.notify(0, sent(&greeting(A, 1), Token::default()));
    let forged = Greeting { station: A, sequence: 2 }.seal(&key_of(B));
    bench.notify(0, sent(&ReceivedFrame::new(A, &forged), Token::default()));
    assert_eq!(bench.notices, [KeyRefused { station: A, sequence: 2 }]);
    let (to, reply) = bench.replies[0];
    assert_eq!((to, reply.is_believed, reply.session), (from, false, SESSION));
    bench.notify(200, sent(&report_frame(A, 2, 200, 10.0), reply.token));
    bench.has_requested(&[(200, A, Some(0.8))]);
    // Whoever recorded that has nothing of it at the next start, though a token is easily had.
    let mut next = Bench::new(ApConfig { session: LATER, ..bench.ap.config.clone() });
    next.notify(0, sent(&greeting(A, 1), Token::default()));
    let token = next.replies[0].1.token;
    next.notify(10, sent(&report_frame(A, 2, 200, 10.0), token));
    next.has_requested(&[]);
    assert_eq!(next.refusals(), [(A, Refusal::Forged)]);
}
