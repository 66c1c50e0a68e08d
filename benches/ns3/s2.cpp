// SPDX-License-Identifier: GPL-2.0-only
// S2: N stations, saturated UDP uplink, 1500-byte IP packets.
#include "common.hpp"
static std::vector<uint64_t> g_rx; // UDP payload bytes per station
static std::vector<Ptr<Socket>> g_sock;
static uint32_t g_payload = 1472;
static void Refill(uint32_t i) { g_sock[i]->Send(Create<Packet>(g_payload)); }

int main(int argc, char** argv)
{
    uint32_t n = 10, run = 1, ip = 1500; double dur = 20, warm = 11, radius = 4;
    std::string phy = "a54"; bool pd = true, modes = false; int verbose = 0; uint32_t cwmin = 0, cwmax = 0;
    CommandLine cmd;
    cmd.AddValue("n", "", n); cmd.AddValue("phy", "", phy); cmd.AddValue("run", "", run);
    cmd.AddValue("dur", "", dur); cmd.AddValue("warm", "", warm); cmd.AddValue("radius", "", radius);
    cmd.AddValue("pd", "preamble detection model", pd); cmd.AddValue("modes", "", modes);
    cmd.AddValue("ip", "IP packet bytes", ip); cmd.AddValue("v", "", verbose);
    cmd.Parse(argc, argv);
    RngSeedManager::SetRun(run);
    g_payload = ip - 28;
    Clock c0 = Clock::Now();
    Bss b = MakeBss(n, phy, radius, 1000, 100, pd, modes);
    InternetStackHelper st; st.SetIpv6StackInstall(WITH_IPV6); st.Install(b.sta); st.Install(b.ap);
    Ipv4AddressHelper ad; ad.SetBase("10.1.0.0", "255.255.0.0");
    auto apIf = ad.Assign(b.apDev); ad.Assign(b.staDev);
    NoQueueDiscs(b.staDev); NoQueueDiscs(b.apDev);
    // ArpCache is flushed by the link-up of each association, so fill it after that
    Simulator::Schedule(Seconds(warm - 1.2), [] { NeighborCacheHelper().PopulateNeighborCache(); });
    g_rx.assign(n, 0); g_sock.resize(n);
    auto tid = TypeId::LookupByName("ns3::UdpSocketFactory");
    for (uint32_t i = 0; i < n; ++i)
    {
        auto rx = Socket::CreateSocket(b.ap.Get(0), tid);
        rx->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        rx->SetRecvCallback(Callback<void, Ptr<Socket>>([i](Ptr<Socket> s) {
            while (auto p = s->Recv()) g_rx[i] += p->GetSize();
        }));
        g_sock[i] = Socket::CreateSocket(b.sta.Get(i), tid);
        g_sock[i]->Bind();
        g_sock[i]->Connect(InetSocketAddress(apIf.GetAddress(0), 5000 + i));
        auto q = DynamicCast<WifiNetDevice>(b.staDev.Get(i))->GetMac()->GetTxop()->GetWifiMacQueue();
        auto node = b.sta.Get(i);
        // saturation: 3 packets at start, one more whenever one leaves the MAC queue
        Simulator::ScheduleWithContext(node->GetId(), Seconds(warm - 1.0), [i, q] {
            q->TraceConnectWithoutContext("Dequeue", Callback<void, Ptr<const WifiMpdu>>(
                [i](Ptr<const WifiMpdu> m) { if (m->GetHeader().IsData()) Simulator::ScheduleNow(&Refill, i); }));
            for (int k = 0; k < 3; ++k) Refill(i);
        });
    }
    Clock c1{}; std::vector<uint64_t> r0; uint64_t f0 = 0, ff0 = 0;
    Simulator::Schedule(Seconds(warm), [&] { c1 = Clock::Now(); r0 = g_rx; f0 = g_dataFail; ff0 = g_finalFail; g_modes.clear();
        if (Associated(b) != n) std::printf("WARNING associated %u of %u\n", Associated(b), n); });
    Simulator::Stop(Seconds(warm + dur));
    Simulator::Run();
    Clock c2 = Clock::Now();
    std::vector<double> g(n); double tot = 0; uint64_t pk = 0;
    for (uint32_t i = 0; i < n; ++i) { g[i] = (g_rx[i] - r0[i]) * 8e-6 / dur; tot += g[i]; pk += (g_rx[i] - r0[i]) / g_payload; }
    std::printf("S2 phy=%s n=%u run=%u pd=%d udp_payload_Mbps=%.4f ip_Mbps=%.4f jain=%.5f tx_fail=%llu drops=%llu pcoll=%.4f\n",
                phy.c_str(), n, run, (int)pd, tot, tot * ip / g_payload, Jain(g),
                (unsigned long long)(g_dataFail - f0), (unsigned long long)(g_finalFail - ff0),
                double(g_dataFail - f0) / double(g_dataFail - f0 + pk));
    if (verbose) { for (auto v : g) std::printf(" %.4f", v); std::printf("\n"); }
    Report(" TOTAL ", c0, c2);
    Report(" WINDOW", c1, c2);
    for (auto& [k, v] : g_modes) std::printf("  tx %s x%llu\n", k.c_str(), (unsigned long long)v);
    Simulator::Destroy();
}
