#include <fmt/format.h>

#include "base/text.h"
#include "report/calibration_report.h"
#include "report/memory_report.h"
#include "report/predict_report.h"

namespace foretrain {

std::string predict_brief(const Run& run, const Prediction& p, const Standing* standing) {
  return fmt::format("{} on {} x {}: {} a step ({} to {}), MFU {:.1f} %, needs {} of {}: {}{}\n",
                     printable(run.model.name), run.gpus, printable(run.cluster.gpu.name),
                     human_seconds(Seconds(p.step.value)), human_seconds(Seconds(p.step.low())),
                     human_seconds(Seconds(p.step.high())), 100 * p.mfu, human_bytes(p.needed),
                     human_bytes(p.usable), fit_words(p),
                     standing == nullptr ? "" : "; calibration " + standing_words(*standing));
}

}  // namespace foretrain
