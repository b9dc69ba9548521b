// What was measured of one run: a training log, or a trace of PyTorch's profiler, and the run that it was of. Of the run, what
// the request's file and words say; where they are silent, what the log or the trace states of itself.
#pragma once

#include "ask/predict.h"
#include "validate/diagnosis.h"

namespace foretrain {

struct MeasuredFile {
  Run run;  // checked; its profile is still a word
  MeasuredRun figures;
  NotModelled not_modelled;
};

// Either may be packed by gzip; of a run that several ranks logged, `ranks` are those after the first. `request` has at most one
// file; what is missing of the run is asked for by name.
Result<MeasuredFile> read_measured_file(Session& session, const PredictRequest& request,
                                        const Source& measured, const std::vector<Source>& ranks = {});

}  // namespace foretrain
