#include "ask/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ask/guard.h"
#include "base/field_mark.h"
#include "base/text.h"
#include "fit/against.h"
#include "fit/carried_clock.h"
#include "fit/study.h"
#include "samples/sample_table.h"

namespace foretrain {
namespace {

Result<void> check_words(const FitRequest& request, const ProfileStore& profiles) {
  if (request.samples.empty())
    return fail_field("samples", "found no samples, expected a file or a folder of them");
  if (request.gpu.empty()) return fail_field("gpu", "found nothing, expected the GPU that was sampled");
  if (request.derive_from == kAnalyticProfile)
    return fail_field("derive_from", "found 'analytic', expected a fitted profile; physics stands in anyway");
  if (!request.derive_from.empty()) TRY(of_field("derive_from", profiles.load(request.derive_from)));
  if (!request.against.empty() && request.derive_from.empty())
    return fail_field("against", "found no profile beside it, expected " + marked("derive_from") +
                                     " of the GPU whose samples these are");
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

ProfileInfo info_of(const FitRequest& request, const Gpu& gpu, const FittedProfile& profile) {
  ProfileInfo info;
  info.name = request.name;
  info.gpu = gpu.name;
  info.source = request.source.empty() ? "samples in " + request.samples.front().name : request.source;
  info.derive_from = request.derive_from;
  if (profile.power) info.power = profile.power->model;
  info.host_launch = profile.host_launch;
  return info;
}

// A profile that is found by its path goes along, for the path would not.
Result<std::vector<OutputFile>> parent_of(const FitRequest& request, const ProfileStore& profiles) {
  const std::vector<std::string> known = profiles.names();
  const bool named = std::find(known.begin(), known.end(), request.derive_from) != known.end();
  if (request.derive_from.empty() || named) return std::vector<OutputFile>{};
  return profiles.files_of(request.derive_from);
}

tl::unexpected<Error> too_few(std::string_view field) {
  return fail_field(field, "no operator has usable samples enough, expected some tens of one");
}

// The progress of one stage, from its beginning.
Progress stage(const FitProgress& progress, std::string_view name, std::size_t all) {
  if (!progress) return {};
  progress(name, 0, all);
  return [&progress, name](std::size_t done, std::size_t of) { progress(name, done, of); };
}

Result<std::vector<StudyRow>> studied(const std::vector<Sample>& samples, const Gpu& gpu,
                                      const FitProgress& progress) {
  TRY_ASSIGN(std::vector<StudyRow> rows,
             study(samples, gpu, FitOptions{}, stage(progress, "studying", samples.size())));
  if (rows.empty()) return too_few("study");
  return rows;
}

Result<std::vector<CurvePoint>> curve_of(const std::vector<Sample>& samples, const Gpu& gpu,
                                         const FitProgress& progress) {
  TRY_ASSIGN(std::vector<CurvePoint> points,
             learning_curve(samples, gpu, FitOptions{}, stage(progress, "learning curve", samples.size())));
  if (points.empty()) return too_few("learning_curve");
  return points;
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

Result<std::vector<Sample>> samples_of(std::vector<Sources>& of, const Gpu& gpu) {
  std::vector<Sample> samples;
  for (Sources& tables : of) {
    Sources taken{tables.name, tables.folder, std::move(tables.files)};
    TRY_ASSIGN(std::vector<Sample> more, parse_samples(std::move(taken)));
    std::move(more.begin(), more.end(), std::back_inserter(samples));
  }
  TRY(check_rates(samples, gpu));
  return samples;
}

// What the profile that this one derives from says of samples: clocks that they lack, where it knows what power does,
// or all of their times, against those of the same tables on its GPU.
Result<FitOptions> carry(Session& session, FitRequest& request, const Gpu& gpu,
                         std::vector<Sample>& samples) {
  FitOptions options;
  const bool lacks = std::any_of(samples.begin(), samples.end(), lacks_clock);
  if (request.derive_from.empty() || (!lacks && request.against.empty())) return options;
  TRY_ASSIGN(const LoadedProfile parent, session.profiles().load(request.derive_from));
  Cluster there;
  TRY_ASSIGN(there.gpu, session.catalog().gpu(parent.info.gpu));
  TRY_ASSIGN(const ProfileStore::Choice costs, session.profiles().costs_for(there, request.derive_from));
  if (const PowerModel* power = costs.costs->power()) options.carried = carried_power(*power, there.gpu, gpu);
  options.derived = !request.against.empty();
  if (options.derived) {
    TRY_ASSIGN(const std::vector<Sample> known, samples_of(request.against, there.gpu));
    samples = carried_against(samples, known, gpu, *costs.costs);
    if (samples.empty()) return fail_field("against", "found no shape that both have, expected some tens");
  } else if (options.carried) {
    carry_clocks(samples, gpu, *options.carried, *costs.costs);
  }
  if (options.carried)
    options.clocked_share = [costs = costs.costs](const Operator& op) {
      return costs->cost(op).clocked_share;
    };
  return options;
}

Result<FittedProfile> fit_into(FitReport& report, const std::vector<Sample>& clean, const Gpu& gpu,
                               const FitOptions& options, const FitProgress& progress) {
  TRY_ASSIGN(FittedProfile profile,
             fit_profile(clean, gpu, options, stage(progress, "fitting", clean.size())));
  report.too_few = profile.too_few;
  report.power = profile.power;
  report.power_left_out = profile.power_left_out;
  for (const FittedOperator& model : profile.models) {
    OperatorModelView view = model.view();
    view.residual = {}, view.smooth = {}, view.host = {}, view.power = {};  // what they view is not kept
    report.models.push_back(std::move(view));
  }
  return profile;
}

Result<FitAnswer> fitted(Session& session, FitRequest& request, const FitProgress& progress) {
  const ProfileStore& profiles = session.profiles();
  TRY(check_words(request, profiles));
  TRY_ASSIGN(const Gpu gpu, of_field("gpu", session.catalog().gpu(request.gpu)));
  TRY_ASSIGN(std::vector<Sample> samples, samples_of(request.samples, gpu));
  FitAnswer answer;
  FitReport& report = answer.report;
  report.gpu = gpu.name;
  report.samples_name = request.samples.front().name;
  report.read = samples.size();
  CleanResult cleaned = clean(std::move(samples), gpu);
  TRY_ASSIGN(const FitOptions options, carry(session, request, gpu, cleaned.kept));
  report.used = cleaned.kept.size();
  report.rejections = cleaned.rejections;
  report.host_shares = cleaned.host_shares;
  FittedProfile profile;
  if (request.profile || request.scatters) {
    TRY_ASSIGN(profile, fit_into(report, cleaned.kept, gpu, options, progress));
  }
  if (request.study) {
    TRY_ASSIGN(report.study, studied(cleaned.kept, gpu, progress));
  }
  if (request.learning_curve) {
    TRY_ASSIGN(report.curve, curve_of(cleaned.kept, gpu, progress));
  }
  if (request.scatters) report.scatters = scatters_of(profile.models, cleaned.kept);
  if (request.profile) {
    TRY_ASSIGN(const std::vector<OutputFile> parent, parent_of(request, profiles));
    answer.files = profile_files(info_of(request, gpu, profile), profile.models, parent);
  }
  return answer;
}

}  // namespace

Result<std::vector<Sources>> read_fit_samples(const Files& files, const std::string& path) {
  std::vector<Sources> samples;
  const std::string mixed = path + (path.ends_with('/') ? "" : "/") + "mixed";
  TRY_ASSIGN(Sources own, sample_sources(files, path));
  samples.push_back(std::move(own));
  if (files.is_folder(mixed)) {
    TRY_ASSIGN(Sources more, sample_sources(files, mixed));
    samples.push_back(std::move(more));
  }
  return samples;
}

Result<FitAnswer> ask(Session& session, FitRequest request, const FitProgress& progress) {
  return guarded([&] { return fitted(session, request, progress); });
}

}  // namespace foretrain
