// What to measure next: which of two plans is faster, where their predictions lie too near to each other to say so.
//
//   D = log(step b / step a),   D ~ N(log of the predictions, sigma^2)
//   sigma^2 = var(b) + var(a) - 2 cov(a, b)
//
// with what the lessons leave to know of factors, of what kinds have besides, and of either run's own part (posterior.h): of a
// run that was measured, next to nothing. The plans are told apart
// where the 80 % interval of D leaves out 0. A measurement z that follows the same unknowns leaves
//   sigma'^2 = sigma^2 - cov(D, z)^2 / var(z)
// and moves the mean of D by a normal draw of variance sigma^2 - sigma'^2, so that before it is made the chance that it tells
// the two apart is known (the expected value of information of Raiffa and Schlaifer 1961, for two choices). Of the
// measurements and pairs of them that do so with 80 %, the cheapest is named first; where none does, the likeliest.
//
// What can be measured, with what it costs: a short run of either plan (all its GPUs for ten minutes); the sampler's products,
// light operators or launches (one GPU, ten minutes); nccl-tests inside a node or between two (five minutes).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "calibrate/posterior.h"

namespace foretrain {

// Two runs on one cluster. The lessons are without gap: what a prediction says of itself, with all that is known of the run.
struct Contest {
  Lesson a, b;
  double difference = 0;  // log(step b / step a), as predicted
};

// Something that can be measured.
struct Probe {
  std::string what;  // "nccl-tests between two nodes"
  std::string how;   // "foretrain import nccl-tests, then fit"
  double gpu_minutes = 0;
  ClusterFactors slope{};     // of the factors
  double of_a = 0, of_b = 0;  // 1: it is a run of that plan
  double noise = 0.03;
};
std::vector<Probe> possible_probes(const Contest& contest, std::int64_t gpus_per_node);

struct Proposal {
  std::vector<Probe> probes;  // one, or two
  double gpu_minutes = 0;
  double deviation = 0;  // of D once it is made
  double chance = 0;     // that the plans are then told apart
};

struct NextMeasurement {
  double difference = 0, deviation = 0;  // of D now
  bool told_apart = false;               // already
  std::vector<Proposal> proposals;       // the best first
};
inline constexpr double kSettles = 0.8;

NextMeasurement next_measurement(const Posterior& posterior, const Contest& contest,
                                 std::int64_t gpus_per_node);

// The mean of D once measurements gave these values, each the logarithm of what was measured over what was predicted.
double difference_after(const Posterior& posterior, const Contest& contest,
                        const std::vector<Probe>& measurements, const std::vector<double>& values);

}  // namespace foretrain
