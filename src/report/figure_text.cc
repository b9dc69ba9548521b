#include "report/figure_text.h"

#include <fmt/format.h>

#include <cmath>

namespace foretrain {

std::string percent_text(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.1f}%", 100 * fraction) : "-";
}
std::string signed_percent_text(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:+.1f}%", 100 * fraction) : "-";
}
std::string points_text(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  const double points = std::round(1000 * fraction) / 10;
  return points == 0 ? "0.0" : fmt::format("{:+.1f}", points);
}

}  // namespace foretrain
