#include "formats/slurm_header.h"

#include "base/text.h"

namespace foretrain {
namespace {

// The number behind a key of the line: "--gres=gpu:h100:8", "-N 4".
std::optional<std::int64_t> number_behind(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + key.size());
  const std::size_t end = rest.find_first_of(" \t#", rest.starts_with(' ') ? 1 : 0);
  rest = trim(rest.substr(0, end));
  if (rest.starts_with('=')) rest.remove_prefix(1);
  if (const std::size_t colon = rest.rfind(':'); colon != std::string_view::npos)
    rest = rest.substr(colon + 1);
  const auto number = parse_integer(rest.substr(0, rest.find_first_not_of("0123456789")));
  return number && *number > 0 && *number <= 1'000'000 ? number : std::nullopt;
}

void take(std::optional<std::int64_t>& into, std::string_view line, std::string_view key) {
  if (const auto number = number_behind(line, key)) into = number;
}

}  // namespace

SlurmHeader slurm_header(std::string_view script) {
  SlurmHeader header;
  for (const std::string_view line : split(script, '\n')) {
    if (!line.starts_with("#SBATCH")) continue;
    take(header.nodes, line, "--nodes");
    take(header.nodes, line, "-N ");
    take(header.tasks_per_node, line, "--ntasks-per-node");
    for (const std::string_view key : {"--gres", "--gpus-per-node"}) take(header.gpus_per_node, line, key);
  }
  return header;
}

std::map<std::string, std::string> slurm_variables(const SlurmHeader& header) {
  std::map<std::string, std::string> out;
  const auto add = [&](const char* name, std::optional<std::int64_t> number) {
    if (number) out[name] = std::to_string(*number);
  };
  for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) add(name, header.nodes);
  for (const char* name : {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}) add(name, header.gpus_per_node);
  add("SLURM_NTASKS_PER_NODE", header.tasks_per_node);
  if (header.nodes && header.tasks_per_node)
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"})
      add(name, *header.nodes * *header.tasks_per_node);
  return out;
}

}  // namespace foretrain
