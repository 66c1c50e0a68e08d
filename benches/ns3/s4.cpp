// SPDX-License-Identifier: GPL-2.0-only
// S4: one cell of 802.11a, b, g, n, ac or ax; saturated UDP or greedy TCP; down, up or both.
// Flows end at the access point: there is no wire. What differs from ns-3's defaults is an option.
#include "common.hpp"

namespace
{
struct Options
{
    uint32_t n = 4, run = 1, mcs = 0, nss = 1, width = 20, gi = 800;
    uint32_t ampdu = 1, amsdu = 0, ba = 64, queue = 1000, backlog = 192, payload = 1472;
    uint32_t mss = 1460, delack = 2, buf = 4u << 20, rts = 0, bar = 1, retries = 7, bsta = 0;
    uint32_t cwmin = 15, cwmax = 1023, aifsn = 3, pifs = 1, agree = 0;
    double dur = 4, warm = 2, start = 3, radius = 4, lifetime = 100000;
    bool pd = true, beacons = true, ts = false, sack = true, modes = false, v = false;
    std::string std = "ax", proto = "udp", dir = "down", disc = "none", cc = "TcpNewReno";
    std::string mode, ctl, manager = "Constant";

    void Parse(int argc, char** argv)
    {
        CommandLine c;
        c.AddValue("std", "a b g n ac ax", std);
        c.AddValue("mcs", "MCS of one stream (n, ac, ax); rate name for a, b, g by --mode", mcs);
        c.AddValue("mode", "ns-3's name of the data mode, instead of --mcs", mode);
        c.AddValue("ctl", "control mode (RTS, CTS); default 24, for b 2 Mbps", ctl);
        c.AddValue("manager", "rate control: Constant, MinstrelHt ...", manager);
        c.AddValue("nss", "spatial streams", nss);
        c.AddValue("width", "channel width, MHz", width);
        c.AddValue("gi", "guard interval, ns: 400 or 800 for n and ac; 800, 1600, 3200 for ax", gi);
        c.AddValue("n", "stations", n);
        c.AddValue("proto", "udp tcp", proto);
        c.AddValue("dir", "down up both", dir);
        c.AddValue("ampdu", "A-MPDU limit, bytes; 1: the standard's maximum; 0: off", ampdu);
        c.AddValue("amsdu", "A-MSDU limit, bytes; 0: off", amsdu);
        c.AddValue("ba", "MPDU buffer of an ax block ack agreement: 64 or 256", ba);
        c.AddValue("agree", "datagrams each way before the flows, for block ack agreements", agree);
        c.AddValue("bar", "BlockAckReq after a missing block ack (ns-3's default)", bar);
        c.AddValue("cwmin", "of AC_BE", cwmin);
        c.AddValue("cwmax", "of AC_BE", cwmax);
        c.AddValue("aifsn", "of AC_BE; not for a, b, g", aifsn);
        c.AddValue("rts", "RTS/CTS before every data PPDU", rts);
        c.AddValue("retries", "MaxSsrc and MaxSlrc", retries);
        c.AddValue("bsta", "one silent 802.11b station more: ERP protection by CTS-to-self", bsta);
        c.AddValue("queue", "MAC queue, packets", queue);
        c.AddValue("lifetime", "MAC queue's MaxDelay, s (ns-3's default: 0.5)", lifetime);
        c.AddValue("disc", "none, or fq: ns-3's default root queue disc, FqCoDel", disc);
        c.AddValue("backlog", "UDP: packets of each flow kept in the MAC queue", backlog);
        c.AddValue("payload", "UDP payload, bytes", payload);
        c.AddValue("cc", "TCP law", cc);
        c.AddValue("mss", "TCP payload of a segment, bytes", mss);
        c.AddValue("ts", "TCP timestamps", ts);
        c.AddValue("sack", "TCP SACK", sack);
        c.AddValue("delack", "segments for each ACK", delack);
        c.AddValue("buf", "TCP send and receive buffer, bytes", buf);
        c.AddValue("pd", "preamble detection model", pd);
        c.AddValue("beacons", "", beacons);
        c.AddValue("start", "s for association, before traffic", start);
        c.AddValue("warm", "s of traffic that do not count", warm);
        c.AddValue("dur", "s of traffic that count", dur);
        c.AddValue("radius", "of the circle of stations, m", radius);
        c.AddValue("run", "", run);
        c.AddValue("modes", "count PPDUs by mode", modes);
        c.AddValue("v", "goodput of each flow", v);
        c.Parse(argc, argv);
        bool old = std == "a" || std == "b" || std == "g";
        if (mode.empty())
            mode = std == "a"   ? "OfdmRate54Mbps"
                   : std == "b" ? "DsssRate11Mbps"
                   : std == "g" ? "ErpOfdmRate54Mbps"
                   : std == "n" ? "HtMcs" + std::to_string(mcs + 8 * (nss - 1))
                                : (std == "ac" ? "VhtMcs" : "HeMcs") + std::to_string(mcs);
        if (ctl.empty())
            ctl = std == "b" ? "DsssRate2Mbps" : std == "g" ? "ErpOfdmRate24Mbps" : "OfdmRate24Mbps";
        if (ampdu == 1)
            ampdu = old ? 0 : std == "n" ? 65535 : std == "ac" ? 1048575 : 6500631;
    }
    bool Legacy() const { return std == "a" || std == "b" || std == "g"; }
    WifiStandard Standard() const
    {
        return std == "a"    ? WIFI_STANDARD_80211a
               : std == "b"  ? WIFI_STANDARD_80211b
               : std == "g"  ? WIFI_STANDARD_80211g
               : std == "n"  ? WIFI_STANDARD_80211n
               : std == "ac" ? WIFI_STANDARD_80211ac
                             : WIFI_STANDARD_80211ax;
    }
    bool Down() const { return dir != "up"; }
    bool Up() const { return dir != "down"; }
} o;

struct Counters // of the whole cell
{
    uint64_t ppdus, dataPpdus, dataMpdus, rts, bars, addbas, timeouts, mpduFails, retried, refused;
    uint64_t dropped[4];
} g;

void OnPpdu(WifiConstPsduMap psdus, WifiTxVector v, double power)
{
    ++g.ppdus;
    for (auto& [id, psdu] : psdus)
    {
        const auto& h = psdu->GetHeader(0);
        if (h.HasData())
        {
            ++g.dataPpdus;
            g.dataMpdus += psdu->GetNMpdus();
            for (size_t i = 0; i < psdu->GetNMpdus(); ++i)
                g.retried += psdu->GetHeader(i).IsRetry();
        }
        g.rts += h.IsRts();
        g.bars += h.IsBlockAckReq();
        g.addbas += h.IsAction();
    }
    if (o.modes)
        OnTx(psdus, v, power);
}

Ptr<WifiNetDevice> Wifi(Ptr<NetDevice> d) { return DynamicCast<WifiNetDevice>(d); }
Ptr<Txop> BestEffort(Ptr<NetDevice> d)
{
    auto mac = Wifi(d)->GetMac();
    if (o.Legacy())
        return mac->GetTxop();
    return mac->GetQosTxop(AC_BE);
}

// The radios: o.n stations, perhaps a silent one of 802.11b, the access point.
Bss Cell()
{
    Bss b;
    b.sta.Create(o.n + o.bsta);
    b.ap.Create(1);
    YansWifiChannelHelper ch;
    ch.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    ch.AddPropagationLoss("ns3::LogDistancePropagationLossModel"); // 46.7 + 30 log10 d dB
    YansWifiPhyHelper phy;
    phy.SetChannel(ch.Create());
    phy.Set("Antennas", UintegerValue(o.nss));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(o.nss));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(o.nss));
    if (!o.pd)
        phy.DisablePreambleDetectionModel();
    std::string band = o.std == "b" || o.std == "g" ? "BAND_2_4GHZ" : "BAND_5GHZ";
    uint32_t width = o.std == "b" ? 22 : o.width;
    phy.Set("ChannelSettings", StringValue("{0, " + std::to_string(width) + ", " + band + ", 0}"));

    WifiHelper wifi;
    if (o.disc == "none")
        wifi.DisableFlowControl();
    wifi.SetStandard(o.Standard());
    if (o.manager == "Constant")
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                     "DataMode", StringValue(o.mode),
                                     "ControlMode", StringValue(o.ctl),
                                     "RtsCtsThreshold", UintegerValue(o.rts ? 0 : 4692480),
                                     "MaxSsrc", UintegerValue(o.retries),
                                     "MaxSlrc", UintegerValue(o.retries));
    else
        wifi.SetRemoteStationManager("ns3::" + o.manager + "WifiManager",
                                     "RtsCtsThreshold", UintegerValue(o.rts ? 0 : 4692480),
                                     "MaxSsrc", UintegerValue(o.retries),
                                     "MaxSlrc", UintegerValue(o.retries));
    Ssid ssid("bss");
    WifiMacHelper mac;
    auto sta = [&](NodeContainer nodes) {
        mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "ActiveProbing",
                    BooleanValue(false), "MaxMissedBeacons", UintegerValue(1000000));
        b.staDev.Add(wifi.Install(phy, mac, nodes));
    };
    NodeContainer modern;
    for (uint32_t i = 0; i < o.n; ++i)
        modern.Add(b.sta.Get(i));
    sta(modern);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid));
    b.apDev = wifi.Install(phy, mac, b.ap);
    if (o.bsta)
    {
        wifi.SetStandard(WIFI_STANDARD_80211b);
        wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
                                     StringValue("DsssRate11Mbps"), "ControlMode",
                                     StringValue("DsssRate2Mbps"));
        phy.Set("ChannelSettings", StringValue("{0, 22, BAND_2_4GHZ, 0}"));
        sta(NodeContainer(b.sta.Get(o.n)));
    }

    auto pos = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < o.n + o.bsta; ++i)
    {
        double a = 2 * M_PI * i / (o.n + o.bsta);
        pos->Add(Vector(o.radius * std::cos(a), o.radius * std::sin(a), 0));
    }
    pos->Add(Vector(0, 0, 0));
    MobilityHelper mob;
    mob.SetPositionAllocator(pos);
    mob.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mob.Install(b.sta);
    mob.Install(b.ap);
    return b;
}

