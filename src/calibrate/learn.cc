#include "calibrate/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "calibrate/figures.h"
#include "calibrate/sensitivity.h"
#include "predict/evaluator.h"
#include "predict/uncertainty.h"
#include "spec/plan_text.h"
#include "validate/logged_memory.h"

namespace foretrain {
namespace {

constexpr int kRounds = 2;
constexpr double kFastest = 1.0 / 3, kSlowest = 10;  // measured over predicted, of what is no other run
constexpr double kApart = 0.1;                       // of the logarithms of one run's measurements

// FNV-1a of 64 bits.
std::string hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

std::string run_words(const Run& run) {
  const RunKind kind = kind_of(run);
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", kind.model, kind.stack, run.cluster.name, run.gpus, run.seq,
                     run.global_batch, to_text(run.plan));
}

// One lesson to be: a figure of a run with all that was measured of it.
struct Pupil {
  const Measured* of = nullptr;
  MeasuredPart part = MeasuredPart::kStep;
  std::vector<double> seconds;
  double apart = 0;  // half of what their logarithms lie apart
  double mean() const {
    double sum = 0;
    for (const double s : seconds) sum += std::log(s);
    return std::exp(sum / static_cast<double>(seconds.size()));
  }
};

class Class {
 public:
  Result<Learned> teach(const std::vector<Measured>& measured, const PriorShares& shares) {
    for (const Measured& one : measured) enrol(one);
    note_apart();
    if (pupils_.empty()) return fail("found no measurement that can be learned from" + first_reason());
    if (pupils_.size() > kMostLessons)
      return fail(fmt::format("found {} measurements, expected at most {}", pupils_.size(), kMostLessons));
    Posterior posterior({}, {}, shares);
    for (int round = 0; round < kRounds; ++round)
      posterior = Posterior::learned(lessons_about(posterior), shares);
    Learned out;
    const Run& run = *pupils_.front().of->run;
    out.calibration.cluster = run.cluster.name;
    out.calibration.gpu = run.cluster.gpu.name;
    out.calibration.profile = run.profile;
    for (const Lesson& lesson : posterior.lessons())
      if (lesson.weight < kSmallWeight)
        remark(lesson.name, fmt::format("{} counts {:.0f} %: the others do not bear it out",
                                        name(lesson.part), 100 * lesson.weight));
    out.calibration.posterior = std::move(posterior);
    out.calibration.memory = memory_lesson();
    out.remarks = std::move(remarks_);
    return out;
  }

 private:
  void remark(const std::string& name, std::string words, bool left_out = false) {
    remarks_.push_back({name, std::move(words), left_out});
  }
  std::string first_reason() const {
    return remarks_.empty() ? "" : fmt::format("; {}: {}", remarks_.front().name, remarks_.front().words);
  }

  // Why a figure can be none of this run.
  static std::string impossible(const Prediction& prediction, MeasuredPart part, double ratio) {
    if (part == MeasuredPart::kStep && prediction.mfu > ratio)
      return fmt::format("its step would be {:.0f} % of the GPU's rate: impossible",
                         100 * prediction.mfu / ratio);
    if (ratio < kFastest || ratio > kSlowest)
      return fmt::format("its {} is {:.3g} times what is predicted: not this run, or no steady step",
                         name(part), ratio);
    return "";
  }

  void enrol(const Measured& one) {
    const Prediction prediction = predict(*one.run, one.costs);
    const std::string run = run_words(*one.run);
    bool taken = false;
    for (const MeasuredFigure& figure : one.figures) {
      const double predicted = predicted_figure(*one.run, prediction, figure.part).value;
      if (!(predicted > 0) || !(figure.seconds > 0)) continue;
      if (std::string why = impossible(prediction, figure.part, figure.seconds / predicted); !why.empty()) {
        remark(one.name, std::move(why), true);
        continue;
      }
      const std::string key = fmt::format("{}|{}", run, name(figure.part));
      const auto [place, fresh] = places_.emplace(key, pupils_.size());
      if (fresh) pupils_.push_back({&one, figure.part, {}, 0});
      Pupil& pupil = pupils_[place->second];
      const bool again = std::any_of(pupil.seconds.begin(), pupil.seconds.end(),
                                     [&](double s) { return std::abs(std::log(s / figure.seconds)) < 1e-6; });
      if (again)
        remark(one.name, fmt::format("is {} again: counts once", pupil.of->name), true);
      else
        pupil.seconds.push_back(figure.seconds), taken = true;
    }
    if (taken && one.memory) memories_.push_back({&one, memory_gap(one, prediction)});
  }

