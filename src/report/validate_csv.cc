#include <fmt/format.h>

#include <cmath>

#include "report/validate_report.h"

namespace foretrain {
namespace {

// Empty where there is no figure.
std::string figure(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

// Names come from tables without quoting, so that no cell needs any.
std::string line(std::string_view by, std::string_view name, const Summary& s) {
  const GroupSummary& h = s.healthy;
  std::string out = fmt::format("{},{},{},{},{}", by, name, s.count, s.skipped, s.set_apart);
  for (const double value : {s.mape, s.median_ape, s.p90_ape, s.bias, s.coverage80})
    out += "," + figure(value);
  out += fmt::format(",{},{},{}", s.memory.count, figure(s.memory.mape), figure(s.memory.bias));
  out += fmt::format(",{},{}", s.by_group.count, figure(s.by_group.mape));
  out += fmt::format(",{}", h.count);
  for (const double value : {h.mape, h.median_ape, h.p90_ape, h.bias, h.coverage80})
    out += "," + figure(value);
  out += fmt::format(",{},{},{}", h.memory.count, figure(h.memory.mape), figure(h.memory.bias));
  out += fmt::format(",{},{},{},{},{},{}", s.fits.oom_rows, s.fits.oom_caught, s.fits.oom_doubted,
                     s.fits.measured_rows, s.fits.false_oom, s.fits.false_doubt);
  return out + fmt::format(",{},{},{},{}\n", s.ranking.sweeps, figure(s.ranking.within_10),
                           figure(s.ranking.regret), figure(s.ranking.correlation));
}

}  // namespace

std::string validate_csv(const std::vector<RowScore>& rows) {
  std::string out =
      "by,name,rows,skipped,set_apart,mape,median_ape,p90_ape,bias,coverage80,memory_rows,memory_mape,memory_"
      "bias,"
      "groups,groups_mape,healthy_rows,healthy_mape,healthy_median_ape,healthy_p90_ape,healthy_bias,"
      "healthy_coverage80,healthy_memory_rows,healthy_memory_mape,healthy_memory_bias,oom_rows,oom_caught,"
      "oom_doubted,measured_rows,false_oom,false_doubt,sweeps,within_10,regret,correlation\n";
  for (const GroupBy by :
       {GroupBy::kSource, GroupBy::kGpu, GroupBy::kStack, GroupBy::kCluster, GroupBy::kFeature})
    for (const auto& [name, summary] : summarise_by(rows, by))
      out += line(kGroupByNames[static_cast<std::size_t>(by)], name, summary);
  return out + line("all", "all", summarise(rows));
}

}  // namespace foretrain
