#include "calibrate/calibration_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/yaml.h"
#include "base/yaml_text.h"
#include "calibrate/learn.h"
#include "calibrate/run_identity.h"
#include "spec/read_fields.h"

namespace foretrain {
namespace {

constexpr double kMostLog = 10;   // of any logarithm: a factor of 22,000
constexpr double kAgrees = 1e-3;  // of what stands in the file and what follows from its lessons
constexpr std::size_t kMostText = 10'000;
constexpr std::size_t kMostFigures = 100;  // of a cluster

std::string list_of(const ClusterFactors& values) {
  std::string out;
  for (const double value : values) out += fmt::format("{}{}", out.empty() ? "" : ", ", value);
  return "[" + out + "]";
}

std::string lesson_yaml(const Lesson& l) {
  return fmt::format(
      "  - {{name: {}, part: {}, run: {}, fingerprint: {}, model: {}, stack: {}, precision: {}, seq: {}, "
      "gpus: {}, "
      "plan: {}, "
      "measured_s: {}, predicted_s: {}, gap: {}, slope: {}, spread: {}, weight: {}}}\n",
      yaml_quoted(l.name), name(l.part), yaml_quoted(l.run), yaml_quoted(l.fingerprint),
      yaml_quoted(l.kind.model), yaml_quoted(l.kind.stack), yaml_quoted(l.kind.precision), l.kind.seq, l.gpus,
      yaml_quoted(l.plan), l.measured, l.predicted, l.gap, list_of(l.slope), l.spread, l.weight);
}

std::string factors_yaml(const Posterior& posterior) {
  std::string out = "factors:  # of the time that each stands for; deviations of the logarithm\n";
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    const auto factor = static_cast<ClusterFactor>(k);
    out += fmt::format("  {}: {{times: {:.6f}, deviation: {:.6f}, prior: {:.6f}}}\n", name(factor),
                       std::exp(posterior.factors()[k]), posterior.deviation(factor),
                       posterior.prior_deviation(factor));
  }
  out += "covariance:  # of the logarithms, after the measurements\n";
  const Matrix stated = posterior.stated_covariance();
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    ClusterFactors row{};
    for (std::size_t l = 0; l < row.size(); ++l) row[l] = std::round(1e9 * stated(k, l)) / 1e9;
    out += "  - " + list_of(row) + "\n";
  }
  return out;
}

Result<void> text_of(const Node& node, std::string_view key, std::string& out) {
  TRY(read_required(node, key, out));
  if (out.size() > kMostText || printable(out) != out)
    return fail(fmt::format("{}: found {} bytes, expected a printable text of at most {}", key, out.size(),
                            kMostText),
                node.find(key)->at);
  return {};
}

Result<ClusterFactors> row_of(const Node& node, std::string_view what) {
  if (!node.is_list() || node.items.size() != kClusterFactorCount)
    return fail(fmt::format("{}: expected a list of {} numbers, one a factor", what, kClusterFactorCount),
                node.at);
  ClusterFactors out{};
  for (std::size_t k = 0; k < out.size(); ++k) {
    TRY_ASSIGN(out[k], node.items[k].number(-kMostLog * kMostLog, kMostLog * kMostLog));
  }
  return out;
}