void Tune(Ptr<NetDevice> d)
{
    auto mac = Wifi(d)->GetMac();
    mac->SetAttribute("BE_MaxAmpduSize", UintegerValue(o.ampdu));
    mac->SetAttribute("BE_MaxAmsduSize", UintegerValue(o.amsdu));
    auto txop = BestEffort(d);
    txop->GetWifiMacQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, o.queue));
    txop->GetWifiMacQueue()->SetMaxDelay(Seconds(o.lifetime));
    if (auto q = DynamicCast<QosTxop>(txop))
        q->SetAttribute("UseExplicitBarAfterMissedBlockAck", BooleanValue(o.bar));
    if (auto ht = Wifi(d)->GetHtConfiguration())
        ht->SetShortGuardIntervalSupported(o.std != "ax" && o.gi == 400);
    if (auto he = Wifi(d)->GetHeConfiguration())
    {
        he->SetGuardInterval(NanoSeconds(o.gi));
        he->SetMpduBufferSize(o.ba);
    }
    Wifi(d)->GetPhy()->TraceConnectWithoutContext("PhyTxPsduBegin", MakeCallback(&OnPpdu));
    mac->TraceConnectWithoutContext(
        "DroppedMpdu", Callback<void, WifiMacDropReason, Ptr<const WifiMpdu>>(
                           [](WifiMacDropReason r, Ptr<const WifiMpdu>) { ++g.dropped[r]; }));
    // no trace fires for a packet that a full queue refuses: count those offered, less those taken
    mac->TraceConnectWithoutContext(
        "MacTx", Callback<void, Ptr<const Packet>>([](Ptr<const Packet>) { ++g.refused; }));
    txop->GetWifiMacQueue()->TraceConnectWithoutContext(
        "Enqueue", Callback<void, Ptr<const WifiMpdu>>(
                       [](Ptr<const WifiMpdu> m) { g.refused -= m->GetHeader().HasData(); }));
    mac->TraceConnectWithoutContext(
        "PsduResponseTimeout", Callback<void, uint8_t, Ptr<const WifiPsdu>, const WifiTxVector&>(
                                   [](uint8_t, Ptr<const WifiPsdu>, const WifiTxVector&) {
                                       ++g.timeouts; }));
    mac->TraceConnectWithoutContext(
        "MpduResponseTimeout", Callback<void, uint8_t, Ptr<const WifiMpdu>, const WifiTxVector&>(
                                   [](uint8_t, Ptr<const WifiMpdu>, const WifiTxVector&) {
                                       ++g.timeouts; }));
    mac->TraceConnectWithoutContext(
        "NAckedMpdu",
        Callback<void, Ptr<const WifiMpdu>>([](Ptr<const WifiMpdu>) { ++g.mpduFails; }));
}

