//! Packet scripts in text files (`tests/conformance/*.pkt`), played against one end. The
//! language is told in [`parse`].

mod parse;

use crate::script::{ACK, IRS, ISS, SYN_ACK, Script, config};
use fairwave_tcp::{Config, Input, Segment, State, Virtual};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::tcp::{Header, SackBlocks, Timestamps};
use parse::{Act, Line, Options, Shape, When, number};
use std::collections::VecDeque;
use std::fs;
use std::path::Path;

type Played<T> = Result<T, String>;

/// A script under way.
struct Player {
    config: Config,
    law: &'static str,
    /// Made by the first line with a time.
    script: Option<Script>,
    /// What left, and no line has expected yet.
    sent: VecDeque<(Instant, Segment<Virtual>)>,
}

/// Plays the script `text`; an error begins with file and line.
fn play(file: &str, text: &str) -> Played<()> {
    let at = |line: usize, what: &str| format!("{file}:{}: {what}", line + 1);
    if !text.starts_with("# RFC ") && !text.starts_with("# tcp_") {
        return Err(at(0, "the first line must cite the source: # RFC N section M: ..."));
    }
    let mut player =
        Player { config: config(), law: "newreno", script: None, sent: VecDeque::new() };
    for (number, line) in text.lines().enumerate() {
        let read = parse::line(line).map_err(|what| at(number, &what))?;
        let played = read.map_or(Ok(()), |line| player.take(line));
        played.map_err(|what| at(number, &what))?;
    }
    let last = text.lines().count().saturating_sub(1);
    player.nothing_unexpected().map_err(|what| at(last, &what))
}

impl Player {
    fn take(&mut self, line: Line) -> Played<()> {
        match line {
            Line::Config(_) if self.script.is_some() => Err("config comes first".to_owned()),
            Line::Config(pairs) => pairs.iter().try_for_each(|(k, v)| self.configure(k, v)),
            Line::At(when, act) => {
                let now = self.script().now;
                let at = match when {
                    When::Time(at) => at,
                    When::After(later) => now + later,
                };
                if at < now {
                    return Err(format!("it is {now} already"));
                }
                self.pass(at)?;
                self.act(act)
            }
        }
    }

    fn script(&mut self) -> &mut Script {
        self.script.get_or_insert_with(|| Script::new(self.config, self.law))
    }

    /// Time passes until `at`. What timers send before must have been expected.
    fn pass(&mut self, at: Instant) -> Played<()> {
        let script = self.script();
        if at > script.now {
            let sent = script.until(at);
            self.nothing_unexpected()?;
            self.sent.extend(sent);
        }
        let early = self.sent.front().filter(|(sent, _)| *sent < at);
        early.map_or(Ok(()), |(sent, segment)| Err(unexpected(*sent, segment)))
    }

    fn nothing_unexpected(&self) -> Played<()> {
        let first = self.sent.front();
        first.map_or(Ok(()), |(at, segment)| Err(unexpected(*at, segment)))
    }

    fn act(&mut self, act: Act) -> Played<()> {
        let input = match act {
            Act::Leaves(shape) => return self.leaves(&shape),
            Act::Expect(pairs) => {
                self.nothing_unexpected()?;
                return pairs.iter().try_for_each(|(key, value)| self.expect(key, value));
            }
            Act::Establish => {
                self.script = Some(Script::established(self.config, self.law));
                return Ok(());
            }
            Act::Arrives(shape) => Input::Segment(self.arriving(&shape)),
            Act::Read(bytes) => {
                self.script().end.read(bytes);
                return self.act_and_drain(None);
            }
            Act::Open => Input::Open,
            Act::Listen => Input::Listen,
            Act::Write(bytes) => Input::Write(Virtual(bytes)),
            Act::Close => Input::Close,
            Act::Abort => Input::Abort,
        };
        self.act_and_drain(Some(input))
    }

    fn act_and_drain(&mut self, input: Option<Input<Virtual>>) -> Played<()> {
        self.nothing_unexpected()?;
        let script = self.script();
        let now = script.now;
        let sent = match input {
            Some(input) => script.input(input),
            None => script.drain(),
        };
        self.sent.extend(sent.into_iter().map(|segment| (now, segment)));
        Ok(())
    }

    fn arriving(&mut self, shape: &Shape) -> Segment<Virtual> {
        let script = self.script();
        script.window = shape.window.unwrap_or(script.window);
        let mut header = script.header(shape.flags);
        header.seq = IRS + shape.seq;
        header.ack = shape.ack.map_or(Seq32(0), |ack| ISS + ack);
        let none = Options::default();
        let options = shape.options.as_ref().unwrap_or(&none);
        header.options.mss = options.mss;
        header.options.window_scale = options.scale;
        header.options.sack_permitted = options.sack_permitted;
        header.options.timestamps =
            options.timestamps.map(|(value, echo)| Timestamps { value, echo });
        for (left, right) in &options.sack {
            header.options.sack.push(ISS + *left, ISS + *right);
        }
        Segment { header, ecn: shape.ecn.unwrap_or_default(), payload: Virtual(shape.len) }
    }

