#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "predict/uncertainty.h"
#include "report/over_report.h"
#include "report/table.h"
#include "report/text_parts.h"
#include "spec/plan_text.h"

namespace foretrain {
namespace {

double longest_step(const OverAnswer& a) {
  double longest = 0;
  for (const OverPoint& p : a.points)
    if (p.runs()) longest = std::max(longest, p.figures.step.value);
  return longest;
}

std::string header(const OverAnswer& a) {
  const Run& run = a.base;
  const auto swept = [&](std::string_view key) {
    return std::any_of(a.axes.begin(), a.axes.end(), [&](const OverAxis& axis) { return axis.key == key; });
  };
  const auto said = [&](std::string_view key, std::string word) {
    return swept(key) ? fmt::format("({})", key) : std::move(word);
  };
  std::string out =
      fmt::format("{} on {}: {} x {}, stack {}, profile {}\n", said("model", printable(run.model.name)),
                  said("cluster", printable(run.cluster.name)), said("gpus", fmt::format("{}", run.gpus)),
                  said("cluster", printable(run.cluster.gpu.name)), said("stack", printable(run.stack.name)),
                  printable(run.profile));
  out += fmt::format("plan        {}\n", to_text(run.plan));
  out += fmt::format("batch       {} x {} tokens a step\n",
                     said("global_batch", fmt::format("{}", run.global_batch)),
                     said("seq", fmt::format("{}", run.seq)));
  std::vector<std::string> axes;
  for (const OverAxis& axis : a.axes)
    axes.push_back(
        fmt::format("{} ({} value{})", axis.key, axis.words.size(), axis.words.size() == 1 ? "" : "s"));
  const auto first =
      std::find_if(a.points.begin(), a.points.end(), [](const OverPoint& p) { return p.runs(); });
  out += fmt::format("over        {}; plan and batch as at {}\n", join(axes, " and "),
                     a.place(static_cast<std::size_t>(first - a.points.begin())));
  return out;
}

std::string interval(const OverFigures& f, const TimeUnit& unit) {
  return fmt::format("{} to {}", unit.tell(Seconds(f.step.low())), unit.tell(Seconds(f.step.high())));
}

std::string list(const OverAnswer& a) {
  const TimeUnit unit = unit_of(longest_step(a));
  const bool trains = std::any_of(a.points.begin(), a.points.end(),
                                  [](const OverPoint& p) { return p.runs() && p.figures.whole; });
  const bool paid = std::any_of(a.points.begin(), a.points.end(), [](const OverPoint& p) {
    return p.runs() && p.figures.whole && p.figures.whole->usd;
  });
  std::vector<Align> columns(static_cast<std::size_t>(7 + (trains ? 1 : 0) + (paid ? 1 : 0)), Align::kRight);
  if (!a.axes[0].numbers) columns.front() = Align::kLeft;
  columns.push_back(Align::kLeft);
  Table table(columns);
  std::vector<std::string> head = {
      a.axes[0].key, fmt::format("step ({})", unit.name), "80 % interval", "memory", "fits", "MFU",
      "tokens/s/GPU"};
  if (trains) head.emplace_back("days");
  if (paid) head.emplace_back("USD");
  head.emplace_back("most of it");
  table.add(head);
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    const OverPoint& p = a.points[i];
    std::vector<std::string> row = {printable(a.axes[0].words[i])};
    if (!p.runs()) {
      row.resize(head.size() - 1, "-");
      row.push_back("cannot run: " + printable(p.refused));
      table.add(row);
      continue;
    }
    const OverFigures& f = p.figures;
    row.insert(row.end(), {unit.tell(Seconds(f.step.value)), interval(f, unit), human_bytes(f.needed),
                           chance(f.fit_probability), fmt::format("{:.1f} %", 100 * f.mfu),
                           human_count(f.tokens_per_s_per_gpu)});
    if (trains) row.push_back(fmt::format("{:.4g}", f.whole->days()));
    if (paid) row.push_back(f.whole->usd ? human_count(*f.whole->usd) : "-");
    row.push_back(causes_text(f));
    table.add(row);
  }
  return "\n" + table.text("  ");
}

// What a point's figure is in words, with a mark where it does not surely fit.
std::string cell(const OverPoint& p, const std::string& figure) {
  if (!p.runs()) return "- ";
  const std::string_view fit = verdict_name(p.figures.fit_probability);
  return figure + (fit == "fits" ? " " : fit == "may_not_fit" ? "?" : "!");
}

template <class Figure>
std::string matrix(const OverAnswer& a, std::string_view title, Figure figure) {
  Table table(std::vector<Align>(a.columns() + 1, Align::kRight));
  std::vector<std::string> head = {fmt::format("{} \\ {}", a.axes[0].key, a.axes[1].key)};
  for (const std::string& word : a.axes[1].words) head.push_back(printable(word) + " ");
  table.add(head);
  for (std::size_t r = 0; r < a.axes[0].words.size(); ++r) {
    std::vector<std::string> row = {printable(a.axes[0].words[r])};
    for (std::size_t c = 0; c < a.columns(); ++c) {
      const OverPoint& p = a.at(r, c);
      row.push_back(cell(p, p.runs() ? figure(p.figures) : ""));
    }
    table.add(row);
  }
  return fmt::format("\n{}\n{}", title, table.text("  "));
}

// The same reason at many points is told once.
std::string refusals(const OverAnswer& a) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    if (a.points[i].runs()) continue;
    const std::string reason = printable(a.points[i].refused);
    auto found =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == reason; });
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {reason, {}});
    found->second.push_back(printable(a.place(i)));
  }
  std::string out;
  for (const auto& [reason, places] : reasons)
    out += fmt::format("  {}{}: {}\n", places.front(),
                       places.size() > 1 ? fmt::format(" and {} more", places.size() - 1) : "", reason);
  return out.empty() ? out : "\n-  cannot run\n" + out;
}

