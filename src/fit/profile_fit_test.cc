#include "fit/profile_fit.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "cost/profile_store.h"
#include "operators/optimizer.h"
#include "operators/pointwise.h"
#include "operators/product.h"
#include "spec/catalog.h"

using namespace foretrain;
namespace fs = std::filesystem;

namespace {

struct TempFolder {
  std::string path = "/tmp/foretrain-fit-XXXXXX";
  TempFolder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~TempFolder() { fs::remove_all(path); }
};

// A gelu that takes 4 bytes an element at half of the H200's bandwidth and 3 us; every fifth row by `off`.
std::vector<Sample> gelus(double off = 1) {
  std::vector<Sample> samples;
  for (int i = 0; i < 60; ++i) {
    Sample sample;
    const TokenSizes sizes = {.tokens = 512 + 512 * i, .width = 4096};
    sample.op = pointwise(OperatorKind::kGelu, sizes, {.impl = Impl::kFused});
    sample.us = 3 + 4.0 * static_cast<double>(sizes.tokens * sizes.width) / 2.4e6;
    if (i % 5 == 0) sample.us *= off;
    samples.push_back(sample);
  }
  return samples;
}

FittedProfile fitted(const std::vector<Sample>& samples) {
  auto profile = fit_profile(samples, Catalog().gpu("h200-141gb-sxm").value(), FitOptions{});
  REQUIRE_MESSAGE(profile.has_value(), (profile ? "" : profile.error().text()));
  return *std::move(profile);
}

ProfileInfo info(const std::string& name) { return {name, "h200-141gb-sxm", "made up", ""}; }

Result<void> write(const std::string& folder, ProfileInfo info, const std::vector<FittedOperator>& models,
                   const std::vector<OutputFile>& parent = {}) {
  return replace_folder(folder, profile_files(std::move(info), models, parent), kProfileEntries);
}

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("held-out ratios stand in the order of the samples, and their error is the one told") {
  const std::vector<Sample> samples = gelus(1.2);
  const FittedProfile profile = fitted(samples);
  REQUIRE(profile.models.size() == 1);
  const FittedOperator& model = profile.models[0];
  REQUIRE(model.held_out.size() == samples.size());
  CHECK(mean_error(model.held_out) == doctest::Approx(model.facts.error));
  // Rows that are a fifth slower than the rest lie below what a model without them says.
  double slow = 0, others = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) (i % 5 == 0 ? slow : others) += model.held_out[i];
  CHECK(slow / 12 < 0.95 * others / 48);
}

TEST_CASE("a profile replaces another as a whole, and what else lies in the folder stays") {
  const TempFolder temp;
  const std::string folder = temp.path + "/p";
  const FittedProfile profile = fitted(gelus());
  REQUIRE(write(folder, info("first"), profile.models));
  REQUIRE(write_file(folder + "/README.md", "mine"));
  REQUIRE(write(folder, info("second"), profile.models));
  CHECK(read_file(folder + "/README.md", 100).value() == "mine");
  CHECK(ProfileStore(disk()).load(folder)->info.name == "second");
  CHECK(entries(folder) == 3);
  CHECK(entries(temp.path) == 1);  // nothing is left beside it
}

TEST_CASE("a profile that is derived from by its path goes along") {
  const TempFolder temp;
  const FittedProfile profile = fitted(gelus());
  REQUIRE(write(temp.path + "/parent", info("parent"), profile.models));
  REQUIRE(write_file(temp.path + "/parent/notes.txt", "not of the profile"));
  const auto parent = ProfileStore(disk()).files_of(temp.path + "/parent");
  REQUIRE(parent);
  REQUIRE(write(temp.path + "/child", info("child"), {}, *parent));
  fs::remove_all(temp.path + "/parent");
  fs::rename(temp.path + "/child", temp.path + "/moved");
  CHECK(entries(temp.path + "/moved/derive_from") == 2);

  Cluster cluster;
  cluster.gpu = Catalog().gpu("h200-141gb-sxm").value();
  const auto choice = ProfileStore(disk()).costs_for(cluster, temp.path + "/moved");
  REQUIRE_MESSAGE(choice.has_value(), (choice ? "" : choice.error().text()));
  CHECK(choice->costs->cost(gelus()[20].op).origin == Origin::kDerived);
}

