#include "report/profile_report.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "report/fit_report.h"

namespace foretrain {
namespace {

constexpr std::string_view kAnalyticSource = "datasheets and formulas (docs/theory.md); nothing measured";

std::int64_t samples_of(const LoadedProfile& profile) {
  std::int64_t samples = 0;
  for (const OperatorModelView& model : profile.models.models()) samples += model.facts.samples;
  return samples;
}

void put_text(JsonWriter& w, std::string_view key, const std::string& text) {
  w.key(key);
  if (text.empty())
    w.null();
  else
    w.value(text);
}

}  // namespace

std::string profile_text(const LoadedProfile& profile) {
  const ProfileInfo& info = profile.info;
  const auto& models = profile.models.models();
  std::string text = fmt::format("name     {}\ngpu      {}\n", printable(info.name), printable(info.gpu));
  if (!info.source.empty()) text += "source   " + printable(info.source) + "\n";
  if (!info.derive_from.empty())
    text +=
        fmt::format("derives  from {}: operators that have no model here, by the ratio of the GPUs' rates\n",
                    printable(info.derive_from));
  text += fmt::format("models   {}, of {} samples\n", models.size(), with_commas(samples_of(profile)));
  if (info.power)
    text += "power    " + power_text(*info.power) + "\n";
  else if (!models.empty())
    text += "power    not known: no clock is applied, times stand for the load they were sampled under\n";
  if (info.host_launch)
    text += fmt::format("host     {:.4g} us a launch on the machine that was sampled\n",
                        info.host_launch->value * 1e6);
  if (models.empty()) return text;
  return text +
         "\nerror: mean absolute, on shapes a model has not seen; outside: beyond the sampled sizes\n" +
         models_text(models);
}

std::string profile_json(const LoadedProfile& profile) {
  const ProfileInfo& info = profile.info;
  JsonWriter w;
  w.begin_answer().key("name").value(info.name).key("gpu").value(info.gpu);
  put_text(w, "source", info.source);
  put_text(w, "derive_from", info.derive_from);
  w.key("samples").value(samples_of(profile)).key("power");
  if (info.power) {
    w.begin_object().key("static_w").value(info.power->static_w);
    w.key("pj_per_byte").value(info.power->joules_per_byte * 1e12);
    w.key("pj_per_flop").value(info.power->joules_per_flop * 1e12);
    if (info.power->joules_per_fp8_flop > 0)
      w.key("pj_per_fp8_flop").value(info.power->joules_per_fp8_flop * 1e12);
    w.key("exponent").value(info.power->exponent).key("reference_mhz").value(info.power->reference_mhz);
    w.end_object();
  } else {
    w.null();
  }
  w.key("host_launch_us");
  if (info.host_launch)
    w.value(info.host_launch->value * 1e6);
  else
    w.null();
  w.key("models").begin_array();
  for (const OperatorModelView& model : profile.models.models()) put_model(w, model);
  w.end_array().end_object();
  return w.text();
}

std::string analytic_profile_text() {
  return fmt::format("name     analytic\nsource   {}, for every GPU\n", kAnalyticSource);
}

std::string analytic_profile_json() {
  JsonWriter w;
  w.begin_answer().key("name").value("analytic").key("gpu").null();
  w.key("source").value(kAnalyticSource).key("derive_from").null();
  w.key("samples").value(0).key("power").null().key("host_launch_us").null();
  w.key("models").begin_array().end_array().end_object();
  return w.text();
}

}  // namespace foretrain
