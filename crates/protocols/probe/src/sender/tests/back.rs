//! Packets that the receiver is asked for.

use super::*;

fn accounts<'a>(session: &'a Session) -> Vec<&'a Account> {
    let account = |event: &'a SenderEvent| match event {
        SenderEvent::Account(account) => Some(account.as_ref()),
        _ => None,
    };
    session.events.iter().filter_map(account).collect()
}

/// 528 bytes of IP at 5 Mbps are 844.8 us. The times of sending are the receiver's, told in its
/// accounts; those of arrival this end's.
#[test]
fn packets_that_were_asked_for_are_accounted_for() {
    let delay = Duration::from_millis(3);
    let mine = asking(limits(10, 1_000, 60), vec![trial(2, 3), trial(0, 500)], Way::Back);
    let wire = Wire { delay, ..Wire::default() };
    let mut session = Session::new(mine, receiver(limits(5, 5_000, 30)), wire);
    session.run();
    for (account, packets) in accounts(&session).iter().zip([5, 500]) {
        let expected: Vec<Record> = (0..packets)
            .map(|n| Record { number: n, arrived: account.sent[n as usize] + delay })
            .collect();
        assert_eq!((account.sent.len(), &account.arrived), (packets as usize, &expected));
    }
    let apart: Vec<u64> = accounts(&session)[0]
        .sent
        .windows(2)
        .map(|pair| pair[1].since(pair[0]).as_nanos())
        .collect();
    assert_eq!(apart, [10_000_000, 10_000_000, 844_800, 844_800]);
    assert_eq!(session.events.last(), Some(&SenderEvent::Finished(Ok(()))));
    assert_eq!(session.receiver.sessions(), 0);
}

/// Numbers that are missing are those that the line lost, of all that were sent.
#[test]
fn a_bad_line_costs_packets_but_no_account_of_them() {
    let wire = Wire { delay: Duration::from_millis(2), loss: 0.2, ..Wire::default() };
    let trials = vec![trial(10, 2_000), trial(10, 2_000)];
    let mine = asking(limits(10, 9_000, 60), trials, Way::Back);
    let mut session = Session::new(mine, receiver(limits(50, 50_000, 60)), wire);
    session.run();
    let accounts = accounts(&session);
    assert_eq!(accounts.len(), 2);
    for account in accounts {
        let share = account.arrived.len() as f64 / 2_010.0;
        assert!(account.sent.len() == 2_010 && (share - 0.8).abs() < 0.04, "{share}");
    }
    assert_eq!(session.events.last(), Some(&SenderEvent::Finished(Ok(()))));
}

#[test]
fn what_is_granted_bounds_what_is_sent_back() {
    let mine = asking(limits(10, 1_000, 60), vec![trial(0, 40)], Way::Back);
    let mut session = Session::new(mine, receiver(limits(10, 30, 60)), Wire::default());
    session.run();
    assert_eq!(accounts(&session)[0].sent.len(), 30);
    assert_eq!(session.events.last(), Some(&SenderEvent::Finished(Err(Failure::OutOfPackets))));
}

/// A receiver that claims to have sent others than those that arrived.
#[test]
fn an_account_of_other_packets_is_absurd() {
    let record = |number| Record { number, arrived: Instant::ZERO };
    let ends = |reported: &[u32], arrived: &[u32]| {
        let own = Own::Arrived(arrived.iter().map(|n| record(*n)).collect());
        let records = reported.iter().map(|n| record(*n)).collect();
        let chunk = Chunk { train: 0, chunk: 0, chunks: 1, records };
        let mut collector = Collector::new(own, 4);
        collector.take(chunk).is_ok() && collector.into_parts().is_ok()
    };
    assert!(ends(&[0, 1, 2], &[2, 0]) && ends(&[], &[]));
    assert!(!ends(&[0, 1], &[2]), "one arrived that was not sent");
    assert!(!ends(&[0, 2], &[0]), "one between was not sent");
    assert!(!ends(&[0, 1, 2, 3, 4], &[0]), "more were sent than were asked for");
}