  void note_apart() {
    for (Pupil& pupil : pupils_) {
      if (pupil.seconds.size() < 2) continue;
      const auto [low, high] = std::minmax_element(pupil.seconds.begin(), pupil.seconds.end());
      pupil.apart = std::log(*high / *low) / 2;
      remark(pupil.of->name,
             fmt::format(
                 "{} measurements of its {}, {} to {}, count as one{}", pupil.seconds.size(),
                 name(pupil.part), human_seconds(Seconds(*low)), human_seconds(Seconds(*high)),
                 2 * pupil.apart > kApart ? ", which they make unsure: they contradict each other" : ""));
    }
  }

  std::vector<Lesson> lessons_about(const Posterior& believed) const {
    std::vector<Lesson> lessons;
    for (std::size_t i = 0; i < pupils_.size();) {
      // All parts of one run from the same predictions.
      const Measured& of = *pupils_[i].of;
      std::vector<FigureOf> figures;
      std::size_t end = i;
      for (; end < pupils_.size() && pupils_[end].of == &of; ++end)
        figures.emplace_back([&run = *of.run, part = pupils_[end].part](const Prediction& p) {
          return predicted_figure(run, p, part);
        });
      const RunKind kind = kind_of(*of.run);
      ClusterFactors about = believed.factors();
      for (double& factor : about) factor += believed.shift(kind);
      const Sensitivity there = sensitivity(*of.run, of.costs, about, figures);
      const Prediction plain = predict_with(*of.run, of.costs, {});
      for (std::size_t k = i; k < end; ++k)
        lessons.push_back(lesson_of(pupils_[k], plain, there.at, there.slopes[k - i], about));
      i = end;
    }
    return lessons;
  }

  static Lesson lesson_of(const Pupil& pupil, const Prediction& plain, const Prediction& there,
                          const ClusterFactors& slope, const ClusterFactors& about) {
    const Run& run = *pupil.of->run;
    Lesson lesson;
    lesson.name = pupil.of->name;
    lesson.part = pupil.part;
    lesson.kind = kind_of(run);
    lesson.gpus = run.gpus;
    lesson.plan = to_text(run.plan);
    lesson.measured = pupil.mean();
    lesson.predicted = predicted_figure(run, plain, pupil.part).value;
    lesson.fingerprint =
        hash_text(fmt::format("{}|{}|{:.6g}", run_words(run), name(pupil.part), lesson.measured));
    lesson.gap = std::log(lesson.measured / predicted_figure(run, there, pupil.part).value);
    for (std::size_t k = 0; k < slope.size(); ++k) lesson.gap += slope[k] * about[k];
    lesson.slope = slope;
    lesson.spread = std::hypot(plain.step.spread * pupil.of->widened, pupil.apart);
    return lesson;
  }

  struct MemoryGap {
    double gap = 0, spread = 0;
  };
  static MemoryGap memory_gap(const Measured& one, const Prediction& prediction) {
    const Bytes predicted = logged_memory(prediction, one.run->stack, one.counter);
    return {std::log(*one.memory / predicted), memory_spread(one.run->stack.described)};
  }

  // Half of the variance is the cluster's libraries', half each run's own; what lies far off counts less, as above.
  std::optional<MemoryLesson> memory_lesson() const {
    constexpr double kShare = 0.5, kFreedom = 4;
    if (memories_.empty()) return std::nullopt;
    MemoryLesson out;
    out.runs = memories_.size();
    for (int i = 0; i < 20; ++i) {
      double weights = 0, sum = 0, variance = 0;
      for (const auto& [of, m] : memories_) {
        const double square = m.spread * m.spread;
        variance += kShare * square / static_cast<double>(memories_.size());
        const double off = (m.gap - out.held) * (m.gap - out.held) / ((1 - kShare) * square);
        const double weight = (kFreedom + 1) / (kFreedom + off) / ((1 - kShare) * square);
        weights += weight, sum += weight * m.gap;
      }
      weights += 1 / variance;
      out.held = sum / weights;
      out.deviation = std::sqrt(1 / weights);
    }
    return out;
  }

  std::vector<Pupil> pupils_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::pair<const Measured*, MemoryGap>> memories_;
  std::vector<Remark> remarks_;
};

}  // namespace

Result<Learned> learn(const std::vector<Measured>& measured, const PriorShares& shares) {
  return Class().teach(measured, shares);
}

}  // namespace foretrain
