#include "fit/xgboost.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.h"

namespace foretrain {
namespace {

// The functions used, with the prototypes of the header.
struct Xgboost {
  decltype(&XGBGetLastError) last_error = nullptr;
  decltype(&XGDMatrixCreateFromMat_omp) matrix_create = nullptr;
  decltype(&XGDMatrixSetFloatInfo) matrix_set = nullptr;
  decltype(&XGDMatrixFree) matrix_free = nullptr;
  decltype(&XGBoosterCreate) booster_create = nullptr;
  decltype(&XGBoosterSetParam) booster_set = nullptr;
  decltype(&XGBoosterUpdateOneIter) booster_update = nullptr;
  decltype(&XGBoosterPredictFromDMatrix) booster_predict = nullptr;
  decltype(&XGBoosterSaveModelToBuffer) booster_save = nullptr;
  decltype(&XGBoosterFree) booster_free = nullptr;

  Result<void> check(int status) const;
};

// XGBoost's message without its stack trace.
Result<void> Xgboost::check(int status) const {
  if (status == 0) return {};
  const std::string_view message = last_error();
  return fail(fmt::format("XGBoost: {}", message.substr(0, message.find('\n'))));
}

// Opening a library that is already open only counts references. It is never closed: the threads and
// thread-local storage that its OpenMP runtime leaves behind need its code.
Result<Xgboost> open_xgboost(std::initializer_list<const char*> libraries) {
  void* library = nullptr;
  std::string reason = "no name to look for";
  for (const char* name : libraries) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    if (name == *libraries.begin()) reason = dlerror();
  }
  if (library == nullptr)
    return fail(fmt::format("fitting needs XGBoost: {}; install the package libxgboost0", reason));

  Xgboost found;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find(found.last_error, "XGBGetLastError");
  find(found.matrix_create, "XGDMatrixCreateFromMat_omp");
  find(found.matrix_set, "XGDMatrixSetFloatInfo");
  find(found.matrix_free, "XGDMatrixFree");
  find(found.booster_create, "XGBoosterCreate");
  find(found.booster_set, "XGBoosterSetParam");
  find(found.booster_update, "XGBoosterUpdateOneIter");
  find(found.booster_predict, "XGBoosterPredictFromDMatrix");
  find(found.booster_save, "XGBoosterSaveModelToBuffer");
  find(found.booster_free, "XGBoosterFree");
  if (missing != nullptr)
    return fail(
        fmt::format("fitting needs XGBoost 1.7: the library found has no {}; install the package "
                    "libxgboost0",
                    missing));
  return found;
}

// Matrix and booster are both `void*` to the C API.
using Handle = std::unique_ptr<void, int (*)(void*)>;

Result<Handle> matrix_of(const Xgboost& xgboost, std::span<const float> x, std::size_t columns) {
  void* matrix = nullptr;
  TRY(xgboost.check(xgboost.matrix_create(x.data(), x.size() / columns, columns,
                                          std::numeric_limits<float>::quiet_NaN(), &matrix, 1)));
  return Handle(matrix, xgboost.matrix_free);
}

Result<void> check_finite(std::span<const float> values, std::size_t columns, std::string_view what) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return fail(fmt::format("{} {} of row {} is {}; expected a finite number", what, i % columns + 1,
                              i / columns + 1, values[i]));
  return {};
}

Result<void> check_rows(std::span<const float> x, std::size_t columns, std::span<const float> y,
                        std::span<const float> weights) {
  CHECK_THAT(columns >= 1 && columns <= static_cast<std::size_t>(kMaxForestFeatures));
  CHECK_THAT(x.size() == y.size() * columns);
  CHECK_THAT(weights.empty() || weights.size() == y.size());
  if (y.empty()) return fail("no rows to fit trees to");
  TRY(check_finite(x, columns, "feature"));
  TRY(check_finite(y, 1, "target"));
  TRY(check_finite(weights, 1, "weight"));
  for (std::size_t row = 0; row < weights.size(); ++row)
    if (weights[row] <= 0)
      return fail(fmt::format("the weight of row {} is {}; expected more than 0", row + 1, weights[row]));
  return {};
}

double mean(std::span<const float> y, std::span<const float> weights) {
  double sum = 0, total = 0;
  for (std::size_t row = 0; row < y.size(); ++row) {
    const double weight = weights.empty() ? 1.0 : weights[row];
    sum += weight * y[row];
    total += weight;
  }
  const double found = sum / total;
  return std::abs(found) < 1e-30 ? 0.0 : found;  // XGBoost refuses to read numbers that are no normal float
}

Result<Handle> train(const Xgboost& xgboost, std::span<const float> x, std::size_t columns,
                     std::span<const float> y, std::span<const float> weights, const BoostOptions& options) {
  CHECK_THAT(options.trees >= 1);
  CHECK_THAT(options.depth >= 1 && options.depth <= kMaxForestDepth);
  CHECK_THAT(options.bins == 0 || options.bins >= 2);
  TRY(check_rows(x, columns, y, weights));
  TRY_ASSIGN(const Handle matrix, matrix_of(xgboost, x, columns));
  TRY(xgboost.check(xgboost.matrix_set(matrix.get(), "label", y.data(), y.size())));
  if (!weights.empty())
    TRY(xgboost.check(xgboost.matrix_set(matrix.get(), "weight", weights.data(), weights.size())));

  void* made = nullptr;
  void* matrices[] = {matrix.get()};
  TRY(xgboost.check(xgboost.booster_create(matrices, 1, &made)));
  Handle booster(made, xgboost.booster_free);
  const auto set = [&](const char* name, const auto& value) {
    return xgboost.check(xgboost.booster_set(made, name, fmt::format("{}", value).c_str()));
  };
  TRY(set("verbosity", 0));
  TRY(set("nthread", 1));
  TRY(set("seed", options.seed));
  TRY(set("objective", "reg:squarederror"));
  TRY(set("base_score", static_cast<float>(mean(y, weights))));
  TRY(set("tree_method", options.bins == 0 ? "exact" : "hist"));
  if (options.bins != 0) TRY(set("max_bin", options.bins));
  TRY(set("max_depth", options.depth));
  TRY(set("eta", options.learning_rate));
  TRY(set("min_child_weight", options.min_child_weight));
  TRY(set("lambda", options.lambda));
  TRY(set("subsample", options.subsample));
  for (int tree = 0; tree < options.trees; ++tree)
    TRY(xgboost.check(xgboost.booster_update(made, tree, matrix.get())));
  return booster;
}