    /// The next segments that left must be those of `shape`.
    fn leaves(&mut self, shape: &Shape) -> Played<()> {
        let now = self.script().now;
        for n in 0..shape.run {
            let Some((_, segment)) = self.sent.pop_front() else {
                return Err(format!("segment {} of {} did not leave at {now}", n + 1, shape.run));
            };
            let seq = shape.seq + n * shape.len;
            compare(shape, seq, &segment)
                .map_err(|what| format!("{what}: {}", show(&segment.header, segment.payload.0)))?;
        }
        Ok(())
    }

    fn configure(&mut self, key: &str, value: &str) -> Played<()> {
        let on = value == "on";
        let config = &mut self.config;
        match key {
            "law" => {
                let known = fairwave_cc::ALL.iter().find(|law| law.name == value);
                self.law = known.ok_or_else(|| format!("there is no law {value:?}"))?.name;
            }
            "sack" => config.sack = on,
            "keep_sacks" => config.keep_sacks = on,
            "timestamps" => config.timestamps = on,
            "window_scaling" => config.window_scaling = on,
            "byte_counting" => config.byte_counting = on,
            "ecn" => config.ecn = on,
            "prr" => config.prr = on,
            "rack" => config.rack = on,
            "eifel" => config.eifel = on,
            "dsack" => config.dsack = on,
            "nagle" => config.nagle = on,
            "ack_on_read" => config.ack_on_read = on,
            "gradual_window" => config.gradual_window = on,
            "quick_acks" => config.quick_acks = number(value)?,
            "challenge_acks" => config.challenge_acks = number(value)?,
            "mss" => config.mss = number(value)?,
            "iw" => config.initial_window_segments = number(value)?,
            "ssthresh" => config.initial_ssthresh = Some(number(value)?),
            "dupthresh" => config.duplicate_ack_threshold = number(value)?,
            "send_buffer" => config.send_buffer = number(value)?,
            "receive_buffer" => config.receive_buffer = number(value)?,
            "send_buffer_most" => config.send_buffer_most = Some(number(value)?),
            "receive_buffer_most" => config.receive_buffer_most = Some(number(value)?),
            "ack_every" => config.delayed_ack.every = number(value)?,
            "ack_timeout" => config.delayed_ack.timeout = millis(value)?,
            "min_rto" => config.min_rto = millis(value)?,
            "initial_rto" => config.initial_rto = millis(value)?,
            "time_wait" => config.time_wait = millis(value)?,
            "max_retries" => config.max_retries = number(value)?,
            _ => return Err(format!("{key:?} is no key of a configuration")),
        }
        Ok(())
    }

    fn expect(&mut self, key: &str, value: &str) -> Played<()> {
        let script = self.script();
        let stats = script.end.stats();
        let shown = match key {
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
            "event" => script.events.last().map_or("none".to_owned(), |e| format!("{e:?}")),
            _ => return Err(format!("{key:?} is nothing to expect")),
        };
        if shown == value { Ok(()) } else { Err(format!("{key} is {shown}, not {value}")) }
    }
}

