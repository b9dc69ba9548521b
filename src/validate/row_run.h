// From a measured row to a run that can be predicted, or the reason why it is left out. A row is left out,
// and counted under its reason, where the program does not model what the row did; nothing is guessed into it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spec/catalog.h"
#include "spec/run.h"
#include "spec/unsteady.h"
#include "validate/measured_row.h"
#include "validate/row_cluster.h"
#include "validate/row_stack.h"

namespace foretrain {

// "precision fp8", "peft lora", "offload ...": not modelled yet;
// "also_succeeded", "pp_exceeds_layers": a failure that says nothing about memory;
// "unknown cluster NAME", "unknown ffn", "no step_s": the row or our presets do not say enough;
// "refused: MESSAGE": the row contradicts itself or what a run can be. Rules of what a stack launches refuse no row: it
// was launched, and where they say otherwise `assumed` tells.
struct Skip {
  std::string reason;
};

// The empty columns that a prediction cannot do without.
std::vector<std::string_view> lacking_columns(const MeasuredRow& row);

struct RowRun {
  Run run;                      // checked
  bool recompute_open = false;  // the row does not say: whoever predicts chooses
  bool zero_open = false;
  std::optional<Unsteady> unsteady;  // what is known of broken runs on its cluster
};

// Reads clusters, GPUs and stacks by name, each once.
class RowRunner {
 public:
  explicit RowRunner(const Catalog& catalog) : catalog_(catalog), names_(catalog), places_(catalog) {}

  // An error is about a preset file that does not read; what is wrong with the row is a Skip.
  Result<std::variant<RowRun, Skip>> run_of(const MeasuredRow& row);

 private:
  // Null where the catalog knows no such name.
  Result<const Cluster*> cluster(const std::string& name);
  Result<const Gpu*> gpu(const std::string& name);
  Result<const Stack*> stack(const std::string& name);

  Result<std::optional<Unsteady>> unsteady(const std::string& cluster);

  Result<std::optional<std::string>> place(const MeasuredRow& row, Run& run);

  Catalog catalog_;
  StackNames names_;
  ClusterNames places_;
  std::map<std::string, std::optional<Cluster>> clusters_;
  std::map<std::string, std::optional<Unsteady>> unsteady_;
  std::map<std::string, std::optional<Gpu>> gpus_;
  std::map<std::string, std::optional<Stack>> stacks_;
};

}  // namespace foretrain
