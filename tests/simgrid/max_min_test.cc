// Random small networks, shared by our solver and by SimGrid's fluid model (CM02: max-min without TCP's
// corrections). SimGrid has one engine a process, so all networks are islands of one platform: each flow has
// two hosts and a route of its own, all start at once, and what they have sent after a second is their rate.
#include "network/max_min.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace foretrain {
namespace {

namespace sg = simgrid::s4u;

constexpr int kNetworks = 96;
constexpr double kRate = 1e6;           // bytes a second, of a capacity of 1
constexpr std::uint64_t kBytes = 1e10;  // of a flow: more than it sends in a second

struct Island {
  std::vector<double> capacities;
  std::vector<FlowClass> classes;
  std::vector<int> flows;  // of each class
};

Island random_island(std::mt19937& random) {
  const auto below = [&](unsigned n) { return random() % n; };  // the same everywhere, unlike distributions
  Island island;
  for (unsigned links = 1 + below(kMaxSharedLinks); links > 0; --links)
    island.capacities.push_back(1 + below(1000) / 7.0);
  for (unsigned classes = 1 + below(8); classes > 0; --classes) {
    const int flows = static_cast<int>(1 + below(6));
    // A third is bounded by the sender, the others by links alone.
    FlowClass flow{below(3) == 0 ? 0.5 + below(100) / 9.0 : 1e6, {}};
    for (std::size_t l = 0; l < island.capacities.size(); ++l) flow.uses[l] = below(2) * flows;
    flow.uses[below(static_cast<unsigned>(island.capacities.size()))] = flows;
    island.classes.push_back(flow);
    island.flows.push_back(flows);
  }
  return island;
}

sg::Link* shared_link(sg::NetZone* zone, const std::string& name, double capacity) {
  sg::Link* link = zone->create_link(name, capacity * kRate);
  return link->set_latency(0)->set_sharing_policy(sg::Link::SharingPolicy::SHARED)->seal();
}

// One flow's message. Its route: the links that its class uses, and one of its own as wide as its limit.
sg::CommPtr start(sg::NetZone* zone, const std::string& name, const FlowClass& flow,
                  const std::vector<sg::Link*>& links) {
  sg::Host* from = zone->create_host(name + ".from", 1e9);
  sg::Host* to = zone->create_host(name + ".to", 1e9);
  std::vector<sg::LinkInRoute> route;
  for (std::size_t l = 0; l < links.size(); ++l)
    if (flow.uses[l] > 0) route.emplace_back(links[l]);
  route.emplace_back(shared_link(zone, name + ".own", flow.limit));
  zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
  sg::CommPtr comm = sg::Comm::sendto_init(from, to);
  comm->set_payload_size(kBytes);
  return comm;
}

TEST_CASE("max-min equals SimGrid's fluid model to six digits") {
  int argc = 1;
  char program[] = "simgrid_test";
  char* argv[] = {program, nullptr};
  sg::Engine engine(&argc, argv);
  engine.set_config("network/model:CM02");
  engine.set_config("network/crosstraffic:0");
  engine.set_config("network/TCP-gamma:0");
  engine.set_config("network/optim:Full");

  std::mt19937 random(1);
  std::vector<Island> islands;
  std::vector<std::vector<sg::CommPtr>> messages;  // by island, class after class
  sg::NetZone* zone = sg::create_full_zone("fabric");
  for (int n = 0; n < kNetworks; ++n) {
    const Island& island = islands.emplace_back(random_island(random));
    const std::string name = "island" + std::to_string(n);
    std::vector<sg::Link*> links;
    for (const double capacity : island.capacities)
      links.push_back(shared_link(zone, name + ".link" + std::to_string(links.size()), capacity));
    auto& comms = messages.emplace_back();
    for (std::size_t c = 0; c < island.classes.size(); ++c)
      for (int f = 0; f < island.flows[c]; ++f)
        comms.push_back(start(zone, name + ".flow" + std::to_string(comms.size()), island.classes[c], links));
  }
  sg::Host* clock = zone->create_host("clock", 1e9);
  zone->seal();

  double worst = 0;
  int compared = 0;
  sg::Actor::create("clock", clock, [&] {
    for (const auto& comms : messages)
      for (const sg::CommPtr& comm : comms) comm->start();
    sg::this_actor::sleep_for(1);
    for (std::size_t n = 0; n < islands.size(); ++n) {
      const Island& island = islands[n];
      std::vector<double> rates(island.classes.size());
      max_min(island.capacities, island.classes, rates);
      for (std::size_t c = 0, flow = 0; c < rates.size(); ++c)
        for (int f = 0; f < island.flows[c]; ++f, ++flow, ++compared) {
          const double sent = (static_cast<double>(kBytes) - messages[n][flow]->get_remaining()) / kRate;
          worst = std::max(worst, std::abs(rates[c] / sent - 1));
        }
    }
    for (const auto& comms : messages)
      for (const sg::CommPtr& comm : comms) comm->cancel();
  });
  engine.run();

  std::printf("%d flows in %d networks, worst difference %.2g\n", compared, kNetworks, worst);
  CHECK(compared > kNetworks);
  CHECK(worst < 1e-6);
}

}  // namespace
}  // namespace foretrain