fn millis(value: &str) -> Played<Duration> {
    number(value).map(Duration::from_millis)
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

/// What differs between the segment that a script wants, at `seq`, and the one that left.
fn compare(shape: &Shape, seq: u32, segment: &Segment<Virtual>) -> Played<()> {
    let header = &segment.header;
    let mut flags = shape.flags;
    flags.psh |= header.flags.psh;
    let same = |what: &str, same: bool| {
        if same { Ok(()) } else { Err(format!("another {what} left")) }
    };
    same("kind of segment", header.flags == flags)?;
    same("ECN field", shape.ecn.is_none_or(|ecn| segment.ecn == ecn))?;
    same("sequence number", header.seq == ISS + seq)?;
    same("length", segment.payload.0 == shape.len)?;
    same("acknowledgement", shape.ack.is_none_or(|ack| header.ack == IRS + ack))?;
    same("window", shape.window.is_none_or(|window| header.window == window))?;
    let left = Options {
        mss: header.options.mss,
        scale: header.options.window_scale,
        sack_permitted: header.options.sack_permitted,
        timestamps: header.options.timestamps.map(|t| (t.value, t.echo)),
        sack: blocks(&header.options.sack),
    };
    same("set of options", shape.options.as_ref().is_none_or(|wanted| *wanted == left))
}

fn blocks(sack: &SackBlocks) -> Vec<(u32, u32)> {
    sack.as_slice().iter().map(|(left, right)| (left.distance(IRS), right.distance(IRS))).collect()
}

fn unexpected(at: Instant, segment: &Segment<Virtual>) -> String {
    format!("left at {at} and was not expected: {}", show(&segment.header, segment.payload.0))
}

/// A segment of this end as scripts write it.
fn show(header: &Header, len: u32) -> String {
    let f = header.flags;
    let marks = [(f.syn, 'S'), (f.fin, 'F'), (f.rst, 'R'), (f.psh, 'P'), (f.ece, 'E')];
    let more = [(f.cwr, 'W'), (f.ack, '.')];
    let flags: String =
        marks.iter().chain(&more).filter(|(set, _)| *set).map(|(_, flag)| flag).collect();
    let seq = header.seq.distance(ISS);
    let ack = if f.ack { format!(" ack {}", header.ack.distance(IRS)) } else { String::new() };
    let mut options = Vec::new();
    options.extend(header.options.mss.map(|size| format!("mss {size}")));
    options.extend(header.options.window_scale.map(|shift| format!("wscale {shift}")));
    options.extend(header.options.sack_permitted.then(|| "sackOK".to_owned()));
    let stamps = header.options.timestamps;
    options.extend(stamps.map(|t| format!("TS val {} ecr {}", t.value, t.echo)));
    let sack: Vec<String> =
        blocks(&header.options.sack).iter().map(|(l, r)| format!("{l}:{r}")).collect();
    options.extend((!sack.is_empty()).then(|| format!("sack {}", sack.join(" "))));
    let place = format!("{seq}:{}({len})", seq.wrapping_add(len));
    format!("> {flags} {place}{ack} win {} <{}>", header.window, options.join(","))
}

/// Every file of `tests/conformance`. All failures are told, not only the first.
#[test]
fn every_packet_script_is_followed() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let entries = fs::read_dir(&directory).expect("the scripts are there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    let told = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).expect("a script is text");
        let name = path.file_name().expect("a file has a name").to_string_lossy();
        play(&format!("tests/conformance/{name}"), &text).err()
    };
    let failures: Vec<String> = paths.iter().filter_map(told).collect();
    assert!(paths.len() >= 30, "only {} scripts", paths.len());
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

/// A script that is wrong says where: each of these differs from a right one in one thing.
#[test]
fn a_wrong_script_names_its_line() {
    let wrong = |line: &str| {
        let text = format!("# RFC 1 section 1: test\n0 establish\n100 write 1000\n{line}\n");
        play("x.pkt", &text).expect_err(line)
    };
    assert!(play("x.pkt", "0 establish\n").is_err_and(|e| e.starts_with("x.pkt:1: ")));
    let cases = [
        ("+0 > . 1:501(500) ack 1", "x.pkt:4: another length left: > P. 1:1001(1000) ack 1"),
        ("+0 > . 2:1002(1000) ack 1", "x.pkt:4: another sequence number"),
        ("+0 > F. 1:1001(1000) ack 1", "x.pkt:4: another kind"),
        ("+0 > . 1:1001(1000) ack 2", "x.pkt:4: another acknowledgement"),
        ("+0 > . 1:1001(1000) ack 1 win 3", "x.pkt:4: another window"),
        ("+0 > . 1:1001(1000) ack 1 <sack 1:2>", "x.pkt:4: another set of options"),
        ("+0 > . 1:2001(2x1000) ack 1", "x.pkt:4: segment 2 of 2 did not leave"),
        ("+0 > . 1:1002(1000) ack 1", "x.pkt:4: 1 and 1 x 1000 bytes end at 1001"),
        ("+1 > . 1:1001(1000) ack 1", "x.pkt:4: left at"),
        ("+0 expect cwnd=1", "x.pkt:4: left at"),
        ("50 close", "x.pkt:4: it is"),
        ("+0 fly", "x.pkt:4: \"fly\" is no verb"),
        ("config sack", "x.pkt:4: config comes first"),
        ("", "x.pkt:4: left at"),
    ];
    for (line, what) in cases {
        let error = wrong(line);
        assert!(error.starts_with(what), "{line}: {error}");
    }
}

/// The prologue of scripts is the handshake of the other stories.
#[test]
fn established_is_an_open_answered_after_100_ms() {
    let mut script = Script::new(config(), "newreno");
    let syn = script.input(Input::Open).remove(0).header;
    script.until(Instant::ZERO + Duration::from_millis(100));
    let mut answer = script.header(SYN_ACK);
    (answer.seq, answer.options) = (IRS, syn.options);
    assert_eq!(script.arrive(answer, 0)[0].header.flags, ACK);
    assert_eq!(script.end.stats(), Script::established(config(), "newreno").end.stats());
}
