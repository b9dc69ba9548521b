// The collectives of four measured training runs, one by one, against the fitted clusters: what a tensor
// all-reduce, the gradients' all-reduce, the gather of updated weights and a message between stages took.
//
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "network/network.h"
#include "seed_runs.h"
#include "spec/catalog.h"
#include "workload/collective.h"

using namespace foretrain;

namespace {

constexpr double kHalf = 2;  // bytes of fp16

// Weights that one rank of a stage holds, as NeoX lays them out: the block's matrices split over tp.
double stage_elements(const Json& a, double layers, double tp, bool first, bool last) {
  const double h = a.at("hidden"), ffn = a.at("ffn"), vocab = a.at("vocab");
  const double padded = std::ceil(vocab / (128 * tp)) * 128 * tp;
  const double block = (4 * h * h + 2 * h * ffn) / tp + (3 * h + ffn) / tp + 6 * h;
  return layers * block + (first || last ? padded * h / tp : 0);
}

struct Component {
  std::string name;
  double predicted_ms;
  double measured_ms;
};

std::vector<Component> components_of(const Json& run, const Cluster& cluster) {
  const Json& a = run.at("architecture");
  const Json& plan = run.at("plan");
  const Json& measured = run.at("components_ms_fastest_step");
  const Mesh mesh{.tp = plan.at("tp"), .dp = plan.at("dp"), .pp = plan.at("pp")};
  const Network network(cluster, mesh);
  const auto ms = [&](CollectiveKind kind, GroupKind group, double bytes, bool in_place = false) {
    return network.cost({kind, group, Bytes(bytes), in_place}).seconds.value * 1e3;
  };
  const double seq = a.at("seq"), tp = plan.at("tp");
  const double activation = plan.at("micro_batch").get<double>() * seq * a.at("hidden").get<double>() * kHalf;
  std::vector<Component> components;
  components.push_back({"tensor all-reduce", ms(CollectiveKind::kAllReduce, GroupKind::kTensor, activation),
                        measured.at("tp_allreduce_one")});
  // A boundary in the middle, where the message crosses nodes in all four runs.
  const auto send = [&](double bytes) { return network.send(1, Bytes(bytes)).seconds.value * 1e3; };
  components.push_back(
      {"message with mask", send(activation / tp) + send(seq * seq * kHalf), measured.at("pp_send_one")});
  // Partitioned activations are gathered again in the backward, out of place.
  const Json& kernels = run.at("in_situ_kernels_middle_stage");
  if (kernels.contains("activation_gather_in_backward_us"))
    components.push_back({"activation gather", ms(CollectiveKind::kAllGather, GroupKind::kTensor, activation),
                          kernels.at("activation_gather_in_backward_us").get<double>() * 1e-3});
  const Json& layers = plan.at("layers_per_stage");
  const std::size_t stages = layers.size();
  const double bucket = plan.at("dp_bucket_elements");
  for (const auto& [stage, name] :
       {std::pair<std::size_t, const char*>{0, "head"}, {1, "middle"}, {stages - 1, "tail"}}) {
    const double elements = stage_elements(a, layers[stage], tp, stage == 0, stage + 1 == stages);
    double reduce = 0;
    for (double left = elements; left > 0; left -= bucket)
      reduce += ms(CollectiveKind::kAllReduce, GroupKind::kData, std::min(left, bucket) * kHalf);
    const std::size_t at = stage == 0 ? 0 : stage + 1 == stages ? 2 : 1;
    components.push_back({std::string("gradient all-reduce, ") + name, reduce,
                          measured.at("dp_allreduce_head_middle_tail")[at]});
    components.push_back({std::string("parameter gather, ") + name,
                          ms(CollectiveKind::kAllGather, GroupKind::kData, elements * kHalf, true),
                          measured.at("dp_allgather_head_middle_tail")[at]});
  }
  return components;
}

}  // namespace

// What cannot be compared, and why. A kernel's time contains the wait for the last rank to arrive, since
// nothing made the ranks meet before.
//   Gradient all-reduce of all runs but GPT-20B on Perlmutter, where it takes seconds. In both Vista runs the
//   tail stage, which has the fewest weights, takes longest, while the gathers of the same weights that
//   follow keep their proportion: the rest is waiting. On Perlmutter the LLaMA-7B head and middle stage have
//   equal weights and differ by 15 %. GPT-20B's message on Vista: 24 GB/s, where samples of two nodes and the
//   LLaMA-7B run have 34 to 38. Its stages are 32 nodes apart and all 32 send at once, LLaMA-7B's 4: the
//   spine, or waiting. Not known which.
bool is_comparable(const std::string& id, const std::string& component) {
  if (component.starts_with("gradient all-reduce")) return id == "gpt20b-4-4-8-P";
  if (component == "message with mask") return id != "gpt20b-4-4-8-V";
  return true;
}

TEST_CASE("each collective of the measured runs is within 10 %, gathers in a node within 12 %") {
  const Catalog catalog;
  for (const Json& run : measured_runs()) {
    const std::string id = run.at("id");
    const Cluster cluster = catalog.cluster(run.at("site").get<std::string>()).value();
    for (const Component& component : components_of(run, cluster)) {
      const double error = component.predicted_ms / component.measured_ms - 1;
      const bool comparable = is_comparable(id, component.name);
      MESSAGE(id, " ", component.name, ": predicted ", component.predicted_ms, " ms, measured ",
              component.measured_ms, " ms, error ", error,
              std::string(comparable ? "" : " (not comparable)"));
      // A wait only adds.
      if (!comparable)
        CHECK(error <= 0.10);
      else
        CHECK(std::abs(error) <= (id == "llemma7b-4-2-2-P" ? 0.12 : 0.10));
    }
  }
}

TEST_CASE(
    "gradient all-reduces of the Vista runs are waits: the stage with the fewest weights takes longest") {
  for (const Json& run : measured_runs()) {
    if (run.at("site") != "vista") continue;
    const Json& measured = run.at("components_ms_fastest_step");
    const Json& reduce = measured.at("dp_allreduce_head_middle_tail");
    const Json& gather = measured.at("dp_allgather_head_middle_tail");
    CHECK(reduce[2].get<double>() > 1.5 * reduce[1].get<double>());
    CHECK(gather[2].get<double>() < 0.85 * gather[1].get<double>());
  }
}
