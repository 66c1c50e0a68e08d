// SPDX-License-Identifier: GPL-2.0-only
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/internet-module.h"
#include "ns3/applications-module.h"
#include "ns3/mobility-module.h"
#include "ns3/wifi-module.h"
#include <chrono>
#include <iostream>
using namespace ns3;
int main(int c,char**v){
 uint32_t n=4; std::string std_="ax", proto="tcp", phy="yans"; double t=10; double rate=1000; std::string mgr="const";
 CommandLine cmd; cmd.AddValue("n","",n); cmd.AddValue("std","",std_);cmd.AddValue("proto","",proto);cmd.AddValue("t","",t);cmd.AddValue("rate","",rate);cmd.AddValue("phy","",phy); cmd.Parse(c,v);
 Config::SetDefault("ns3::TcpL4Protocol::SocketType",StringValue("ns3::TcpCubic"));
 Config::SetDefault("ns3::TcpSocket::SegmentSize",UintegerValue(1448));
 Config::SetDefault("ns3::TcpSocket::SndBufSize",UintegerValue(4000000));
 Config::SetDefault("ns3::TcpSocket::RcvBufSize",UintegerValue(4000000));
 NodeContainer sta; sta.Create(n); NodeContainer ap; ap.Create(1);
 WifiHelper wifi; std::string mode;
 if(std_=="g"){wifi.SetStandard(WIFI_STANDARD_80211g); mode="ErpOfdmRate54Mbps";}
 else if(std_=="n"){wifi.SetStandard(WIFI_STANDARD_80211n); mode="HtMcs7";}
 else {wifi.SetStandard(WIFI_STANDARD_80211ax); mode="HeMcs9";}
 wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager","DataMode",StringValue(mode),"ControlMode",StringValue(std_=="g"?"ErpOfdmRate24Mbps":"OfdmRate24Mbps"));
 if(std_=="n") wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager","DataMode",StringValue(mode),"ControlMode",StringValue("HtMcs0"));
 if(std_=="ax") wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager","DataMode",StringValue(mode),"ControlMode",StringValue("OfdmRate24Mbps"));
 YansWifiChannelHelper ch=YansWifiChannelHelper::Default(); YansWifiPhyHelper yp; yp.SetChannel(ch.Create());
 if(std_=="ax") yp.Set("ChannelSettings",StringValue("{0, 80, BAND_5GHZ, 0}"));
 if(std_=="n") yp.Set("ChannelSettings",StringValue("{0, 20, BAND_5GHZ, 0}"));
 WifiMacHelper mac; Ssid ssid("b");
 mac.SetType("ns3::StaWifiMac","Ssid",SsidValue(ssid)); NetDeviceContainer sd=wifi.Install(yp,mac,sta);
 mac.SetType("ns3::ApWifiMac","Ssid",SsidValue(ssid)); NetDeviceContainer ad=wifi.Install(yp,mac,ap);
 MobilityHelper m; Ptr<ListPositionAllocator> p=CreateObject<ListPositionAllocator>(); for(uint32_t i=0;i<=n;i++) p->Add(Vector(i%5,i/5,0)); m.SetPositionAllocator(p); m.Install(sta); m.Install(ap);
 InternetStackHelper is; is.Install(sta); is.Install(ap); Ipv4AddressHelper a; a.SetBase("10.0.0.0","255.255.255.0"); Ipv4InterfaceContainer si=a.Assign(sd), ai=a.Assign(ad);
 ApplicationContainer sinks;
 for(uint32_t i=0;i<n;i++){
  std::string f= proto=="tcp"?"ns3::TcpSocketFactory":"ns3::UdpSocketFactory";
  PacketSinkHelper s(f,InetSocketAddress(Ipv4Address::GetAny(),5000)); sinks.Add(s.Install(sta.Get(i)));
  if(proto=="tcp"){BulkSendHelper b(f,InetSocketAddress(si.GetAddress(i),5000)); auto x=b.Install(ap.Get(0)); x.Start(Seconds(1));}
  else {OnOffHelper o(f,InetSocketAddress(si.GetAddress(i),5000)); o.SetConstantRate(DataRate(uint64_t(rate*1e6/n)),1472); auto x=o.Install(ap.Get(0)); x.Start(Seconds(1));}
 }
 Simulator::Stop(Seconds(t+1)); auto t0=std::chrono::steady_clock::now(); Simulator::Run();
 double w=std::chrono::duration<double>(std::chrono::steady_clock::now()-t0).count(); uint64_t rx=0; for(uint32_t i=0;i<n;i++) rx+=DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
 std::cout<<std_<<" "<<proto<<" n="<<n<<" sim="<<t<<"s goodput="<<rx*8/t/1e6<<"Mbit/s wall="<<w<<"s ratio="<<t/w<<"x events="<<Simulator::GetEventCount()<<" ev/s="<<Simulator::GetEventCount()/w<<" pkts/s="<<rx/1448./w<<std::endl; Simulator::Destroy();
}
