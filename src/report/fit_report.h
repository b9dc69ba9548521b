// What became of samples: the models that were fitted, how good they are on what they have not seen, and
// pictures of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/operator_model.h"
#include "fit/power_fit.h"
#include "fit/study.h"
#include "samples/clean.h"

namespace foretrain {

// A sample beside what a model that had not seen its shape says, both in microseconds.
struct ScatterPoint {
  double measured = 0;
  double predicted = 0;
};
struct Scatter {
  ModelKey key;
  std::vector<ScatterPoint> points;
};

class JsonWriter;

struct FitReport {
  std::string gpu;
  std::string samples_name;  // file or folder
  std::size_t read = 0, used = 0;
  std::vector<Rejection> rejections;
  std::vector<HostShare> host_shares;
  std::vector<OperatorModelView> models;  // of which only key and facts are told
  std::optional<PowerFit> power;          // none: samples record no clocks, or none that follow
  bool power_left_out = false;            // power, which then is said
  std::vector<std::string> too_few;       // groups left to physics
  std::vector<StudyRow> study;
  std::vector<CurvePoint> curve;
  std::vector<Scatter> scatters;  // for HTML
  std::string written;            // the profile's folder; empty: none
};

// "m=128..8192 k=4096": the sampled range, size by size.
std::string range_text(const OperatorModelView& model);

// A line a model:
//   operator  impl  pass  dtype  samples  error  80 % interval      outside  clocked  origin        sampled
//   sizes linear    all   all   bf16     1,240  2.1 %  -3.1 % to +3.2 %  ...         75 %
// `error` is that on unseen shapes, `clocked` the share of time that follows the clock; a pooled model is of
// all implementations and passes.
std::string models_text(std::span<const OperatorModelView> models);

// "100 W static, 74.5 pJ a byte, 2.15 pJ a FLOP at 1980 MHz, less with the clock to the power of 3.19".
std::string power_text(const PowerModel& power);

// Its key, what stands in that line, and the sampled range of each size.
void put_model(JsonWriter& writer, const OperatorModelView& model);

std::string fit_text(const FitReport& report);
std::string fit_json(const FitReport& report);

// One file that needs nothing else: per model predicted against measured (log-log) and the distribution of
// their ratio, in SVG. At most kMaxPointsDrawn points a model, evenly picked.
inline constexpr std::size_t kMaxPointsDrawn = 2000;
std::string fit_html(const FitReport& report);

}  // namespace foretrain
