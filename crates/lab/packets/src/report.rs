//! Reports of an end about itself, for scripts.

use fairwave_tcp::{Connection, Event, Payload, State};

/// Answers to `expect` of our endpoint, whose last event is given.
pub(crate) fn answer<P: Payload>(
    end: &Connection<P>,
    event: Option<Event>,
    key: &str,
) -> Result<String, String> {
    let stats = end.stats();
    Ok(match key {
        "state" => state(stats.state).to_owned(),
        "cwnd" => stats.cwnd.to_string(),
        "window" => stats.effective_window.to_string(),
        "ssthresh" => stats.ssthresh.to_string(),
        "flight" => stats.flight.to_string(),
        "rto" => stats.rto.as_millis().to_string(),
        "srtt" => stats.srtt.map_or("none".to_owned(), |srtt| srtt.as_millis().to_string()),
        "timeouts" => stats.timeouts.to_string(),
        "retransmissions" => stats.retransmissions.to_string(),
        "recoveries" => stats.fast_recoveries.to_string(),
        "ready" => stats.bytes_ready.to_string(),
        "send_buffer" => stats.send_buffer.to_string(),
        "receive_buffer" => stats.receive_buffer.to_string(),
        "ecn_responses" => stats.ecn_responses.to_string(),
        "tail_probes" => stats.tail_probes.to_string(),
        "spurious" => stats.spurious.to_string(),
        "acked" => stats.bytes_acked.to_string(),
        "event" => event.map_or("none".to_owned(), |event| format!("{event:?}")),
        _ => return Err(format!("{key:?} is nothing to expect")),
    })
}

/// The name that RFC 9293 gives a state.
fn state(state: State) -> &'static str {
    match state {
        State::Closed => "CLOSED",
        State::Listen => "LISTEN",
        State::SynSent => "SYN-SENT",
        State::SynReceived => "SYN-RECEIVED",
        State::Established => "ESTABLISHED",
        State::FinWait1 => "FIN-WAIT-1",
        State::FinWait2 => "FIN-WAIT-2",
        State::CloseWait => "CLOSE-WAIT",
        State::Closing => "CLOSING",
        State::LastAck => "LAST-ACK",
        State::TimeWait => "TIME-WAIT",
    }
}
