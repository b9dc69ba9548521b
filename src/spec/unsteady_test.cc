#include "spec/unsteady.h"

#include <doctest/doctest.h>

#include "base/yaml.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

Result<std::optional<Unsteady>> state_of(const std::string& text) {
  return unsteady_of(parse_yaml(text, "c.yaml").value());
}

TEST_CASE("a cluster's file states which of its runs were broken") {
  const auto state = state_of("name: c\nunsteady: {gpus: [256, 512], slot_s: 0.5, times: 4, of_peak: 0.4}\n");
  REQUIRE(state.has_value());
  REQUIRE(state->has_value());
  CHECK((*state)->gpus == std::vector<std::int64_t>{256, 512});
  CHECK((*state)->slot == Seconds(0.5));
  CHECK((*state)->times == 4);
  CHECK((*state)->of_peak == 0.4);
  CHECK_FALSE(state_of("name: c").value().has_value());
}

TEST_CASE("what it cannot mean is refused with its place") {
  const auto error_of = [](const std::string& text) { return state_of("unsteady: " + text).error().text(); };
  CHECK(error_of("{times: 4, of_peak: 0.4}").find("missing key 'slot_s'") != std::string::npos);
  CHECK(error_of("{gpus: 512, slot_s: 1, times: 4, of_peak: 0.4}") ==
        "c.yaml:1:18: error: unsteady: gpus: expected a list of counts");
  CHECK(error_of("{gpu: [512], slot_s: 1, times: 4, of_peak: 0.4}").find("did you mean 'gpus'?") !=
        std::string::npos);
  CHECK(error_of("{slot_s: 1, times: 4, of_peak: 4}").find("of_peak") != std::string::npos);
}

TEST_CASE("it is no part of the cluster: the sweep's machine is the datasheet's but for what was fitted") {
  const Catalog catalog;
  Cluster sweep = catalog.cluster("aws-p5-playbook").value();
  const Cluster datasheet = catalog.cluster("aws-p5").value();
  sweep.name = datasheet.name;
  sweep.source = datasheet.source;
  sweep.host_stall = datasheet.host_stall;
  sweep.inter.rank_step = datasheet.inter.rank_step;
  CHECK(sweep == datasheet);
}

}  // namespace
}  // namespace foretrain
