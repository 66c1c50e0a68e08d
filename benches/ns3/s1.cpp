// SPDX-License-Identifier: GPL-2.0-only
// S1: N greedy TCP uploads over 802.11 to a wired server, 100 Mbps / 100 ms one-way.
#include "common.hpp"
static std::vector<uint64_t> g_loss, g_recov;
static uint32_t g_closed = 0;
static int64_t g_apDrop = 0, g_staDrop = 0;

int main(int argc, char** argv)
{
    uint32_t n = 16, run = 1, delack = 2, apq = 100, staq = 1000, mss = 1460, buf = 4u << 20, dretries = 1000;
    double dur = 120, warm = 20, radius = 4, start = 5, spread = 1.0; std::string phy = "a54", cc = "TcpNewReno", owd = "100ms", rec = "TcpPrrRecovery", rate = "100Mbps";
    bool sack = true, ts = false, modes = false, pd = true; int verbose = 0;
    CommandLine cmd;
    cmd.AddValue("n", "", n); cmd.AddValue("phy", "", phy); cmd.AddValue("run", "", run);
    cmd.AddValue("dur", "", dur); cmd.AddValue("warm", "", warm); cmd.AddValue("radius", "", radius);
    cmd.AddValue("cc", "", cc); cmd.AddValue("delack", "", delack); cmd.AddValue("apq", "", apq);
    cmd.AddValue("staq", "", staq); cmd.AddValue("sack", "", sack); cmd.AddValue("ts", "", ts);
    cmd.AddValue("mss", "", mss); cmd.AddValue("buf", "", buf); cmd.AddValue("owd", "", owd); cmd.AddValue("rate", "", rate);
    cmd.AddValue("dretries", "TcpSocket::DataRetries (ns-3 default 6: the socket is then closed)", dretries);
    cmd.AddValue("rec", "", rec); cmd.AddValue("modes", "", modes); cmd.AddValue("pd", "", pd);
    cmd.AddValue("spread", "start spread s", spread); cmd.AddValue("v", "", verbose);
    cmd.Parse(argc, argv);
    RngSeedManager::SetRun(run);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + cc)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::" + rec)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buf));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buf));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delack));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(ts));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(dretries));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(std::max(6u, dretries)));
    Clock c0 = Clock::Now();
    Bss b = MakeBss(n, phy, radius, staq, apq, pd, modes);
    NodeContainer srv; srv.Create(1);
    PointToPointHelper p2p; p2p.SetDeviceAttribute("DataRate", StringValue(rate));
    p2p.SetChannelAttribute("Delay", StringValue(owd));
    p2p.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000p"));
    p2p.DisableFlowControl();
    auto wd = p2p.Install(NodeContainer(b.ap.Get(0), srv.Get(0)));
    InternetStackHelper st; st.SetIpv6StackInstall(WITH_IPV6); st.Install(b.sta); st.Install(b.ap); st.Install(srv);
    Ipv4AddressHelper ad; ad.SetBase("10.1.0.0", "255.255.0.0");
    ad.Assign(b.apDev); ad.Assign(b.staDev);
    ad.SetBase("10.2.0.0", "255.255.255.0"); auto wi = ad.Assign(wd);
    NoQueueDiscs(b.staDev); NoQueueDiscs(b.apDev); NoQueueDiscs(wd);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    // ArpCache is flushed by the link-up of each association, so fill it after that
    Simulator::Schedule(Seconds(start - 0.2), [] { NeighborCacheHelper().PopulateNeighborCache(); });

    Ptr<UniformRandomVariable> u = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks; g_loss.assign(n, 0); g_recov.assign(n, 0);
    for (uint32_t i = 0; i < n; ++i)
    {
        PacketSinkHelper ps("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        sinks.Add(ps.Install(srv.Get(0)));
        BulkSendHelper bs("ns3::TcpSocketFactory", InetSocketAddress(wi.GetAddress(1), 5000 + i));
        bs.SetAttribute("SendSize", UintegerValue(mss));
        auto a = bs.Install(b.sta.Get(i));
        double t = start + u->GetValue(0, spread);
        a.Start(Seconds(t));
        auto app = DynamicCast<BulkSendApplication>(a.Get(0));
        Simulator::Schedule(Seconds(t + 1e-6), [app, i] {
            app->GetSocket()->TraceConnectWithoutContext("State",
                Callback<void, TcpSocket::TcpStates_t, TcpSocket::TcpStates_t>(
                    [](TcpSocket::TcpStates_t, TcpSocket::TcpStates_t nw) { if (nw == TcpSocket::CLOSED) ++g_closed; }));
            app->GetSocket()->TraceConnectWithoutContext("CongState",
                Callback<void, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t>(
                    [i](TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t nw) {
                        if (nw == TcpSocketState::CA_LOSS) g_loss[i]++;
                        if (nw == TcpSocketState::CA_RECOVERY) g_recov[i]++; }));
        });
    }
    for (uint32_t i = 0; i <= n; ++i)
    {
        bool isAp = i == n;
        auto d = DynamicCast<WifiNetDevice>(isAp ? b.apDev.Get(0) : b.staDev.Get(i));
        // 3.44 does not fire a drop trace on tail drop, so count offered (MacTx) minus enqueued data
        d->GetMac()->TraceConnectWithoutContext("MacTx",
            Callback<void, Ptr<const Packet>>([isAp](Ptr<const Packet>) { ++(isAp ? g_apDrop : g_staDrop); }));
        d->GetMac()->GetTxop()->GetWifiMacQueue()->TraceConnectWithoutContext("Enqueue",
            Callback<void, Ptr<const WifiMpdu>>([isAp](Ptr<const WifiMpdu> m) { if (m->GetHeader().IsData()) --(isAp ? g_apDrop : g_staDrop); }));
    }
    auto snap = [&] { std::vector<uint64_t> r; for (uint32_t i = 0; i < n; ++i) r.push_back(DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx()); return r; };
    std::vector<uint64_t> r0(n, 0), rl(n, 0);
    double end = start + dur;
    Simulator::Schedule(Seconds(start), [&] { if (Associated(b) != n) std::printf("WARNING associated %u of %u\n", Associated(b), n); });
    Simulator::Schedule(Seconds(start + warm), [&] { r0 = snap(); });
    Simulator::Schedule(Seconds(std::max(0.0, end - 30)), [&] { rl = snap(); });
    Simulator::Stop(Seconds(end));
    Simulator::Run();
    Clock c2 = Clock::Now();
    auto r1 = snap();
    std::vector<double> gf(n), gs(n); double tf = 0, ts_ = 0; uint32_t silent = 0, rto = 0, rec_ = 0;
    for (uint32_t i = 0; i < n; ++i) {
        gf[i] = r1[i] * 8e-6 / dur; gs[i] = (r1[i] - r0[i]) * 8e-6 / (dur - warm); tf += gf[i]; ts_ += gs[i];
        silent += r1[i] == rl[i]; rto += g_loss[i]; rec_ += g_recov[i]; }
    auto starved = [&](const std::vector<double>& g, double t) { uint32_t k = 0; for (double v : g) k += v < 0.1 * t / n; return k; };
    auto mx = std::minmax_element(gs.begin(), gs.end());
    std::printf("S1 phy=%s n=%u cc=%s delack=%u sack=%d ts=%d rec=%s apq=%u dretries=%u run=%u pd=%d dur=%.0f\n", phy.c_str(), n, cc.c_str(), delack, (int)sack, (int)ts, rec.c_str(), apq, dretries, run, (int)pd, dur);
    std::printf(" FULL(0-%.0fs) total_Mbps=%.3f jain=%.4f starved(<10%%fair)=%u\n", dur, tf, Jain(gf), starved(gf, tf));
    std::printf(" STEADY(%.0f-%.0fs) total_Mbps=%.3f jain=%.4f starved(<10%%fair)=%u silent_last30s=%u min=%.4f max=%.4f\n", warm, dur, ts_, Jain(gs), starved(gs, ts_), silent, *mx.first, *mx.second);
    std::printf(" closed_sockets=%u ap_queue_drops=%lld sta_queue_drops=%lld rto_episodes=%u fast_recoveries=%u mac_fail=%llu mac_final=%llu\n",
        g_closed, (long long)g_apDrop, (long long)g_staDrop, rto, rec_, (unsigned long long)g_dataFail, (unsigned long long)g_finalFail);
    auto so = gs; std::sort(so.begin(), so.end());
    std::printf(" per-flow steady Mbps (sorted):"); for (double v : so) std::printf(" %.3f", v); std::printf("\n");
    if (verbose) for (uint32_t i = 0; i < n; ++i) std::printf("  flow %u full=%.4f steady=%.4f rto=%llu rec=%llu\n", i, gf[i], gs[i], (unsigned long long)g_loss[i], (unsigned long long)g_recov[i]);
    Report(" TOTAL ", c0, c2);
    for (auto& [k, v] : g_modes) std::printf("  tx %s x%llu\n", k.c_str(), (unsigned long long)v);
    Simulator::Destroy();
}
