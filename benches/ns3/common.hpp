// SPDX-License-Identifier: GPL-2.0-only
// Shared scaffolding of the ns-3 peer programs (ns-3 3.44 / 3.37).
#pragma once
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"
#include "ns3/neighbor-cache-helper.h"
#include <sys/resource.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <vector>
#include <algorithm>

#ifdef NS337
constexpr bool WITH_IPV6 = true; // 3.37 NeighborCacheHelper dereferences null without IPv6
#else
constexpr bool WITH_IPV6 = false;
#endif
using namespace ns3;

struct Clock // wall / user CPU / events / simulated seconds
{
    double wall, user, sys, sim;
    uint64_t ev;
    static Clock Now()
    {
        rusage r;
        getrusage(RUSAGE_SELF, &r);
        auto s = [](timeval t) { return t.tv_sec + t.tv_usec * 1e-6; };
        return {std::chrono::duration<double>(
                    std::chrono::steady_clock::now().time_since_epoch()).count(),
                s(r.ru_utime), s(r.ru_stime), Simulator::Now().GetSeconds(),
                Simulator::GetEventCount()};
    }
};
inline void Report(const char* tag, Clock a, Clock b)
{
    rusage r;
    getrusage(RUSAGE_SELF, &r);
    double sim = b.sim - a.sim;
    std::printf("%s wall_s=%.3f user_s=%.3f sys_s=%.3f sim_s=%.3f events=%llu "
                "wall_per_sim_s=%.5f events_per_wall_s=%.3e peak_rss_MB=%.1f\n",
                tag, b.wall - a.wall, b.user - a.user, b.sys - a.sys, sim,
                (unsigned long long)(b.ev - a.ev), (b.wall - a.wall) / sim,
                (b.ev - a.ev) / (b.wall - a.wall), r.ru_maxrss / 1024.0);
}
inline double Jain(const std::vector<double>& x)
{
    double s = 0, q = 0;
    for (double v : x) { s += v; q += v * v; }
    return q > 0 ? s * s / (x.size() * q) : 0;
}

// PHY choice: "a54","a6".., "b11","b5.5","b2","b1"
struct PhyChoice { WifiStandard std; std::string data, ctl, bcast; };
inline PhyChoice Choose(const std::string& p)
{
    if (p[0] == 'a')
    {
        std::string r = p.substr(1);
        return {WIFI_STANDARD_80211a, "OfdmRate" + r + "Mbps",
                (r == "6" || r == "9") ? "OfdmRate6Mbps"
                : (r == "12" || r == "18") ? "OfdmRate12Mbps" : "OfdmRate24Mbps",
                "OfdmRate6Mbps"};
    }
    std::string r = p.substr(1);
    std::string name = (r == "5.5") ? "DsssRate5_5Mbps" : "DsssRate" + r + "Mbps";
    return {WIFI_STANDARD_80211b, name, r == "1" ? "DsssRate1Mbps" : "DsssRate2Mbps",
            "DsssRate1Mbps"};
}

inline std::map<std::string, uint64_t> g_modes;
inline void OnTx(WifiConstPsduMap psdus, WifiTxVector v, double)
{
    for (auto& [id, psdu] : psdus)
    {
        const auto& h = psdu->GetHeader(0);
        std::ostringstream o;
        o << h.GetTypeString() << " " << v.GetMode() << " pre=" << v.GetPreambleType()
          << " psdu=" << psdu->GetSize();
        g_modes[o.str()]++;
    }
}

// counters on MAC
inline uint64_t g_dataFail = 0, g_finalFail = 0;

struct Bss
{
    NodeContainer sta, ap;
    NetDeviceContainer staDev, apDev;
};
inline Bss MakeBss(uint32_t n, const std::string& phyName, double radius, uint32_t staQ,
                   uint32_t apQ, bool preambleDetect, bool traceModes)
{
    Bss b;
    b.sta.Create(n);
    b.ap.Create(1);
    PhyChoice pc = Choose(phyName);

    YansWifiChannelHelper ch; // no fading, log-distance loss, ~-49 dBm at 4 m
    ch.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    ch.AddPropagationLoss("ns3::LogDistancePropagationLossModel"); // 46.7 + 30 log10 d dB
    YansWifiPhyHelper phy;
    phy.SetChannel(ch.Create());
    if (!preambleDetect)
        phy.DisablePreambleDetectionModel();

    WifiHelper wifi;
    wifi.DisableFlowControl(); // drops happen in WifiMacQueue, never in traffic control
    wifi.SetStandard(pc.std);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue(pc.data),
                                 "ControlMode", StringValue(pc.ctl),
                                 "NonUnicastMode", StringValue(pc.bcast));
    Ssid ssid("bss");
    WifiMacHelper mac;
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "QosSupported", BooleanValue(false),
                "ActiveProbing", BooleanValue(false), "MaxMissedBeacons", UintegerValue(1000000));
    b.staDev = wifi.Install(phy, mac, b.sta);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "QosSupported", BooleanValue(false));
    b.apDev = wifi.Install(phy, mac, b.ap);

    auto setq = [](NetDeviceContainer& c, uint32_t q) {
        for (uint32_t i = 0; i < c.GetN(); ++i)
        {
            auto m = DynamicCast<WifiNetDevice>(c.Get(i))->GetMac();
            auto wq = m->GetTxop()->GetWifiMacQueue();
            wq->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, q));
            wq->SetMaxDelay(Seconds(100000));
        }
    };
    setq(b.staDev, staQ);
    setq(b.apDev, apQ);

    Ptr<ListPositionAllocator> pos = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < n; ++i)
        pos->Add(Vector(radius * std::cos(2 * M_PI * i / n), radius * std::sin(2 * M_PI * i / n), 0));
    pos->Add(Vector(0, 0, 0));
    MobilityHelper mob;
    mob.SetPositionAllocator(pos);
    mob.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mob.Install(b.sta);
    mob.Install(b.ap);

    if (traceModes)
        for (auto* c : {&b.staDev, &b.apDev})
            for (uint32_t i = 0; i < c->GetN(); ++i)
                DynamicCast<WifiNetDevice>(c->Get(i))->GetPhy()->TraceConnectWithoutContext(
                    "PhyTxPsduBegin", MakeCallback(&OnTx));
    for (uint32_t i = 0; i < n; ++i)
    {
        auto rsm = DynamicCast<WifiNetDevice>(b.staDev.Get(i))->GetRemoteStationManager();
        rsm->TraceConnectWithoutContext("MacTxDataFailed",
                                        Callback<void, Mac48Address>([](Mac48Address) { ++g_dataFail; }));
        rsm->TraceConnectWithoutContext("MacTxFinalDataFailed",
                                        Callback<void, Mac48Address>([](Mac48Address) { ++g_finalFail; }));
    }
    return b;
}
inline uint32_t Associated(const Bss& b)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < b.staDev.GetN(); ++i)
        k += DynamicCast<StaWifiMac>(DynamicCast<WifiNetDevice>(b.staDev.Get(i))->GetMac())->IsAssociated();
    return k;
}
inline void NoQueueDiscs(NetDeviceContainer c)
{
    TrafficControlHelper t;
    for (uint32_t i = 0; i < c.GetN(); ++i)
        if (auto tc = c.Get(i)->GetNode()->GetObject<TrafficControlLayer>();
            tc && tc->GetRootQueueDiscOnDevice(c.Get(i)))
            t.Uninstall(c.Get(i));
}