// Contention parameters are set after association: the access point's beacons and association
// responses carry its own, which stations adopt.
void Contend(Ptr<NetDevice> d)
{
    auto txop = BestEffort(d);
    txop->SetMinCw(o.cwmin, 0);
    txop->SetMaxCw(o.cwmax, 0);
    txop->SetAifsn(o.aifsn, 0);
}

struct Flow
{
    Ptr<Node> from, to;
    Ptr<NetDevice> device; // that sends
    Mac48Address next;     // its receiver
    Ipv4Address address;
    Ptr<Socket> out;
    Ptr<PacketSink> sink;
    uint64_t got = 0, got0 = 0, left = 0, sent = 0;
};
std::vector<Flow> flows;

uint64_t Received(Flow& f) { return f.sink ? f.sink->GetTotalRx() : f.got; }

void Refill(size_t i)
{
    auto& f = flows[i];
    while (f.sent < f.left + o.backlog && f.out->Send(Create<Packet>(o.payload)) >= 0)
        ++f.sent;
}

void Udp(size_t i, double at)
{
    auto& f = flows[i];
    auto tid = TypeId::LookupByName("ns3::UdpSocketFactory");
    auto in = Socket::CreateSocket(f.to, tid);
    in->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
    in->SetRecvCallback(Callback<void, Ptr<Socket>>([i](Ptr<Socket> s) {
        while (auto p = s->Recv())
            flows[i].got += p->GetSize();
    }));
    f.out = Socket::CreateSocket(f.from, tid);
    f.out->Bind();
    f.out->Connect(InetSocketAddress(f.address, 5000 + i));
    Simulator::ScheduleWithContext(f.from->GetId(), Seconds(at), [i] {
        auto gone = [i](Ptr<const WifiMpdu> m) {
            if (!m->GetHeader().HasData() || m->GetHeader().GetAddr1() != flows[i].next)
                return;
            ++flows[i].left;
            Simulator::ScheduleNow(&Refill, i);
        };
        auto q = BestEffort(flows[i].device)->GetWifiMacQueue();
        for (auto source : {"Dequeue", "DropAfterDequeue"})
            q->TraceConnectWithoutContext(source, Callback<void, Ptr<const WifiMpdu>>(gone));
        Refill(i);
    });
}

