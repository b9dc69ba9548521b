#include "spec/fitted_collective_text.h"

#include <doctest/doctest.h>

#include <string>

#include "spec/cluster_text.h"
#include "spec/testing.h"

using namespace foretrain;

namespace {

// The text stands below the key, as in a cluster file: its first line is the second of f.yaml.
Result<std::vector<FittedCollective>> fitted_of(const std::string& text) {
  return parse_yaml("collectives:\n" + text, "f.yaml").and_then([](const Node& node) {
    return parse_fitted_collectives(*node.find("collectives"));
  });
}

const std::string kReduce =
    "  - {collective: all_reduce, tier: inter, bandwidth_share: 0.5, unseen_error: 0.1, layouts: [\n";
std::string layout(const std::string& lists) {
  return "{ranks: 8, ranks_per_node: 2, spread: 0.01, " + lists + "}";
}

}  // namespace

TEST_CASE("a fitted collective: what it gets of the links, and layouts with a factor by size") {
  const auto fitted = fitted_of(kReduce + layout("bytes: [1000, 2.5e6], factor: [1.5, 0.9]") + "]}\n");
  REQUIRE_MESSAGE(fitted.has_value(), error_of(fitted));
  REQUIRE(fitted->size() == 1);
  CHECK(fitted->front() == FittedCollective{.kind = CollectiveKind::kAllReduce,
                                            .tier = Tier::kInter,
                                            .bandwidth_share = 0.5,
                                            .latency_scale = 1,
                                            .unseen_error = 0.1,
                                            .layouts = {{.ranks = 8,
                                                         .ranks_per_node = 2,
                                                         .spread = 0.01,
                                                         .bytes = {1000, 2.5e6},
                                                         .factor = {1.5, 0.9}}}});
}

TEST_CASE("fitted collectives written as YAML read back equal, to the last bit") {
  const FittedLayout pair{.ranks = 2,
                          .ranks_per_node = 2,
                          .samples = 632,
                          .error = 0.1 / 3,
                          .spread = 1.0 / 7,
                          .bytes = {1, 1e5 / 3, 1e18},
                          .factor = {1e-6, 1.0 / 3, 1e6}};
  FittedLayout wide = pair;
  wide.ranks = 1'000'000;
  wide.bytes = {3};
  wide.factor = {1};
  const std::vector<FittedCollective> fitted = {
      {.kind = CollectiveKind::kAllToAll,
       .bandwidth_share = 1.0 / 3,
       .latency_scale = 0.001,
       .layouts = {pair, wide}},
      {.kind = CollectiveKind::kAllToAll, .tier = Tier::kInter, .bandwidth_share = 1e-6, .unseen_error = 0.2},
      {.kind = CollectiveKind::kSendReceive, .tier = Tier::kInter, .layouts = {wide}}};
  const auto read = parse_yaml(to_yaml(fitted), "f.yaml").and_then([](const Node& node) {
    return parse_fitted_collectives(*node.find("collectives"));
  });
  REQUIRE_MESSAGE(read.has_value(), error_of(read));
  CHECK(*read == fitted);
  CHECK(to_yaml(std::vector<FittedCollective>{}).empty());
}

TEST_CASE("lists of sizes and factors that do not fit each other are refused") {
  const auto with = [](const std::string& lists) {
    return error_of(fitted_of(kReduce + layout(lists) + "]}\n"));
  };
  CHECK(with("bytes: [1000, 1000], factor: [1, 1]") ==
        "f.yaml:3:59: error: bytes: found 1000 after 1000, expected growing sizes");
  CHECK(with("bytes: [2000, 1000], factor: [1, 1]") ==
        "f.yaml:3:59: error: bytes: found 1000 after 2000, expected growing sizes");
  CHECK(with("bytes: [1000, 2000], factor: [1]") ==
        "f.yaml:3:74: error: factor: found 1 numbers, expected 2, one for each of bytes");
  CHECK(with("bytes: [], factor: []") == "f.yaml:3:52: error: bytes: expected a list of 1 to 256 numbers");
  CHECK(with("bytes: 1000, factor: [1]") == "f.yaml:3:52: error: bytes: expected a list of 1 to 256 numbers");
  CHECK(with("bytes: [1000], factor: [0]")
            .starts_with("f.yaml:3:69: error: factor: found '0', expected a number"));
  CHECK(with("bytes: [1000]").starts_with("f.yaml:3:1: error: missing key 'factor'"));
  CHECK(with("bytes: [1000], factor: [nan]").starts_with("f.yaml:3:69: error: factor: found 'nan'"));
}

TEST_CASE("a dispatch has a time a token, others have none") {
  const auto fitted = fitted_of(
      "  - {collective: dispatch, tier: intra, bandwidth_share: 0.7, row_ns: 20.5, unseen_error: 0}\n");
  REQUIRE(fitted);
  CHECK(fitted->front().row.value == doctest::Approx(20.5e-9));
  CHECK(to_yaml(*fitted).find("row_ns: 20.5\n") != std::string::npos);
  CHECK(
      error_of(fitted_of(
          "  - {collective: all_to_all, tier: intra, bandwidth_share: 0.7, row_ns: 1, unseen_error: 0}\n")) ==
      "f.yaml:2:73: error: row_ns: found with all_to_all, expected with a dispatch or combine");
}

TEST_CASE("a layout or a collective stands once") {
  const std::string lists = layout("bytes: [1000], factor: [1]");
  CHECK(error_of(fitted_of(kReduce + lists + ",\n" + lists + "]}\n")) ==
        "f.yaml:4:1: error: the layout of 8 ranks, 2 a node, stands here twice");
  const std::string entry = kReduce + lists + "]}\n";
  CHECK(error_of(fitted_of(entry + entry)) ==
        "f.yaml:4:5: error: all_reduce on tier inter stands here twice");
}

TEST_CASE("what is missing, unknown or out of bounds is told with its position") {
  const auto one = [](const std::string& fields) { return error_of(fitted_of("  - {" + fields + "}\n")); };
  CHECK(one("tier: inter") == "f.yaml:2:5: error: missing key 'collective'");
  CHECK(one("collective: allreduce").starts_with("f.yaml:2:18: error: collective: unknown word 'allreduce'"));
  CHECK(one("collective: all_reduce, tier: between")
            .starts_with("f.yaml:2:36: error: tier: unknown word 'between'"));
  CHECK(one("collective: all_reduce, tier: intra, bandwidth_share: 0, unseen_error: 0")
            .starts_with("f.yaml:2:60: error: bandwidth_share: found '0', expected a number from"));
  CHECK(one("collective: all_reduce, share: 1").starts_with("f.yaml:2:30: error: unknown key 'share'"));
  CHECK(error_of(
            fitted_of(kReduce + "{ranks: 8, ranks_per_node: 3, spread: 0, bytes: [1], factor: [1]}]}\n")) ==
        "f.yaml:3:9: error: ranks 8 is not a multiple of ranks_per_node 3");
  CHECK(error_of(fitted_of("  all_reduce: 1\n"))
            .starts_with("f.yaml:2:3: error: collectives: expected a list"));
}
