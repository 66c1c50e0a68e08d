//! The sink that writes samples into a run directory.

use super::capture::Capture;
use super::columns::{
    ASSOCIATIONS, AssociationRow, DROPS, DropRow, FLOWS, FlowRow, PATHS, PathRow, QUEUES, QueueRow,
    SOC, STATIONS, SocRow, StationRow,
};
use super::contents::PacketContents;
use super::delays::{DELAY_BINS, DELAYS, DelayBinRow, DelayRow};
use super::pairs::{PAIRS, PairRow, PairsBefore};
use super::table::{Table, Writer};
use super::tap::Taps;
use super::wanted::Wanted;
use super::{Error, Names};
use fairwave_sim::world::World;
use fairwave_trace::{FlowId, FlowSample, Kind, NodeId, Sample, Sink};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Contents, Datagram};
use std::path::Path;

/// Streams samples into Parquet files, one row group at a time, and frames into a capture.
/// Recording cannot fail: [`Recorder::finish`] returns the first error.
pub struct Recorder {
    names: Names,
    series: Option<SeriesWriters>,
    drops: Option<Writer<DropRow>>,
    capture: Option<Capture>,
    taps: Option<Taps>,
    contents: PacketContents,
    /// Time of each flow's last sample, and the bytes that had been delivered then.
    before: Vec<(Instant, u64)>,
    failure: Option<Error>,
}

/// Writers of the requested tables.
struct SeriesWriters {
    flows: Option<Writer<FlowRow>>,
    queues: Option<Writer<QueueRow>>,
    stations: Option<Writer<StationRow>>,
    associations: Option<Writer<AssociationRow>>,
    delays: Option<Writer<DelayRow>>,
    delay_bins: Option<Writer<DelayBinRow>>,
    /// Present where there are radios, with their counts at the last sample.
    pairs: Option<(Writer<PairRow>, PairsBefore)>,
    /// Present where flows have several paths.
    paths: Option<Writer<PathRow>>,
    /// Present where stations report their channels.
    soc: Option<Writer<SocRow>>,
}

impl SeriesWriters {
    fn create(directory: &Path, world: &World, wanted: &Wanted) -> Result<Self, Error> {
        let reports = !world.soc.is_empty();
        let has_radios = world.nodes.iter().any(|node| node.radio.is_some());
        let has_paths = world.flows.iter().any(|flow| !flow.traffic.vias().is_empty());
        Ok(Self {
            paths: writer(&PATHS, directory, wanted, has_paths)?,
            soc: writer(&SOC, directory, wanted, reports)?,
            pairs: writer(&PAIRS, directory, wanted, has_radios)?
                .map(|writer| (writer, PairsBefore::new(world.sample_every))),
            delays: writer(&DELAYS, directory, wanted, true)?,
            delay_bins: writer(&DELAY_BINS, directory, wanted, true)?,
            flows: writer(&FLOWS, directory, wanted, true)?,
            queues: writer(&QUEUES, directory, wanted, true)?,
            stations: writer(&STATIONS, directory, wanted, true)?,
            associations: writer(&ASSOCIATIONS, directory, wanted, true)?,
        })
    }

    /// Whether a table needs samples of this kind.
    fn wants(&self, kind: Kind) -> bool {
        match kind {
            Kind::Flow => self.flows.is_some(),
            Kind::Queue => self.queues.is_some(),
            Kind::Station => self.stations.is_some(),
            Kind::Association => self.associations.is_some(),
            Kind::Delay => self.delays.is_some() || self.delay_bins.is_some(),
            Kind::Pair => self.pairs.is_some(),
            Kind::Soc => self.soc.is_some(),
            Kind::Path => self.paths.is_some(),
            Kind::Drop | Kind::Frame => false,
        }
    }

    fn finish(self) -> Result<(), Error> {
        finish(self.flows)?;
        finish(self.paths)?;
        finish(self.queues)?;
        finish(self.stations)?;
        finish(self.associations)?;
        finish(self.delays)?;
        finish(self.delay_bins)?;
        finish(self.pairs.map(|(pairs, _)| pairs))?;
        finish(self.soc)
    }
}

/// The writer of a table, if there are rows for it and it is requested.
fn writer<R>(
    table: &'static Table<R>,
    directory: &Path,
    wanted: &Wanted,
    is_there: bool,
) -> Result<Option<Writer<R>>, Error> {
    (is_there && wanted.holds(table.file)).then(|| Writer::create(table, directory)).transpose()
}

fn finish<R>(writer: Option<Writer<R>>) -> Result<(), Error> {
    writer.map_or(Ok(()), Writer::finish)
}

