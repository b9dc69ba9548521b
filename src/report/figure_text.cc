#include "report/figure_text.h"

#include <fmt/format.h>

#include <cmath>

namespace foretrain {

std::string signed_text(double value, int decimals) {
  std::string text = fmt::format("{:+.{}f}", value, decimals);
  if (text.find_first_not_of("+-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string percent_text(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.1f}%", 100 * fraction) : "-";
}
std::string signed_percent_text(double fraction) {
  return std::isfinite(fraction) ? signed_text(100 * fraction, 1) + "%" : "-";
}
std::string points_text(double fraction) {
  return std::isfinite(fraction) ? signed_text(std::round(1000 * fraction) / 10, 1) : "-";
}

}  // namespace foretrain