void Tcp(size_t i, double at)
{
    auto& f = flows[i];
    std::string factory = "ns3::TcpSocketFactory";
    PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
    f.sink = DynamicCast<PacketSink>(sink.Install(f.to).Get(0));
    BulkSendHelper bulk(factory, InetSocketAddress(f.address, 5000 + i));
    bulk.SetAttribute("SendSize", UintegerValue(o.mss));
    bulk.Install(f.from).Start(Seconds(at));
}

// Datagrams to a port where nobody listens, so that block ack agreements stand before the flows
// begin. In ns-3 3.37 an MPDU may be sent between request and response: the receiver waits for its
// number from then on. More datagrams than a window holds push the window past the hole.
void Agree(Ptr<Node> from, Ipv4Address to, double at)
{
    auto out = Socket::CreateSocket(from, TypeId::LookupByName("ns3::UdpSocketFactory"));
    out->Bind();
    out->Connect(InetSocketAddress(to, 9));
    Simulator::ScheduleWithContext(from->GetId(), Seconds(at), [out] {
        for (uint32_t sent = 0; sent < o.agree; ++sent)
            out->Send(Create<Packet>(40));
    });
}

void Defaults()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + o.cc)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.mss));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(o.buf));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(o.buf));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(o.delack));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(o.ts));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
    RngSeedManager::SetRun(o.run);
}

void Print(const std::vector<double>& down, const std::vector<double>& up, const Counters& c)
{
    auto sum = [](const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); };
    std::vector<double> all(down);
    all.insert(all.end(), up.begin(), up.end());
    std::printf("S4 std=%s manager=%s mode=%s nss=%u width=%u gi=%u proto=%s dir=%s n=%u run=%u cc=%s disc=%s "
                "rts=%u bsta=%u pd=%d bar=%u ampdu=%u ba=%u queue=%u dur=%.1f\n",
                o.std.c_str(), o.manager.c_str(), o.mode.c_str(), o.nss, o.width, o.gi, o.proto.c_str(),
                o.dir.c_str(), o.n, o.run, o.proto == "tcp" ? o.cc.c_str() : "-", o.disc.c_str(),
                o.rts, o.bsta, (int)o.pd, o.bar, o.ampdu, o.ba, o.queue, o.dur);
    std::printf(" goodput_Mbps=%.4f down=%.4f up=%.4f jain=%.4f jain_down=%.4f jain_up=%.4f\n",
                sum(all), sum(down), sum(up), Jain(all), Jain(down), Jain(up));
    std::printf(" mpdus_per_ppdu=%.3f data_ppdus=%llu ppdus=%llu timeouts=%llu failed=%.4f "
                "retried_mpdus=%llu nacked=%llu rts=%llu bars=%llu actions=%llu "
                "refused=%llu drop_full=%llu drop_life=%llu drop_retry=%llu drop_old=%llu\n",
                double(c.dataMpdus) / std::max<uint64_t>(1, c.dataPpdus),
                (unsigned long long)c.dataPpdus, (unsigned long long)c.ppdus,
                (unsigned long long)c.timeouts,
                double(c.timeouts) / std::max<uint64_t>(1, c.rts ? c.rts : c.dataPpdus + c.bars),
                (unsigned long long)c.retried, (unsigned long long)c.mpduFails,
                (unsigned long long)c.rts, (unsigned long long)c.bars,
                (unsigned long long)c.addbas, (unsigned long long)c.refused,
                (unsigned long long)c.dropped[0], (unsigned long long)c.dropped[1],
                (unsigned long long)c.dropped[2], (unsigned long long)c.dropped[3]);
    if (o.v)
        for (auto x : {&down, &up})
        {
            for (double m : *x)
                std::printf(" %.3f", m);
            std::printf("\n");
        }
}
} // namespace