// One tree of XGBoost's model: node i is a leaf where left[i] is -1, and its value then stands in value[i].
struct Tree {
  std::vector<int> left, right, feature;
  std::vector<float> value;
};

// Puts what hangs under `node` at heap position `at`. A leaf above the last level goes on as splits that all
// lead to its value.
void place(const Tree& tree, std::size_t node, std::size_t at, std::span<std::uint8_t> feature,
           std::span<float> threshold, std::span<float> leaf) {
  const bool ends = tree.left.at(node) == -1;
  if (at >= threshold.size()) {
    if (!ends) throw std::runtime_error("a tree is deeper than it was asked to be");
    leaf[at - threshold.size()] = tree.value.at(node);
    return;
  }
  feature[at] = ends ? std::uint8_t{0} : static_cast<std::uint8_t>(tree.feature.at(node));
  threshold[at] = ends ? std::numeric_limits<float>::infinity() : tree.value.at(node);
  const auto child = [&](const std::vector<int>& side) {
    return ends ? node : static_cast<std::size_t>(side.at(node));
  };
  place(tree, child(tree.left), 2 * at + 1, feature, threshold, leaf);
  place(tree, child(tree.right), 2 * at + 2, feature, threshold, leaf);
}

// XGBoost writes the base score as text, in the shortest form that reads back equal.
float parse_base_score(const std::string& text) {
  float value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) throw std::runtime_error("base_score is '" + text + "'");
  return value;
}

// From the model in UBJSON, which holds thresholds and leaves as the binary floats they are in memory.
Forest forest_of(const nlohmann::json& model, int depth, std::size_t columns) {
  const auto& learner = model.at("learner");
  const auto& trees = learner.at("gradient_booster").at("model").at("trees");
  const std::size_t leaves = std::size_t{1} << depth;
  const std::size_t splits = leaves - 1;
  Forest forest;
  forest.depth = depth;
  forest.features = static_cast<std::int32_t>(columns);
  forest.base_score = parse_base_score(learner.at("learner_model_param").at("base_score"));
  forest.split_feature.resize(trees.size() * splits);
  forest.threshold.resize(trees.size() * splits);
  forest.leaf.resize(trees.size() * leaves);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const Tree tree{trees[i].at("left_children"), trees[i].at("right_children"), trees[i].at("split_indices"),
                    trees[i].at("split_conditions")};
    place(tree, 0, 0, std::span(forest.split_feature).subspan(i * splits, splits),
          std::span(forest.threshold).subspan(i * splits, splits),
          std::span(forest.leaf).subspan(i * leaves, leaves));
  }
  return forest;
}

}  // namespace

Result<void> check_xgboost(std::initializer_list<const char*> libraries) {
  TRY(open_xgboost(libraries));
  return {};
}

Result<Forest> boost(std::span<const float> x, std::size_t columns, std::span<const float> y,
                     std::span<const float> weights, const BoostOptions& options) {
  TRY_ASSIGN(const Xgboost xgboost, open_xgboost(kXgboostLibraries));
  TRY_ASSIGN(const Handle booster, train(xgboost, x, columns, y, weights, options));
  bst_ulong size = 0;
  const char* bytes = nullptr;
  TRY(xgboost.check(xgboost.booster_save(booster.get(), R"({"format": "ubj"})", &size, &bytes)));
  try {
    Forest forest = forest_of(nlohmann::json::from_ubjson(bytes, bytes + size), options.depth, columns);
    if (!well_formed(forest.view())) return fail("XGBoost: trained trees that are not finite");
    return forest;
  } catch (const std::exception& error) {
    return fail(fmt::format("XGBoost: a model that this program cannot read ({}); expected version 1.7",
                            error.what()));
  }
}

Result<std::vector<float>> boost_and_predict(std::span<const float> x, std::size_t columns,
                                             std::span<const float> y, std::span<const float> weights,
                                             const BoostOptions& options, std::span<const float> query) {
  CHECK_THAT(query.size() % columns == 0);
  TRY_ASSIGN(const Xgboost xgboost, open_xgboost(kXgboostLibraries));
  TRY_ASSIGN(const Handle booster, train(xgboost, x, columns, y, weights, options));
  TRY_ASSIGN(const Handle matrix, matrix_of(xgboost, query, columns));
  constexpr const char* kConfig =
      R"({"type": 0, "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* found = nullptr;
  TRY(xgboost.check(
      xgboost.booster_predict(booster.get(), matrix.get(), kConfig, &shape, &dimensions, &found)));
  CHECK_THAT(dimensions == 1 && shape[0] == query.size() / columns);
  return std::vector<float>(found, found + shape[0]);
}

}  // namespace foretrain
