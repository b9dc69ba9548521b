// What the texts of a prediction share: one unit for a table's times, and shares of a step as bars.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace foretrain {

// Seconds for steps of a second and more, else milliseconds.
struct TimeUnit {
  std::string_view name;
  double size;

  std::string tell(Seconds t) const;         // "1.250", "12.50"
  std::string tell_change(Seconds t) const;  // "+1.250", "-12.50", "0.00"
};
TimeUnit unit_of(double step);

struct Share {
  std::string name;
  Seconds seconds;
};

// The longest first; what takes less than a hundred-thousandth of the step is left out.
std::vector<Share> shares_of(const Seconds* seconds, const std::string_view* names, std::size_t count,
                             double step);
template <std::size_t N>
std::vector<Share> shares_of(const std::array<Seconds, N>& seconds,
                             const std::array<std::string_view, N>& names, double step) {
  return shares_of(seconds.data(), names.data(), N, step);
}

// A row a share: its seconds, its percent of the step, a bar.
std::string share_table(const std::vector<Share>& shares, double step);

// Of cells by stage, below their heads; equal neighbours share a row: "2-3".
std::string stage_table(std::vector<std::string> head, const std::vector<std::vector<std::string>>& rows);

// Parts with commas between, in lines of at most `width` places, each after `indent`.
std::string wrapped(const std::vector<std::string>& parts, std::string_view indent, std::size_t width = 98);

std::string sure(double probability);    // "over 99 % sure", "84 % sure"
std::string chance(double probability);  // "> 99 %", "84 %"

double percent(double part, double whole);

}  // namespace foretrain
