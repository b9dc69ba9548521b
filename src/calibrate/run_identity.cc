#include "calibrate/run_identity.h"

#include <fmt/format.h>

#include "spec/documents_text.h"
#include "spec/model_text.h"
#include "spec/plan_text.h"

namespace foretrain {

std::string hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

std::string fingerprint_of(std::string_view run, std::string_view part, double measured) {
  return hash_text(fmt::format("{}|{}|{:.6g}", run, part, measured));
}

std::string run_identity(const Run& run) {
  Model model = run.model;
  model.name = "model", model.source.clear();
  return hash_text(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", to_yaml(model), run.stack.name,
                               run.cluster.name, run.cluster.gpus_per_node, run.gpus, run.seq,
                               run.global_batch, run.documents.stated() ? to_text(run.documents) : "",
                               run.task ? static_cast<int>(*run.task) : -1, to_text(run.plan)));
}

}  // namespace foretrain