int main(int argc, char** argv)
{
    o.Parse(argc, argv);
    Defaults();
    Clock begun = Clock::Now();
    Bss b = Cell();
    for (auto* c : {&b.staDev, &b.apDev})
        for (uint32_t i = 0; i < c->GetN(); ++i)
            if (Wifi(c->Get(i))->GetStandard() == o.Standard())
                Tune(c->Get(i));
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(WITH_IPV6);
    stack.Install(b.sta);
    stack.Install(b.ap);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.0.0", "255.255.0.0");
    auto ap = addresses.Assign(b.apDev), stas = addresses.Assign(b.staDev);
    if (o.disc == "none")
    {
        NoQueueDiscs(b.staDev);
        NoQueueDiscs(b.apDev);
    }
    // ArpCache is flushed by the link-up of each association, so fill it after that
    Simulator::Schedule(Seconds(o.start - 0.3), [&] {
        NeighborCacheHelper().PopulateNeighborCache();
        if (!o.Legacy())
            for (auto* c : {&b.staDev, &b.apDev})
                for (uint32_t i = 0; i < c->GetN(); ++i)
                    Contend(c->Get(i));
        if (!o.beacons)
            Wifi(b.apDev.Get(0))->GetMac()->SetAttribute("BeaconGeneration", BooleanValue(false));
        if (Associated(b) != b.staDev.GetN())
            std::printf("WARNING associated %u of %u\n", Associated(b), b.staDev.GetN());
    });

    auto mac = [](Ptr<NetDevice> d) { return Mac48Address::ConvertFrom(d->GetAddress()); };
    auto node = b.ap.Get(0);
    for (uint32_t i = 0; o.Down() && i < o.n; ++i)
        flows.push_back({node, b.sta.Get(i), b.apDev.Get(0), mac(b.staDev.Get(i)), stas.GetAddress(i)});
    size_t downs = flows.size();
    for (uint32_t i = 0; o.Up() && i < o.n; ++i)
        flows.push_back({b.sta.Get(i), node, b.staDev.Get(i), mac(b.apDev.Get(0)), ap.GetAddress(0)});
    // one pair after the other, after ARP was filled in
    for (uint32_t i = 0; o.agree > 0 && i < o.n; ++i)
    {
        double at = o.start - 0.28 + 0.28 * i / o.n;
        Agree(b.sta.Get(i), ap.GetAddress(0), at);
        Agree(b.ap.Get(0), stas.GetAddress(i), at + 0.14 / o.n);
    }
    auto spread = CreateObject<UniformRandomVariable>();
    for (size_t i = 0; i < flows.size(); ++i)
        if (o.proto == "udp")
            Udp(i, o.start);
        else
            Tcp(i, o.start + spread->GetValue(0, 0.1));

    Clock from{};
    Counters before{};
    Simulator::Schedule(Seconds(o.start + o.warm), [&] {
        from = Clock::Now();
        before = g;
        g_modes.clear();
        for (auto& f : flows)
            f.got0 = Received(f);
    });
    Simulator::Stop(Seconds(o.start + o.warm + o.dur));
    Simulator::Run();
    Clock end = Clock::Now();
    std::vector<double> down, up;
    for (size_t i = 0; i < flows.size(); ++i)
        (i < downs ? down : up).push_back((Received(flows[i]) - flows[i].got0) * 8e-6 / o.dur);
    Counters c = g;
    auto* x = reinterpret_cast<uint64_t*>(&c);
    auto* y = reinterpret_cast<const uint64_t*>(&before);
    for (size_t i = 0; i < sizeof(Counters) / sizeof(uint64_t); ++i)
        x[i] -= y[i];
    Print(down, up, c);
    Report(" TOTAL ", begun, end);
    Report(" WINDOW", from, end);
    for (auto& [k, v] : g_modes)
        std::printf("  tx %s x%llu\n", k.c_str(), (unsigned long long)v);
    Simulator::Destroy();
}
