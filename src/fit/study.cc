#include "fit/study.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

namespace foretrain {
namespace {

using Samples = std::vector<const Sample*>;

double work_of(const Operator& op) {
  const double work = flops(op).value;
  return work > 0 ? work : bytes(op).value;
}

bool hidden_held_out(const Sample& sample) {
  constexpr std::array<std::string_view, 4> kSizes = {"hidden=3072", "hidden=4096", "hidden=5120",
                                                      "hidden=8192"};
  return std::find(kSizes.begin(), kSizes.end(), sample.group) != kSizes.end();
}

// Predicted over measured on samples that judge, whose shapes are not fitted on, whatever label they carry;
// none where too little is left.
Result<std::vector<double>> ratios_on(Samples train, const Samples& test, const Gpu& gpu,
                                      const FitOptions& options) {
  std::unordered_set<Operator> judged;
  for (const Sample* sample : test) judged.insert(sample->op);
  std::erase_if(train, [&](const Sample* sample) { return judged.contains(sample->op); });
  if (train.size() < kFewestSamples || test.size() < kFewestSamples) return std::vector<double>();
  TRY_ASSIGN(const double clocked_share, fit_clocked_share(train, gpu, options));
  TRY_ASSIGN(const ResidualOptions residual, choose_residual(train, gpu, options, clocked_share));
  TRY_ASSIGN(const FittedOperator model, fit_model(train, gpu, residual, clocked_share));
  return ratios(model, test, gpu);
}

// Of the samples of one key among those judged; negative where there are none.
double error_of(const ModelKey& key, std::span<const Sample* const> judged, std::span<const double> found) {
  std::vector<double> own;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (key_of(judged[i]->op) == key && found[i] > 0) own.push_back(found[i]);
  return own.empty() ? -1.0 : mean_error(own);
}

}  // namespace

Result<std::vector<StudyRow>> study(const std::vector<Sample>& samples, const Gpu& gpu,
                                    const FitOptions& options, const Progress& progress) {
  std::vector<StudyRow> rows;
  std::size_t done = 0;
  FitOptions ten = options;
  ten.folds = 10;
  for (const SampleGroup& group : group_samples(samples)) {
    done += group.samples.size();
    if (group.samples.size() < kFewestSamples) continue;
    TRY_ASSIGN(const FittedOperator whole, fit_operator(group.samples, gpu, ten));

    Samples train, hidden;
    for (const Sample* s : group.samples) (hidden_held_out(*s) ? hidden : train).push_back(s);
    TRY_ASSIGN(const std::vector<double> on_hidden, ratios_on(train, hidden, gpu, options));
    Samples by_work = group.samples;
    std::stable_sort(by_work.begin(), by_work.end(),
                     [](const Sample* a, const Sample* b) { return work_of(a->op) < work_of(b->op); });
    // Equal work stays together: the cut moves up to where the work changes.
    std::size_t cut = by_work.size() * 4 / 5;
    while (cut < by_work.size() && work_of(by_work[cut]->op) == work_of(by_work[cut - 1]->op)) ++cut;
    const auto at = by_work.begin() + static_cast<std::ptrdiff_t>(cut);
    const Samples largest(at, by_work.end());
    TRY_ASSIGN(const std::vector<double> on_largest,
               ratios_on(Samples(by_work.begin(), at), largest, gpu, options));

    // A row for each implementation and pass of a pooled group.
    std::vector<ModelKey> keys;
    for (const Sample* sample : group.samples)
      if (std::find(keys.begin(), keys.end(), key_of(sample->op)) == keys.end())
        keys.push_back(key_of(sample->op));
    for (const ModelKey& key : keys) {
      StudyRow row{key, static_cast<std::size_t>(
                            std::count_if(group.samples.begin(), group.samples.end(),
                                          [&](const Sample* sample) { return key_of(sample->op) == key; }))};
      row.shapes = error_of(key, group.samples, whole.held_out);
      row.hidden = error_of(key, hidden, on_hidden);
      row.largest = error_of(key, largest, on_largest);
      rows.push_back(row);
    }
    if (progress) progress(done, samples.size());
  }
  return rows;
}

Result<std::vector<CurvePoint>> learning_curve(const std::vector<Sample>& samples, const Gpu& gpu,
                                               const FitOptions& options, const Progress& progress) {
  std::vector<CurvePoint> points;
  std::size_t done = 0;
  for (const SampleGroup& group : group_samples(samples)) {
    done += group.samples.size();
    Samples order = group.samples;
    std::stable_sort(order.begin(), order.end(), [&](const Sample* a, const Sample* b) {
      return shape_hash(a->op, options.seed + 7) < shape_hash(b->op, options.seed + 7);
    });
    // A fifth of the shapes judges, the rest is drawn from in a fixed random order.
    std::size_t judges = order.size() / 5;
    while (judges > 0 && judges < order.size() &&
           order[order.size() - judges]->op == order[order.size() - judges - 1]->op)
      --judges;  // equal shapes stay on one side
    const Samples test(order.end() - static_cast<std::ptrdiff_t>(judges), order.end());
    for (const std::size_t n : {25, 50, 100, 200, 400, 800, 1600}) {
      if (n > order.size() - judges || judges < kFewestSamples) break;
      TRY_ASSIGN(const std::vector<double> found,
                 ratios_on(Samples(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n)), test, gpu,
                           options));
      points.push_back({group.key, n, mean_error(found)});
    }
    if (progress) progress(done, samples.size());
  }
  return points;
}

}  // namespace foretrain
