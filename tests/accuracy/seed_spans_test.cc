// A transformer layer as it ran inside four measured training runs, from its first kernel to its last, waits
// for the host included: forward, and backward with recomputation. FORETRAIN_SEED names the folder with
// measured_runs.json (tests/accuracy/check sets it).
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cost/profile_store.h"
#include "seed_runs.h"
#include "segment/segment.h"
#include "spec/catalog.h"
#include "workload/testing.h"
#include "workload/workload.h"

using namespace foretrain;

TEST_CASE("a layer's forward and backward spans are within 8 % of the measured runs") {
  const Catalog catalog;
  const ProfileStore store;
  const Stack neox = catalog.stack("neox").value();
  for (const Json& run : measured_runs()) {
    const Json& kernels = run.at("in_situ_kernels_middle_stage");
    const std::string id = run.at("id"), site = run.at("site");
    const Json& plan_json = run.at("plan");
    const Model model = model_of(run.at("architecture"));
    const Plan plan = plan_of(run);
    const Cluster cluster = catalog.cluster(site).value();
    const auto choice = store.costs_for(cluster, "");
    REQUIRE(choice.has_value());
    const std::int64_t seq = run.at("architecture").at("seq");
    constexpr std::int64_t kLayers = 8;
    const ChunkWork work =
        build_chunk(model, neox, shape_of(model, plan, neox, seq, true), Chunk{kLayers, false, false});
    const Network network(cluster, Mesh{.tp = plan.tp, .dp = plan_json.at("dp"), .pp = plan_json.at("pp")});
    const auto compare = [&](const std::string& which, const Pass& pass, double span, double sum) {
      const Segment segment = lay_out(pass, *choice->costs, network, cluster.host_launch, Seconds(0));
      const double predicted = segment.duration.value * 1e6 / kLayers;
      const double waits = segment.by_cause[static_cast<std::size_t>(Cause::kLaunch)].value * 1e6 / kLayers;
      MESSAGE(id, " ", which, ": predicted ", predicted, " us, measured ", span, " us, error ",
              predicted / span - 1, "; waits for the host: predicted ", waits, " us, measured ", span - sum,
              " us");
      CHECK(std::abs(predicted / span - 1) <= 0.08);
    };
    compare("forward", work.forward, kernels.at("layer_forward_span_us"),
            kernels.at("layer_forward_kernel_sum_us"));
    if (kernels.contains("layer_backward_span_us"))
      compare("backward", work.backward, kernels.at("layer_backward_span_us"),
              kernels.at("layer_backward_kernel_sum_us"));
  }
}