impl Recorder {
    pub(super) fn create(directory: &Path, world: &World, wanted: &Wanted) -> Result<Self, Error> {
        let names = Names::of(world);
        let Wanted { taps, snap_len, .. } = wanted;
        let open = || Taps::create(world, directory, taps, *snap_len);
        Ok(Self {
            taps: (!taps.is_empty()).then(open).transpose()?,
            series: wanted
                .series
                .then(|| SeriesWriters::create(directory, world, wanted))
                .transpose()?,
            drops: writer(&DROPS, directory, wanted, wanted.drops)?,
            capture: wanted.capture.then(|| Capture::create(world, directory)).transpose()?,
            before: vec![(Instant::ZERO, 0); names.flow_count()],
            names,
            failure: None,
            contents: PacketContents::default(),
        })
    }

    /// Completes the files, or returns the first error since the start.
    pub fn finish(self) -> Result<(), Error> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.series.map_or(Ok(()), SeriesWriters::finish)?;
        finish(self.drops)?;
        self.capture.map_or(Ok(()), |capture| capture.finish(&self.contents))?;
        self.taps.map_or(Ok(()), Taps::finish)
    }

    fn write(&mut self, at: Instant, sample: &Sample) -> Result<(), Error> {
        match (sample, &mut self.series, &mut self.drops) {
            (Sample::Flow(id, sample), Some(SeriesWriters { flows: Some(flows), .. }), _) => {
                flows.push(flow_row(&self.names, &mut self.before, at, *id, sample))
            }
            (Sample::Queue(id, sample), Some(SeriesWriters { queues: Some(queues), .. }), _) => {
                let queue = self.names.queue(*id);
                queues.push(QueueRow { at, queue, sample: *sample })
            }
            (Sample::Station(id, sample), Some(SeriesWriters { stations: Some(to), .. }), _) => {
                let station = self.names.node(*id);
                to.push(StationRow { at, station, sample: *sample })
            }
            (
                Sample::Association(id, ap),
                Some(SeriesWriters { associations: Some(to), .. }),
                _,
            ) => {
                let (station, ap) = (self.names.node(*id), ap.map(|ap| self.names.node(ap)));
                to.push(AssociationRow { at, station, ap })
            }
            (Sample::Soc(id, sample), Some(SeriesWriters { soc: Some(soc), .. }), _) => {
                let station = self.names.node(*id);
                soc.push(SocRow { at, station, sample: *sample })
            }
            (
                Sample::Path(id, number, sample),
                Some(SeriesWriters { paths: Some(paths), .. }),
                _,
            ) => {
                let (flow, path) = (self.names.flow(*id), self.names.path(*id, *number));
                paths.push(PathRow { at, flow, path, sample: *sample })
            }
            (Sample::Pair(from, to, sample), Some(SeriesWriters { pairs: Some(pairs), .. }), _) => {
                let (writer, before) = pairs;
                let transmitter = self.names.node(*from);
                let receiver = to.map(|to| self.names.node(to));
                writer.push(before.row(at, (*from, *to), transmitter, receiver, sample))
            }
            (Sample::Delay(id, times), Some(SeriesWriters { delays: Some(delays), .. }), _) => {
                let flow = self.names.flow(*id);
                delays.push(DelayRow { at, flow, times: *times })
            }
            (Sample::DelayBin(id, bin), Some(SeriesWriters { delay_bins: Some(bins), .. }), _) => {
                bins.push(DelayBinRow { flow: self.names.flow(*id), bin: *bin })
            }
            (Sample::Drop(sample), _, Some(drops)) => {
                let flow = sample.flow.map(|id| self.names.flow(id));
                let queue = self.names.queue(sample.queue);
                drops.push(DropRow { at, queue, flow, sample: *sample })
            }
            (Sample::Frame(frame), ..) => self
                .capture
                .as_mut()
                .map_or(Ok(()), |capture| capture.push(at, frame, &self.contents)),
            (Sample::Packet(packet), ..) => {
                self.taps.as_mut().map_or(Ok(()), |taps| taps.push(at, packet, &self.contents))
            }
            _ => Ok(()),
        }
    }
}

fn flow_row(
    names: &Names,
    before: &mut [(Instant, u64)],
    at: Instant,
    id: FlowId,
    sample: &FlowSample,
) -> FlowRow {
    let last = &mut before[id.0 as usize];
    let (since, delivered_before) = std::mem::replace(last, (at, sample.delivered_bytes));
    FlowRow { at, flow: names.flow(id), sample: *sample, since, delivered_before }
}

impl Sink for Recorder {
    fn wants(&self, kind: Kind) -> bool {
        match kind {
            Kind::Flow
            | Kind::Queue
            | Kind::Station
            | Kind::Association
            | Kind::Delay
            | Kind::Pair
            | Kind::Soc
            | Kind::Path => self.series.as_ref().is_some_and(|series| series.wants(kind)),
            Kind::Drop => self.drops.is_some(),
            Kind::Frame => self.capture.is_some(),
        }
    }

    fn taps(&self, node: NodeId) -> bool {
        self.taps.as_ref().is_some_and(|taps| taps.holds(node))
    }

    fn note_contents(&mut self, datagram: &Datagram, contents: Contents) {
        self.contents.note(datagram, contents);
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        if self.failure.is_none() {
            self.failure = self.write(at, sample).err();
        }
    }
}