std::string matrices(const OverAnswer& a) {
  const TimeUnit unit = unit_of(longest_step(a));
  std::string out = matrix(a, fmt::format("step ({})", unit.name),
                           [&](const OverFigures& f) { return unit.tell(Seconds(f.step.value)); });
  out += matrix(a, "tokens/s/GPU", [](const OverFigures& f) { return human_count(f.tokens_per_s_per_gpu); });
  out += matrix(a, "what takes most beside forward and backward (% of the step)", [](const OverFigures& f) {
    const auto most = f.most_beside();
    return most ? fmt::format("{} {:.0f}", name(*most), 100 * f.share(*most)) : std::string("nothing");
  });
  const auto has = [&](std::string_view word) {
    return std::any_of(a.points.begin(), a.points.end(), [&](const OverPoint& p) {
      return p.runs() && verdict_name(p.figures.fit_probability) == word;
    });
  };
  if (has("may_not_fit") || has("does_not_fit")) out += "\n";
  if (has("may_not_fit")) out += "?  may not fit\n";
  if (has("does_not_fit")) out += "!  does not fit: times are those of GPUs with memory enough\n";
  return out + refusals(a);
}

// A round step of an axis from 0, so that about six marks stand on it.
double mark_step(double longest) {
  const double rough = longest / 6, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

// Of one key: a line a point, from 0 to the longest.
std::string bars(const OverAnswer& a, const ChartStyle& style) {
  double most = 0;
  std::size_t label = a.axes[0].key.size();
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    label = std::max(label, printable(a.axes[0].words[i]).size());
    if (a.points[i].runs()) most = std::max(most, a.points[i].figures.step.high());
  }
  const int width = std::max(20, style.width - static_cast<int>(label) - 4);
  const auto column = [&](double seconds) {
    return std::clamp(static_cast<int>(std::lround(seconds / most * (width - 1))), 0, width - 1);
  };
  const TimeUnit unit = unit_of(most);
  std::string out = fmt::format("step ({}), with its 80 % interval\n", unit.name);
  std::string ticks(static_cast<std::size_t>(width), ' '), numbers(ticks);
  for (double v = 0; v <= most; v += mark_step(most)) {
    const std::string text = fmt::format("{:.4g}", v / unit.size);
    const auto at = static_cast<std::size_t>(column(v));
    if (at + text.size() > numbers.size()) break;
    numbers.replace(at, text.size(), text);
    ticks[at] = '|';
  }
  const auto trimmed = [](std::string line) { return line.substr(0, line.find_last_not_of(' ') + 1); };
  out += trimmed(fmt::format("  {:>{}}  {}", "", label, numbers)) + "\n";
  out += trimmed(fmt::format("  {:>{}}  {}", a.axes[0].key, label, ticks)) + "\n";
  const std::string_view rule = style.unicode ? "─" : "-", dot = style.unicode ? "●" : "o";
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    std::string line = fmt::format("  {:>{}}  ", printable(a.axes[0].words[i]), label);
    if (!a.points[i].runs()) {
      out += line + "cannot run\n";
      continue;
    }
    const OverFigures& f = a.points[i].figures;
    const int low = column(f.step.low()), high = column(f.step.high()), middle = column(f.step.value);
    for (int c = 0; c <= high; ++c) line += c < low ? std::string_view(" ") : c == middle ? dot : rule;
    out += line + (f.fits ? "" : verdict_of(f.fit_probability) == Verdict::kMayNotFit ? " ?" : " !") + "\n";
  }
  return out;
}

