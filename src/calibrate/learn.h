// From measured runs to a calibration: each figure of a run becomes a lesson, and the factors that lessons are taken about
// are those that they teach (two rounds of Gauss and Newton, so that a factor which hides behind another comes out too).
//
// What is no evidence is told and left out or made to count less, never mixed in:
//   the same measurement again        counts once
//   several measurements of one run   are one lesson, of their geometric mean; where they lie apart, an unsure one
//   faster than the GPU multiplies, less than a third or more than ten times of the prediction: refused
//   a lesson that the others do not bear out gets a small weight (posterior.h), and is named
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/calibration.h"
#include "validate/measured_row.h"

namespace foretrain {

struct MeasuredFigure {
  MeasuredPart part = MeasuredPart::kStep;
  double seconds = 0;
};

struct Measured {
  std::string name;                // "runs.csv:7: some-id", "train.log"
  std::shared_ptr<const Run> run;  // checked
  std::shared_ptr<const CostSource> costs;
  std::vector<MeasuredFigure> figures;
  std::optional<Bytes> memory;
  std::optional<StatedCounter> counter;  // of that
  double widened = 1;                    // of the deviations, where facts of the run are guessed
};

// One that counts for nothing, or for less than it says.
struct Remark {
  std::string name, words;
  bool left_out = false;
};

struct Learned {
  Calibration calibration;  // without a name and an origin
  std::vector<Remark> remarks;
};

inline constexpr std::size_t kMostLessons = 1000;
inline constexpr double kSmallWeight = 0.5;  // of a lesson that is named

// What lessons are taken about: factors, and the logarithm of what runs of the kind have besides.
struct Belief {
  ClusterFactors factors{};
  double besides = 0;
};

// What each figure of a measurement teaches; for who studies how lessons are learned from. A figure that nothing is predicted
// of teaches nothing.
std::vector<Lesson> lessons_of(const Measured& measured, const Belief& belief = {});

// All of one cluster and GPU. None that is left: an error.
Result<Learned> learn(const std::vector<Measured>& measured, const PriorShares& shares = {});

}  // namespace foretrain