TEST_CASE(
    "invented samples of grouped products are fitted as one model, which finds shapes it has not seen") {
  // A GPU that multiplies at 0.6 of its rate, loses half a tile of 128 rows an expert and needs 5 us; the
  // gradient of weights, whose tiles are whole, 8 % longer.
  const auto us_of = [](const Operator& op) {
    const auto sizes = op.as<GroupedSizes>();
    const double rows = static_cast<double>(sizes.m) / static_cast<double>(sizes.experts);
    const double lost = op.pass == PassKind::kWeight ? 1.08 : (rows + 64) / rows;
    return 5 + lost * flops(op).value / (0.6 * 989e6);
  };
  std::vector<Sample> samples;
  const auto add = [&](std::int64_t experts, std::int64_t m, std::int64_t k, std::int64_t n, int i) {
    for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight}) {
      Sample sample;
      sample.op = grouped_product({.experts = experts, .m = m, .k = k, .n = n},
                                  {.impl = i % 4 == 0 ? Impl::kFused : Impl::kAten, .pass = pass});
      sample.us = us_of(sample.op);
      samples.push_back(sample);
    }
  };
  int i = 0;
  for (const std::int64_t experts : {2, 4, 8, 16, 64})
    for (const std::int64_t m : {8192, 12288, 16384, 32768, 65536})
      for (const std::int64_t k : {1024, 2048, 4096}) {
        add(experts, m, k, 1536 + 512 * (i % 7), i);
        ++i;
      }
  std::vector<Sample> all = samples;
  for (Sample sample : gelus()) {  // another kind beside it does not come in
    sample.op = linear({.m = sample.op.as<TokenSizes>().tokens, .k = 4096, .n = 4096});
    sample.us = 5 + flops(sample.op).value / (0.7 * 989e6);
    all.push_back(sample);
  }
  const FittedProfile profile = fitted(all);
  REQUIRE(profile.models.size() == 2);  // the linear's forward stays alone: its backwards are not there
  const FittedOperator& model = profile.models[1];
  CHECK_FALSE(profile.models[0].facts.pooled);
  CHECK(model.key == ModelKey{OperatorKind::kGroupedProduct, Impl::kAten, PassKind::kForward, Dtype::kBf16});
  CHECK(model.facts.pooled);
  CHECK(model.facts.samples == static_cast<std::int64_t>(samples.size()));
  CHECK(model.facts.error < 0.03);

  const TempFolder temp;
  REQUIRE(write(temp.path + "/p", info("grouped"), profile.models));
  Cluster cluster;
  cluster.gpu = Catalog().gpu("h200-141gb-sxm").value();
  const auto choice = ProfileStore(disk()).costs_for(cluster, temp.path + "/p");
  REQUIRE_MESSAGE(choice.has_value(), (choice ? "" : choice.error().text()));
  for (const Impl impl : {Impl::kAten, Impl::kFused})
    for (const PassKind pass : {PassKind::kForward, PassKind::kInput, PassKind::kWeight}) {
      const Operator unseen =
          grouped_product({.experts = 32, .m = 24576, .k = 3072, .n = 3584}, {.impl = impl, .pass = pass});
      const OperatorCost cost = choice->costs->cost(unseen);
      CHECK(cost.gpu.value * 1e6 == doctest::Approx(us_of(unseen)).epsilon(0.05));
      CHECK(cost.origin == Origin::kInterpolated);
    }
}

TEST_CASE("clocks that do not follow power leave it out, and times as they were sampled") {
  // A card locked at 1200 of 1980 MHz, whatever it runs: no power law does that.
  std::vector<Sample> samples;
  for (int i = 0; i < 40; ++i) {
    Sample sample;
    sample.op = linear({.m = 128 << (i % 8), .k = 512 << (i / 8), .n = 1024 + 512 * (i % 5)});
    sample.us = 5 + flops(sample.op).value / (0.5 * 989e6);
    sample.clock_mhz = 1200;
    sample.limit_w = 700;
    samples.push_back(sample);
  }
  const FittedProfile locked = fitted(samples);
  CHECK_FALSE(locked.power);
  CHECK(locked.power_left_out);
  REQUIRE(locked.models.size() == 1);
  CHECK(locked.models[0].facts.clocked_share == 0);
  // Samples without a limit say nothing about power, and are left as they are, too.
  for (Sample& sample : samples) sample.limit_w.reset();
  const FittedProfile unlimited = fitted(samples);
  CHECK_FALSE(unlimited.power);
  CHECK_FALSE(unlimited.power_left_out);
  CHECK(unlimited.models[0].facts.clocked_share == 0);
}

TEST_CASE("which shapes judge a fit does not change when the vocabulary grows") {
  // Otherwise a profile fitted again from the same samples would be another one.
  const Operator op = optimizer(OperatorKind::kZeroGrads, {.parameters = 1000, .tensors = 10, .widths = {}});
  CHECK(shape_hash(op, 1) == 15835080653985430202u);
}
