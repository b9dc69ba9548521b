#include "report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/figure_text.h"
#include "report/table.h"

namespace foretrain {
namespace {

constexpr double kBarWidth = 40;  // of the whole step

}  // namespace

std::string TimeUnit::tell(Seconds t) const {
  return fmt::format("{:.{}f}", t.value / size, size == 1.0 ? 3 : 2);
}

std::string TimeUnit::tell_change(Seconds t) const {
  return signed_text(t.value / size, size == 1.0 ? 3 : 2);
}

TimeUnit unit_of(double step) { return step >= 1.0 ? TimeUnit{"s", 1.0} : TimeUnit{"ms", 1e-3}; }

std::string sure(double probability) {
  if (probability > 0.99) return "over 99 % sure";
  return fmt::format("{:.0f} % sure", 100 * probability);
}

std::string chance(double probability) {
  return probability > 0.99 ? "> 99 %" : fmt::format("{:.0f} %", 100 * probability);
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::vector<Share> shares_of(const Seconds* seconds, const std::string_view* names, std::size_t count,
                             double step) {
  std::vector<Share> shares;
  for (std::size_t i = 0; i < count; ++i)
    if (std::abs(seconds[i].value) > 1e-5 * step) shares.push_back({std::string(names[i]), seconds[i]});
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.seconds > b.seconds; });
  return shares;
}

std::string share_table(const std::vector<Share>& shares, double step) {
  const TimeUnit unit = unit_of(step);
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"", std::string(unit.name), "%", ""});
  for (const Share& share : shares) {
    const double part = percent(share.seconds.value, step);
    const double bar = std::clamp(std::round(part / 100 * kBarWidth), 0.0, kBarWidth);
    table.add({share.name, unit.tell(share.seconds), fmt::format("{:.1f}", part),
               std::string(static_cast<std::size_t>(bar), '#')});
  }
  return table.text();
}

std::string stage_table(std::vector<std::string> head, const std::vector<std::vector<std::string>>& rows) {
  std::vector<Align> columns(head.size() + 1, Align::kRight);
  columns.front() = Align::kLeft;
  Table table(std::move(columns));
  head.insert(head.begin(), "stage");
  table.add(std::move(head));
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && rows[end] == rows[first]) ++end;
    std::vector<std::string> cells = rows[first];
    cells.insert(cells.begin(),
                 end - first == 1 ? fmt::format("{}", end) : fmt::format("{}-{}", first + 1, end));
    table.add(std::move(cells));
    first = end;
  }
  return table.text();
}

std::string wrapped(const std::vector<std::string>& parts, std::string_view indent, std::size_t width) {
  std::string out, line(indent);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string text = parts[i] + (i + 1 < parts.size() ? "," : "");
    if (line.size() > indent.size() && line.size() + 1 + text.size() > width) {
      out += line + '\n';
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += text;
  }
  return out + line + '\n';
}

}  // namespace foretrain
