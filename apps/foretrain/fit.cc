// foretrain fit: samples of one GPU become a profile.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "commands.h"
#include "cost/profile_store.h"
#include "fit/study.h"
#include "report/fit_report.h"
#include "spec/catalog.h"

namespace foretrain {
namespace {

std::string without_slashes(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return std::string(folder);
}

// Whether the profile may be written there: a folder that is not there yet or, with `force`, one that holds
// a profile.
Result<void> check_profile_folder(const std::string& folder, bool force) {
  if (!exists(folder)) {
    const std::string parent = std::filesystem::path(folder).parent_path().string();
    if (!parent.empty() && !is_folder(parent))
      return fail("-o: found no folder " + foretrain::quoted(parent) + " to write into");
    return {};
  }
  if (!is_folder(folder)) return fail("-o: " + foretrain::quoted(folder) + " is not a folder");
  if (!force)
    return fail("-o: " + foretrain::quoted(folder) + " exists; give --force to replace the profile in it");
  if (!is_file(folder + "/profile.yaml"))
    return fail("-o: " + foretrain::quoted(folder) +
                " holds no profile.yaml; --force replaces profiles only");
  return {};
}

// Everything that can be known to be wrong before the work begins.
Result<void> check_options(const FitCommandOptions& options, const std::string& presets_folder) {
  if (options.samples.empty()) return fail("fit: found no samples, expected a file or a folder of them");
  if (options.gpu.empty()) return fail("--gpu: found nothing, expected the GPU that was sampled");
  if (options.out.empty() && !options.study && !options.learning_curve)
    return fail("-o: found no folder, expected where the profile goes");
  if (!options.out.empty()) TRY(check_profile_folder(without_slashes(options.out), options.force));
  const std::string html_folder = std::filesystem::path(options.html).parent_path().string();
  if (!html_folder.empty() && !is_folder(html_folder))
    return fail("--html: found no folder " + foretrain::quoted(html_folder) + " to write into");
  if (options.derive_from == kAnalyticProfile)
    return fail("--derive-from: found 'analytic', expected a fitted profile; physics stands in anyway");
  if (!options.derive_from.empty())
    if (const auto parent = ProfileStore(disk(), presets_folder).load(options.derive_from); !parent)
      return at_option("--derive-from", parent.error());
  return check_xgboost();
}

// A GPU without a rate for a product's format cannot have run it.
Result<void> check_rates(const std::vector<Sample>& samples, const Gpu& gpu) {
  for (const Sample& sample : samples)
    if (is_product(sample.op.kind) && gpu.rate(sample.op.dtype).value <= 0)
      return fail(fmt::format("found a sample of {}, but {} states no rate for {}", operator_label(sample.op),
                              printable(gpu.name), name(sample.op.dtype)),
                  Position{sample.source});
  return {};
}

ProfileInfo info_of(const FitCommandOptions& options, const Gpu& gpu) {
  ProfileInfo info;
  info.name = options.name.empty() ? std::filesystem::path(without_slashes(options.out)).filename().string()
                                   : options.name;
  info.gpu = gpu.name;
  info.source = options.source.empty() ? "samples in " + options.samples : options.source;
  info.derive_from = options.derive_from;
  return info;
}

tl::unexpected<Error> too_few(std::string_view option) {
  return fail(fmt::format("{}: no operator has usable samples enough, expected some tens of one", option));
}

Result<std::vector<StudyReportRow>> studied(const std::vector<Sample>& samples, const Gpu& gpu) {
  ProgressBar bar("studying", "samples");
  bar.update(0, samples.size());
  TRY_ASSIGN(
      const std::vector<StudyRow> rows,
      study(samples, gpu, FitOptions{}, [&](std::size_t done, std::size_t all) { bar.update(done, all); }));
  if (rows.empty()) return too_few("--study");
  std::vector<StudyReportRow> out;
  for (const StudyRow& row : rows) out.push_back({row.key, row.samples, row.shapes, row.hidden, row.largest});
  return out;
}

Result<std::vector<CurveReportPoint>> curve_of(const std::vector<Sample>& samples, const Gpu& gpu) {
  ProgressBar bar("learning curve", "samples");
  bar.update(0, samples.size());
  TRY_ASSIGN(const std::vector<CurvePoint> points,
             learning_curve(samples, gpu, FitOptions{},
                            [&](std::size_t done, std::size_t all) { bar.update(done, all); }));
  if (points.empty()) return too_few("--learning-curve");
  std::vector<CurveReportPoint> out;
  for (const CurvePoint& point : points) out.push_back({point.key, point.samples, point.error});
  return out;
}

// As many of a model's samples as are drawn, evenly picked, each as a model that had not seen it predicts it.
std::vector<Scatter> scatters_of(const std::vector<FittedOperator>& models,
                                 const std::vector<Sample>& clean) {
  std::vector<Scatter> scatters;
  const std::vector<SampleGroup> groups = group_samples(clean);
  for (const FittedOperator& model : models)
    for (const SampleGroup& group : groups) {
      if (group.key != model.key) continue;
      const std::size_t n = group.samples.size(), most = std::min(n, kMaxPointsDrawn);
      Scatter scatter{model.key, {}};
      for (std::size_t i = 0; i < most; ++i) {
        const double us = group.samples[i * n / most]->us, ratio = model.held_out[i * n / most];
        if (ratio > 0) scatter.points.push_back({us, us * ratio});
      }
      scatters.push_back(std::move(scatter));
    }
  return scatters;
}

Result<FitReport> fitted(const FitCommandOptions& options, const std::string& presets_folder) {
  TRY(check_options(options, presets_folder));
  const auto gpu = Catalog(disk(), presets_folder).gpu(options.gpu);
  if (!gpu) return at_option("--gpu", gpu.error());
  TRY_ASSIGN(std::vector<Sample> samples, read_samples(disk(), options.samples));
  // The sampler's products with other work between them: the same shapes at other clocks.
  if (const std::string mixed = without_slashes(options.samples) + "/mixed"; is_folder(mixed)) {
    TRY_ASSIGN(std::vector<Sample> more, read_samples(disk(), mixed));
    std::move(more.begin(), more.end(), std::back_inserter(samples));
  }
  TRY(check_rates(samples, *gpu));

  FitReport report;
  report.gpu = gpu->name;
  report.samples_name = options.samples;
  report.read = samples.size();
  const CleanResult cleaned = clean(std::move(samples), *gpu);
  report.used = cleaned.kept.size();
  report.rejections = cleaned.rejections;
  report.host_shares = cleaned.host_shares;
  FittedProfile profile;
  if (!options.out.empty() || !options.html.empty()) {
    ProgressBar bar("fitting", "samples");
    bar.update(0, report.used);
    TRY_ASSIGN(profile, fit_profile(cleaned.kept, *gpu, FitOptions{},
                                    [&](std::size_t done, std::size_t all) { bar.update(done, all); }));
    report.too_few = profile.too_few;
    if (profile.power) report.power = {profile.power->model, profile.power->samples, profile.power->error};
    report.power_left_out = profile.power_left_out;
    for (const FittedOperator& model : profile.models) report.models.push_back(model.view());
  }
  if (options.study) {
    TRY_ASSIGN(report.study, studied(cleaned.kept, *gpu));
  }
  if (options.learning_curve) {
    TRY_ASSIGN(report.curve, curve_of(cleaned.kept, *gpu));
  }
  if (!options.html.empty()) {
    report.scatters = scatters_of(profile.models, cleaned.kept);
    TRY(write_file(options.html, fit_html(report)));
  }
  if (!options.out.empty()) {
    report.written = without_slashes(options.out);
    // A profile that is found by its path goes along, for the path would not.
    const ProfileStore store(disk(), presets_folder);
    const std::vector<std::string> known = store.names();
    std::vector<OutputFile> parent;
    if (!options.derive_from.empty() &&
        std::find(known.begin(), known.end(), options.derive_from) == known.end()) {
      TRY_ASSIGN(parent, store.files_of(options.derive_from));
    }
    ProfileInfo info = info_of(options, *gpu);
    if (profile.power) info.power = profile.power->model;
    TRY(check_profile_folder(report.written, options.force));
    TRY(replace_folder(report.written, profile_files(info, profile.models, parent), kProfileEntries));
  }
  for (OperatorModelView& model : report.models)  // what lies in the profile goes with it
    model.residual = {}, model.smooth = {}, model.host = {}, model.power = {};
  return report;
}

}  // namespace

int run_fit(const FitCommandOptions& options, const std::string& presets_folder) {
  const auto report = fitted(options, presets_folder);
  if (!report) return refuse(report.error());
  return answer(options.json ? fit_json(*report) : fit_text(*report));
}

}  // namespace foretrain
