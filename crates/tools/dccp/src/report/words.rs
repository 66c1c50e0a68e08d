//! Connections as lines: in words, and as comma-separated values.

use super::output::{ConnectionOutput, KnownOutput, SampleOutput};

/// The first line of a file of samples.
pub(crate) const COLUMNS: &str =
    "peer,at_s,rate_mbps,loss_event_rate,rtt_ms,allowed_mbps,receive_mbps,cwnd,back_mbps\n";

/// A sample as a line of comma-separated values.
pub(crate) fn row(peer: &str, sample: &SampleOutput) -> String {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let KnownOutput { loss_event_rate, rtt_ms, allowed_mbps, receive_mbps, cwnd, .. } =
        sample.known;
    let known = [loss_event_rate, rtt_ms, allowed_mbps, receive_mbps, cwnd.map(f64::from)];
    let known = known.map(number).join(",");
    let SampleOutput { at_s, rate_mbps, back_mbps, .. } = sample;
    format!("{peer},{at_s},{rate_mbps},{known},{back_mbps}\n")
}

/// A sample as a line.
pub(crate) fn line(peer: &str, sample: &SampleOutput) -> String {
    let SampleOutput { at_s, rate_mbps, back_mbps, known } = sample;
    let back = back(*back_mbps);
    format!("{peer} {at_s:.1} s: {rate_mbps:.3} Mbps{back}{}\n", words(known))
}

/// The rate of the other direction, in words.
fn back(mbps: f64) -> String {
    if mbps > 0.0 { format!(", back {mbps:.3} Mbps") } else { String::new() }
}

/// The known values of congestion control, in words.
pub(crate) fn words(known: &KnownOutput) -> String {
    let rate = |name: &str, rate: Option<f64>| {
        rate.map_or(String::new(), |rate| format!(", {name} {rate:.3} Mbps"))
    };
    let mut text = rate("X", known.allowed_mbps) + &rate("X_recv", known.receive_mbps);
    text += &rate("equation", known.equation_mbps);
    text += &known.rtt_ms.map_or(String::new(), |rtt| format!(", rtt {rtt:.2} ms"));
    text += &known.loss_event_rate.map_or(String::new(), |p| format!(", p {p:.5}"));
    text + &known.cwnd.map_or(String::new(), |cwnd| format!(", cwnd {cwnd} packets"))
}

/// A connection after its end.
pub(crate) fn summary(ended: &ConnectionOutput, is_sender: bool) -> String {
    let ConnectionOutput { peer, ccid, peer_ccid, datagrams, bytes, seconds, .. } = ended;
    let (what, ccid) = if is_sender { ("sent", ccid) } else { ("received", peer_ccid) };
    let lost = match is_sender {
        true => format!("{} not sent for want of room in the queue", ended.unsent),
        false => format!("{} packets missing", ended.missing),
    };
    let back = back(ended.back_mbps);
    format!(
        "{peer}: {what} {datagrams} datagrams, {bytes} bytes in {seconds:.2} s by CCID {ccid}: \
         {:.3} Mbps{back}, {lost}; {}\n{peer}: at the end{}\n",
        ended.rate_mbps,
        ended.ended,
        words(&ended.known)
    )
}
