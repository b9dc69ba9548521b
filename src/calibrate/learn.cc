#include "calibrate/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "base/text.h"
#include "calibrate/figures.h"
#include "calibrate/run_identity.h"
#include "calibrate/sensitivity.h"
#include "predict/evaluator.h"
#include "predict/uncertainty.h"
#include "spec/plan_text.h"
#include "validate/logged_memory.h"

namespace foretrain {
namespace {

constexpr int kRounds = 2;
constexpr double kFastest = 1.0 / 3, kSlowest = 10;  // measured over predicted, of what is no other run
constexpr double kFarOff = 3;                        // deviations
constexpr double kApart = 0.1;                       // of the logarithms of one run's measurements

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
    const Run& run = *pupils_.front().of->run;  // all are of one cluster
    out.calibration.cluster = run.cluster.name;
    out.calibration.gpu = run.cluster.gpu.name;
    out.calibration.profile = run.profile;
    out.calibration.state = state_of(run.cluster);
    remark_odd(posterior);
    out.calibration.posterior = std::move(posterior);
    out.calibration.memory = memory_lesson(held_);
    out.calibration.held = std::move(held_);
    out.remarks = std::move(remarks_);
    return out;
  }

  static std::vector<Lesson> lessons_of(const Measured& measured, const Belief& belief) {
    std::vector<Pupil> pupils;
    for (const MeasuredFigure& figure : measured.figures)
      pupils.push_back({&measured, figure.part, {figure.seconds}, 0});
    return lessons_of(pupils, belief);
  }

 private:
  void remark(const std::string& name, std::string words, bool left_out = false) {
    remarks_.push_back({name, std::move(words), left_out});
  }
  std::string first_reason() const {
    return remarks_.empty() ? "" : fmt::format("; {}: {}", remarks_.front().name, remarks_.front().words);
  }

  // A lesson that the others do not bear out; where too few runs were measured to say which is the odd one, those that lie far
  // from what the predictor's own interval allows.
  void remark_odd(const Posterior& posterior) {
    for (const Lesson& lesson : posterior.lessons()) {
      if (lesson.weight < kSmallWeight)
        remark(lesson.name, fmt::format("{} counts {:.0f} %: the others do not bear it out",
                                        name(lesson.part), 100 * lesson.weight));
      const double far = std::abs(std::log(lesson.measured / lesson.predicted)) / lesson.spread;
      if (!posterior.weighs() && far > kFarOff)
        remark(lesson.name,
               fmt::format("{} lies {:.1f} deviations from what is predicted, and nothing else was measured "
                           "that could bear it out: measure another run",
                           name(lesson.part), far));
    }
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
    const std::string run = run_identity(*one.run);
    bool taken = false, told = false;
    for (const MeasuredFigure& figure : one.figures) {
      const double predicted = predicted_figure(*one.run, prediction, figure.part).value;
      if (!(predicted > 0) || !(figure.seconds > 0)) continue;
      if (std::string why = impossible(prediction, figure.part, figure.seconds / predicted); !why.empty()) {
        remark(one.name, std::move(why), true);
        if (figure.part == MeasuredPart::kStep) break;  // then its parts are of another run too
        continue;
      }
      const std::string key = fmt::format("{}|{}", run, name(figure.part));
      const auto [place, fresh] = places_.emplace(key, pupils_.size());
      if (fresh) pupils_.push_back({&one, figure.part, {}, 0});
      Pupil& pupil = pupils_[place->second];
      const bool again = std::any_of(pupil.seconds.begin(), pupil.seconds.end(),
                                     [&](double s) { return std::abs(std::log(s / figure.seconds)) < 1e-6; });
      if (!again)
        pupil.seconds.push_back(figure.seconds), taken = true;
      else if (!told)  // of all its parts
        remark(one.name, fmt::format("is {} again: counts once", pupil.of->name), true), told = true;
    }
    if (taken && one.memory)
      held_.push_back({one.name, run, one.memory->value,
                       logged_memory(prediction, one.run->stack, one.counter).value,
                       memory_spread(one.run->stack.described)});
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
      std::size_t end = i + 1;
      while (end < pupils_.size() && pupils_[end].of == pupils_[i].of) ++end;
      const Belief belief{believed.factors(), believed.shift(kind_of(*pupils_[i].of->run))};
      for (Lesson& lesson : lessons_of(std::span(pupils_).subspan(i, end - i), belief))
        lessons.push_back(std::move(lesson));
      i = end;
    }
    return lessons;
  }

  // All parts of one run, from the same predictions.
  static std::vector<Lesson> lessons_of(std::span<const Pupil> pupils, const Belief& belief) {
    if (pupils.empty()) return {};
    const Measured& of = *pupils.front().of;
    std::vector<FigureOf> figures;
    for (const Pupil& pupil : pupils)
      figures.emplace_back([&run = *of.run, part = pupil.part](const Prediction& p) {
        return predicted_figure(run, p, part);
      });
    const Sensitivity there =
        sensitivity(*of.run, of.costs, shifted(belief.factors, belief.besides), figures);
    const Prediction plain = predict_with(*of.run, of.costs, {});
    std::vector<Lesson> lessons;
    for (std::size_t k = 0; k < pupils.size(); ++k)
      lessons.push_back(lesson_of(pupils[k], plain, there.at, there.slopes[k], belief));
    return lessons;
  }

  static Lesson lesson_of(const Pupil& pupil, const Prediction& plain, const Prediction& there,
                          const ClusterFactors& slope, const Belief& belief) {
    const Run& run = *pupil.of->run;
    Lesson lesson;
    lesson.name = pupil.of->name;
    lesson.part = pupil.part;
    lesson.kind = kind_of(run);
    lesson.gpus = run.gpus;
    lesson.plan = to_text(run.plan);
    lesson.measured = pupil.mean();
    lesson.predicted = predicted_figure(run, plain, pupil.part).value;
    lesson.run = run_identity(run);
    lesson.fingerprint = fingerprint_of(lesson.run, name(pupil.part), lesson.measured);
    lesson.gap = std::log(lesson.measured / predicted_figure(run, there, pupil.part).value);
    // What a kind has besides multiplies all times, so that it adds what it is. By slopes, which are steeper than they are at one
    // point, it would add more, and from round to round more and more.
    lesson.gap += belief.besides;
    for (std::size_t k = 0; k < slope.size(); ++k) lesson.gap += slope[k] * belief.factors[k];
    lesson.slope = slope;
    lesson.spread = std::hypot(plain.step.spread * pupil.of->widened, pupil.apart);
    return lesson;
  }

  std::vector<Pupil> pupils_;
  std::map<std::string, std::size_t> places_;
  std::vector<HeldMemory> held_;
  std::vector<Remark> remarks_;
};

}  // namespace

std::vector<Lesson> lessons_of(const Measured& measured, const Belief& belief) {
  return Class::lessons_of(measured, belief);
}

Result<Learned> learn(const std::vector<Measured>& measured, const PriorShares& shares) {
  return Class().teach(measured, shares);
}

}  // namespace foretrain