Result<Lesson> parse_lesson(const Node& node) {
  TRY(only_fields(node, "a lesson",
                  {"name", "part", "run", "fingerprint", "model", "stack", "precision", "seq", "gpus", "plan",
                   "measured_s", "predicted_s", "gap", "slope", "spread", "weight"}));
  Lesson out;
  TRY(text_of(node, "name", out.name));
  TRY(read_required(node, "part", out.part, OneOf{kMeasuredPartNames}));
  TRY(text_of(node, "run", out.run));
  TRY(text_of(node, "fingerprint", out.fingerprint));
  TRY(text_of(node, "model", out.kind.model));
  TRY(text_of(node, "stack", out.kind.stack));
  TRY(text_of(node, "precision", out.kind.precision));
  TRY(text_of(node, "plan", out.plan));
  TRY(read_required(node, "seq", out.kind.seq, WholeNumber{1, 1'000'000'000}));
  TRY(read_required(node, "gpus", out.gpus, WholeNumber{1, 1'000'000'000}));
  TRY(read_required(node, "measured_s", out.measured, RealNumber{1e-12, 1e12}));
  TRY(read_required(node, "predicted_s", out.predicted, RealNumber{1e-12, 1e12}));
  TRY(read_required(node, "gap", out.gap, RealNumber{-kMostLog, kMostLog}));
  TRY(read_required(node, "spread", out.spread, RealNumber{1e-6, kMostLog}));
  TRY(read_required(node, "weight", out.weight, RealNumber{1e-6, kMostLog}));
  const Node* slope = node.find("slope");
  if (slope == nullptr) return fail("a lesson: no 'slope', expected what each factor moves", node.at);
  TRY_ASSIGN(out.slope, row_of(*slope, "slope"));
  if (const std::string gives = fingerprint_of(out.run, name(out.part), out.measured);
      out.fingerprint != gives)
    return fail(fmt::format("fingerprint: found {}, but run, part and measured_s give {}: edit what was "
                            "measured and calibrate again",
                            quoted(out.fingerprint), gives),
                node.find("fingerprint")->at);
  return out;
}

Result<void> check_covariance(const Node& node, const Posterior& posterior) {
  const Node* covariance = node.find("covariance");
  if (covariance == nullptr || !covariance->is_list() || covariance->items.size() != kClusterFactorCount)
    return fail(fmt::format("a calibration: expected 'covariance' with {} rows", kClusterFactorCount),
                covariance == nullptr ? node.at : covariance->at);
  const Matrix stated = posterior.stated_covariance();
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    TRY_ASSIGN(const ClusterFactors row, row_of(covariance->items[k], "covariance"));
    for (std::size_t l = 0; l < kClusterFactorCount; ++l)
      if (std::abs(row[l] - stated(k, l)) > kAgrees)
        return fail(fmt::format("covariance: found {}, but the lessons give {:.9g}", row[l], stated(k, l)),
                    covariance->items[k].items[l].at);
  }
  return {};
}

Result<void> check_factors(const Node& node, const Posterior& posterior) {
  const Node* factors = node.find("factors");
  if (factors == nullptr) return fail("a calibration: no 'factors'", node.at);
  TRY(only_fields(*factors, "factors", kClusterFactorNames));
  for (std::size_t k = 0; k < kClusterFactorCount; ++k) {
    const Node* one = factors->find(kClusterFactorNames[k]);
    if (one == nullptr)
      return fail(
          fmt::format("factors: no '{}', expected all {}", kClusterFactorNames[k], kClusterFactorCount),
          factors->at);
    TRY(only_fields(*one, kClusterFactorNames[k], {"times", "deviation", "prior"}));
    double times = 0, deviation = 0, prior = 0;
    TRY(read_required(*one, "times", times, RealNumber{1e-5, 1e5}));
    TRY(read_required(*one, "deviation", deviation, RealNumber{0.0, 100.0}));
    TRY(read_required(*one, "prior", prior, RealNumber{0.0, 100.0}));
    const double gives = std::exp(posterior.factors()[k]);
    const double left = posterior.deviation(static_cast<ClusterFactor>(k));
    if (std::abs(std::log(times / gives)) > kAgrees || std::abs(deviation - left) > kAgrees)
      return fail(
          fmt::format(
              "{}: found {} with deviation {}, but the lessons give {:.6f} with {:.6f}: edit what was "
              "measured and calibrate again",
              kClusterFactorNames[k], times, deviation, gives, left),
          one->at);
  }
  return check_covariance(node, posterior);
}

Result<HeldMemory> parse_held(const Node& node) {
  constexpr RealNumber kBytes{1, 1e18};
  TRY(only_fields(node, "what was held", {"name", "run", "measured", "predicted", "spread"}));
  HeldMemory out;
  TRY(text_of(node, "name", out.name));
  TRY(text_of(node, "run", out.run));
  TRY(read_required(node, "measured", out.measured, kBytes));
  TRY(read_required(node, "predicted", out.predicted, kBytes));
  TRY(read_required(node, "spread", out.spread, RealNumber{1e-6, kMostLog}));
  return out;
}

// As what was held gives it.
Result<void> check_memory(const Node& node, const std::optional<MemoryLesson>& given) {
  TRY(only_fields(node, "memory", {"times", "deviation", "runs"}));
  double times = 1, deviation = 0;
  std::int64_t runs = 0;
  TRY(read_required(node, "times", times, RealNumber{1e-5, 1e5}));
  TRY(read_required(node, "deviation", deviation, RealNumber{0.0, kMostLog}));
  TRY(read_required(node, "runs", runs, WholeNumber{1, 1'000'000}));
  if (given && std::abs(std::log(times) - given->held) <= kAgrees &&
      std::abs(deviation - given->deviation) <= kAgrees && runs == static_cast<std::int64_t>(given->runs))
    return {};
  return fail(fmt::format("memory: found {} with deviation {} of {} runs, but what was held gives {}", times,
                          deviation, runs,
                          given ? fmt::format("{:.6f} with {:.6f} of {}", std::exp(given->held),
                                              given->deviation, given->runs)
                                : "none"),
              node.at);
}

Result<void> read_memory(const Node& node, Calibration& out) {
  if (const Node* held = node.find("held"); held != nullptr) {
    if (!held->is_list() || held->items.empty() || held->items.size() > kMostLessons)
      return fail(fmt::format("held: expected a list of 1 to {}", kMostLessons), held->at);
    for (const Node& item : held->items) {
      TRY_ASSIGN(HeldMemory one, parse_held(item));
      out.held.push_back(std::move(one));
    }
  }
  out.memory = memory_lesson(out.held);
  if (const Node* memory = node.find("memory"); memory != nullptr) return check_memory(*memory, out.memory);
  if (!out.memory) return {};
  return fail("a calibration: no 'memory', expected what was held gives", node.at);
}

Result<void> read_state(const Node& node, Calibration& out) {
  const Node* state = node.find("state");
  if (state == nullptr || state->kind != Node::Kind::kMap || state->entries.size() > kMostFigures)
    return fail(
        fmt::format("a calibration: expected 'state', at most {} figures of its cluster", kMostFigures),
        state == nullptr ? node.at : state->at);
  for (const auto& [key, value] : state->entries) {
    TRY_ASSIGN(std::string text, value.text());
    out.state.emplace_back(key, std::move(text));
  }
  return {};
}

}  // namespace

std::string calibration_yaml(const Calibration& c) {
  const Posterior& p = c.posterior;
  std::string out = fmt::format(
      "# Made by foretrain calibrate; docs/calibrate.md tells what it means. Factors and covariance follow "
      "from the lessons.\n"
      "version: 1\nname: {}\ncluster: {}\ngpu: {}\nprofile: {}\nstate:\n",
      yaml_quoted(c.name), yaml_quoted(c.cluster), yaml_quoted(c.gpu), yaml_quoted(c.profile));
  for (const auto& [key, value] : c.state) out += fmt::format("  {}: {}\n", key, yaml_quoted(value));
  out += "origin:\n";
  for (const std::string& origin : c.origin) out += "  - " + yaml_quoted(origin) + "\n";
  out += fmt::format("prior: {{own: {}, alike: {}, shared: {}, alone: {}}}\n", p.shares().own,
                     p.shares().alike, p.scale().shared, p.scale().alone);
  out += factors_yaml(p);
  if (c.memory)
    out += fmt::format("memory: {{times: {:.6f}, deviation: {:.6f}, runs: {}}}\n", std::exp(c.memory->held),
                       c.memory->deviation, c.memory->runs);
  if (!c.held.empty()) out += "held:\n";
  for (const HeldMemory& h : c.held)
    out += fmt::format("  - {{name: {}, run: {}, measured: {}, predicted: {}, spread: {}}}\n",
                       yaml_quoted(h.name), yaml_quoted(h.run), h.measured, h.predicted, h.spread);
  out += "lessons:\n";
  for (const Lesson& lesson : p.lessons()) out += lesson_yaml(lesson);
  return out;
}

Result<Calibration> parse_calibration(const Source& source) {
  TRY_ASSIGN(const Node node, parse_yaml(source.text, source.name));
  TRY(only_fields(node, "a calibration",
                  {"version", "name", "cluster", "gpu", "profile", "state", "origin", "prior", "factors",
                   "covariance", "memory", "held", "lessons"}));
  std::int64_t version = 0;
  TRY(read_required(node, "version", version, WholeNumber{1, 1}));
  Calibration out;
  TRY(text_of(node, "name", out.name));
  TRY(text_of(node, "cluster", out.cluster));
  TRY(text_of(node, "gpu", out.gpu));
  TRY(text_of(node, "profile", out.profile));
  if (const Node* origin = node.find("origin"); origin != nullptr)
    for (const Node& item : origin->items) {
      TRY_ASSIGN(std::string text, item.text());
      out.origin.push_back(std::move(text));
    }
  TRY_ASSIGN(const Node* prior, required_section(node, "prior", {"own", "alike", "shared", "alone"}));
  PriorShares shares;
  PriorScale scale;
  TRY(read_required(*prior, "own", shares.own, RealNumber{0.01, 0.99}));
  TRY(read_required(*prior, "alike", shares.alike, RealNumber{0.0, 0.99}));
  TRY(read_required(*prior, "shared", scale.shared, RealNumber{-3.0, 3.0}));
  TRY(read_required(*prior, "alone", scale.alone, RealNumber{-3.0, 3.0}));
  TRY(read_state(node, out));
  TRY(read_memory(node, out));
  const Node* lessons = node.find("lessons");
  if (lessons == nullptr || !lessons->is_list() || lessons->items.empty() ||
      lessons->items.size() > kMostLessons)
    return fail(fmt::format("a calibration: expected a list 'lessons' of 1 to {}", kMostLessons),
                lessons == nullptr ? node.at : lessons->at);
  std::vector<Lesson> all;
  for (const Node& item : lessons->items) {
    TRY_ASSIGN(Lesson lesson, parse_lesson(item));
    all.push_back(std::move(lesson));
  }
  out.posterior = Posterior(std::move(all), scale, shares);
  TRY(check_factors(node, out.posterior));
  return out;
}

Result<Calibration> read_calibration(const Files& files, const std::string& path) {
  const std::string file = path.ends_with(".yaml") ? path : path + "/" + kCalibrationFile;
  TRY_ASSIGN(std::string text, files.read(file, kMaxYamlBytes));
  return parse_calibration({file, std::move(text)});
}

}  // namespace foretrain
