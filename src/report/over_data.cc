// A run over a range, for scripts: a row or an object a point.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "predict/uncertainty.h"
#include "report/over_report.h"
#include "report/plan_json.h"

namespace foretrain {
namespace {

// Without what ends a cell.
std::string csv_cell(std::string text) {
  text = printable(text);
  std::replace(text.begin(), text.end(), ',', ';');
  std::replace(text.begin(), text.end(), '"', '\'');
  return text;
}

// As a number where the key's values are.
void put_word(JsonWriter& w, const OverAxis& axis, const std::string& word) {
  const auto number = axis.numbers ? parse_number(word) : std::nullopt;
  if (number && *number == std::floor(*number) && std::abs(*number) < 1e15)
    w.value(static_cast<std::int64_t>(*number));
  else if (number)
    w.value(*number);
  else
    w.value(word);
}

}  // namespace

void put_figures(JsonWriter& w, const OverFigures& f) {
  w.key("step_s").value(f.step.value);
  w.key("step_low_s").value(f.step.low());
  w.key("step_high_s").value(f.step.high());
  w.key("typical_s").value(f.typical.value);
  w.key("tokens_per_s_per_gpu").value(f.tokens_per_s_per_gpu);
  w.key("mfu").value(f.mfu);
  w.key("fits").value(f.fits);
  w.key("verdict").value(verdict_name(f.fit_probability));
  w.key("fit_probability").value(f.fit_probability);
  w.key("needed_bytes").value(std::round(f.needed.value));
  w.key("peak_bytes").value(std::round(f.peak.value));
  if (f.whole) {
    w.key("training").begin_object();
    w.key("days").value(f.whole->days());
    w.key("gpu_hours").value(f.whole->gpu_hours);
    if (f.whole->usd) w.key("usd").value(*f.whole->usd);
    w.end_object();
  }
  w.key("limit").begin_object();
  w.key("cause").value(name(f.most()));
  w.key("share").value(f.share(f.most()));
  const auto beside = f.most_beside();
  w.key("beside_compute");
  beside ? w.value(name(*beside)) : w.null();
  w.key("beside_compute_share").value(beside ? f.share(*beside) : 0.0);
  w.end_object();
  w.key("breakdown_s").begin_object();
  for (std::size_t i = 0; i < f.breakdown.size(); ++i)
    w.key(kStepCauseNames[i]).value(told_seconds(f.breakdown[i]));
  w.end_object();
  w.key("gpus").value(f.gpus);
  w.key("seq").value(f.seq);
  w.key("global_batch").value(f.global_batch);
  w.key("plan").value(f.plan);
}

std::string figures_csv_head() {
  return "step_s,step_low_s,step_high_s,typical_s,tokens_per_s_per_gpu,mfu,needed_bytes,peak_bytes,verdict,"
         "fit_probability,limit,limit_share,beside_compute,beside_compute_share,days,gpu_hours,usd,plan,"
         "refused";
}

std::string figures_csv(const OverPoint& p) {
  if (!p.runs()) return std::string(18, ',') + csv_cell(p.refused);
  const OverFigures& f = p.figures;
  const auto beside = f.most_beside();
  std::string out =
      fmt::format("{},{},{},{},{},{},{:.0f},{:.0f},{},{},{},{},{},{},", f.step.value, f.step.low(),
                  f.step.high(), f.typical.value, f.tokens_per_s_per_gpu, f.mfu, f.needed.value, f.peak.value,
                  verdict_name(f.fit_probability), f.fit_probability, name(f.most()), f.share(f.most()),
                  beside ? name(*beside) : "", beside ? f.share(*beside) : 0.0);
  out += f.whole ? fmt::format("{},{},{},", f.whole->days(), f.whole->gpu_hours,
                               f.whole->usd ? fmt::format("{}", *f.whole->usd) : "")
                 : ",,,";
  return out + csv_cell(f.plan) + ",";
}

std::string over_csv(const OverAnswer& a) {
  std::string out;
  for (const OverAxis& axis : a.axes) out += axis.key + ",";
  out += figures_csv_head() + "\n";
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    const OverPoint& p = a.points[i];
    out += csv_cell(a.axes[0].words[i / a.columns()]) + ",";
    if (a.axes.size() == 2) out += csv_cell(a.axes[1].words[i % a.columns()]) + ",";
    out += figures_csv(p) + "\n";
  }
  return out;
}

std::string over_json(const OverAnswer& a) {
  JsonWriter w;
  w.begin_answer();
  w.key("over").begin_array();
  for (const OverAxis& axis : a.axes) {
    w.begin_object().key("key").value(axis.key).key("values").begin_array();
    for (const std::string& word : axis.words) put_word(w, axis, word);
    w.end_array().end_object();
  }
  w.end_array();
  w.key("points").begin_array();
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    const OverPoint& p = a.points[i];
    w.begin_object().key("at").begin_object();
    w.key(a.axes[0].key);
    put_word(w, a.axes[0], a.axes[0].words[i / a.columns()]);
    if (a.axes.size() == 2) {
      w.key(a.axes[1].key);
      put_word(w, a.axes[1], a.axes[1].words[i % a.columns()]);
    }
    w.end_object();
    if (p.runs())
      put_figures(w, p.figures);
    else
      w.key("refused").value(p.refused);
    w.end_object();
  }
  w.end_array();
  w.key("run").begin_object();
  w.key("model").value(a.base.model.name);
  w.key("cluster").value(a.base.cluster.name);
  w.key("gpu").value(a.base.cluster.gpu.name);
  w.key("stack").value(a.base.stack.name);
  w.key("profile").value(a.base.profile);
  w.end_object();
  for (const auto& [key, lines] : {std::pair{"notes", &a.notes}, {"assumed", &a.assumed}}) {
    w.key(key).begin_array();
    for (const std::string& line : *lines) w.value(line);
    w.end_array();
  }
  w.end_object();
  return w.text();
}

}  // namespace foretrain