// Of two keys: how much of the best throughput each point has.
std::string shades(const OverAnswer& a, const ChartStyle& style) {
  constexpr std::array<std::string_view, 5> kPlain = {" .", " :", " +", " #", " @"};
  constexpr std::array<std::string_view, 5> kUnicode = {"░░", "▒░", "▒▒", "▓▓", "██"};
  double best = 0;
  std::size_t label = a.axes[0].key.size();
  for (const std::string& word : a.axes[0].words) label = std::max(label, printable(word).size());
  for (const OverPoint& p : a.points)
    if (p.runs()) best = std::max(best, p.figures.tokens_per_s_per_gpu);
  const auto& shade = style.unicode ? kUnicode : kPlain;
  std::string out = fmt::format("tokens/s/GPU, in fifths of the best ({}):", human_count(best));
  for (const std::string_view s : shade) out += style.unicode ? fmt::format(" {}", s) : std::string(s);
  out += fmt::format("\n  {:>{}}  {} from {} to {}\n", a.axes[0].key, label, a.axes[1].key,
                     printable(a.axes[1].words.front()), printable(a.axes[1].words.back()));
  for (std::size_t r = 0; r < a.axes[0].words.size(); ++r) {
    out += fmt::format("  {:>{}}  ", printable(a.axes[0].words[r]), label);
    for (std::size_t c = 0; c < a.columns(); ++c) {
      const OverPoint& p = a.at(r, c);
      const double part = p.runs() ? p.figures.tokens_per_s_per_gpu / best : 0;
      out += p.runs() ? shade[static_cast<std::size_t>(std::clamp(std::ceil(part * 5) - 1, 0.0, 4.0))] : " -";
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string causes_text(const OverFigures& f) {
  std::string out = fmt::format("{} {:.0f} %", name(f.most()), 100 * f.share(f.most()));
  if (const auto beside = f.most_beside(); beside && *beside != f.most())
    out += fmt::format("; {} {:.0f} %", name(*beside), 100 * f.share(*beside));
  return out;
}

std::string over_text(const OverAnswer& a) {
  std::string out = header(a) + (a.axes.size() == 2 ? matrices(a) : list(a));
  if (!a.notes.empty()) out += "\n";
  for (const std::string& note : a.notes) out += printable(note) + "\n";
  if (!a.assumed.empty()) out += "\nassumed\n";
  for (const std::string& line : a.assumed) out += "  " + printable(line) + "\n";
  return out;
}

std::string over_chart(const OverAnswer& a, const ChartStyle& style) {
  return a.axes.size() == 2 ? shades(a, style) : bars(a, style);
}

}  // namespace foretrain
