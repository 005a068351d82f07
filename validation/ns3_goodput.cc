// One cell of the grid of cross_validation.py in ns-3:
//   ns3_goodput CONGESTION RTT_MS BOTTLENECK_MBPS SECONDS DROPLIST
// DROPLIST is a file with the numbers, from 0 and rising, of the data packets (1000 bytes of IPv4 and more) to be lost; a
// bottleneck of 0 is none. The losses fall before the bottleneck's queue, which holds a bandwidth-delay product. Prints
// one line of CSV: goodput in Mbit/s over the whole time and after 5 s, retransmissions, packets lost, packets dropped by
// the queue.

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/error-model.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/tcp-header.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

const uint32_t PAYLOAD = 1448;
const uint32_t HEADERS = 52; // IPv4, TCP, timestamps
const uint32_t PPP_HEADER = 2;
const double WARM = 5.0;

/// Loses the data packets whose numbers it was given.
class DropList : public ErrorModel
{
  public:
    explicit DropList(const char* path)
    {
        std::ifstream file(path);
        for (uint64_t number; file >> number;)
        {
            m_numbers.insert(number);
        }
    }

    uint64_t Lost() const
    {
        return m_lost;
    }

  private:
    bool DoCorrupt(Ptr<Packet> packet) override
    {
        if (packet->GetSize() < 1000 + PPP_HEADER)
        {
            return false;
        }
        bool lose = m_numbers.count(m_data++) > 0;
        m_lost += lose;
        return lose;
    }

    void DoReset() override
    {
        m_data = 0;
    }

    std::set<uint64_t> m_numbers;
    uint64_t m_data = 0;
    uint64_t m_lost = 0;
};

uint64_t g_retransmitted = 0;
uint64_t g_dropped = 0;
uint64_t g_received = 0;
uint64_t g_at_warm = 0;
SequenceNumber32 g_highest(0);

/// A data segment that begins below the highest byte sent so far is a retransmission.
void
Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    if (header.GetSequenceNumber() < g_highest)
    {
        g_retransmitted++;
    }
    g_highest = std::max(g_highest, header.GetSequenceNumber() + packet->GetSize());
}

void
WatchSender(Ptr<Application> application)
{
    Ptr<Socket> socket = DynamicCast<BulkSendApplication>(application)->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&Sent));
}

void
Received(Ptr<const Packet> packet, const Address&)
{
    g_received += packet->GetSize();
}

void
Dropped(Ptr<const Packet>)
{
    g_dropped++;
}

TypeId
Controller(const std::string& name)
{
    const std::map<std::string, std::string> types = {
        {"reno", "ns3::TcpLinuxReno"},
        {"cubic", "ns3::TcpCubic"},
        {"bbr", "ns3::TcpBbr"},
    };
    return TypeId::LookupByName(types.at(name));
}

/// What the kernel has by default, where ns-3 has a setting for it.
void
Configure(const std::string& congestion)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(Controller(congestion)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName("ns3::TcpPrrRecovery")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
}

NetDeviceContainer
Connect(Ptr<Node> from, Ptr<Node> to, const std::string& rate, double delay_ms, uint64_t queue)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay_ms * 1e-3)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queue) + "p"));
    return link.Install(from, to);
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 6)
    {
        std::fprintf(stderr, "ns3_goodput CONGESTION RTT_MS BOTTLENECK_MBPS SECONDS DROPLIST\n");
        return 2;
    }
    const double rtt_ms = std::stod(argv[2]);
    const double bottleneck = std::stod(argv[3]);
    const double seconds = std::stod(argv[4]);
    Configure(argv[1]);

    NodeContainer nodes(3);
    Ptr<Node> sender = nodes.Get(0);
    Ptr<Node> router = nodes.Get(1);
    Ptr<Node> receiver = nodes.Get(2);
    const uint64_t unbounded = 1000000;
    const auto bdp = static_cast<uint64_t>(bottleneck * 1e6 * rtt_ms * 1e-3 / 8 / (PAYLOAD + HEADERS));
    const std::string rate = bottleneck > 0 ? std::to_string(bottleneck) + "Mbps" : "10Gbps";
    NetDeviceContainer access = Connect(sender, router, "10Gbps", 0, unbounded);
    // The packet in service stands in no queue, here as in our model.
    NetDeviceContainer path = Connect(router, receiver, rate, rtt_ms / 2, bottleneck > 0 ? bdp : unbounded);

    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    addresses.Assign(access);
    addresses.NewNetwork();
    Ipv4InterfaceContainer far = addresses.Assign(path);
    // Assigning addresses installs FQ-CoDel; the drop-tail queue of the device is the one that we mean.
    TrafficControlHelper().Uninstall(access);
    TrafficControlHelper().Uninstall(path);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<DropList> losses = Create<DropList>(argv[5]);
    access.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
    // Without a queue discipline, what comes while the device's queue is full is dropped above the device.
    router->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&Dropped));

    const InetSocketAddress address(far.GetAddress(1), 5000);
    BulkSendHelper source("ns3::TcpSocketFactory", address);
    source.SetAttribute("SendSize", UintegerValue(PAYLOAD));
    ApplicationContainer sources = source.Install(sender);
    ApplicationContainer sinks = PacketSinkHelper("ns3::TcpSocketFactory", address).Install(receiver);
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Received));
    sources.Start(Seconds(0));
    Simulator::Schedule(NanoSeconds(1), &WatchSender, sources.Get(0));
    Simulator::Schedule(Seconds(WARM), +[]() { g_at_warm = g_received; });

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::printf("%.4f,%.4f,%llu,%llu,%llu\n",
                g_received * 8e-6 / seconds,
                (g_received - g_at_warm) * 8e-6 / (seconds - WARM),
                static_cast<unsigned long long>(g_retransmitted),
                static_cast<unsigned long long>(losses->Lost()),
                static_cast<unsigned long long>(g_dropped));
    Simulator::Destroy();
    return 0;
}
