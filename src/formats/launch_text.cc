#include "formats/launch_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";

// A word that bash takes as it is, ${NAME} aside.
std::string shell_word(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  const bool expands = word.find("${") != std::string_view::npos;
  if (!expands && word.find('\'') == std::string_view::npos) return fmt::format("'{}'", word);
  std::string out = "\"";
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    const bool escapes = c == '"' || c == '\\' || c == '`' || (c == '$' && !word.substr(i).starts_with("${"));
    if (escapes) out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string line_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

// Of a comment or a message: one line without what bash would read.
std::string plain_words(std::string_view text) {
  std::string out = printable(text);
  std::erase_if(
      out, [](char c) { return c == '`' || c == '$' || c == '"' || c == '\'' || c == '\\' || c == '}'; });
  return out;
}

std::string job_name(std::string_view model) {
  std::string out;
  for (const char c : model) out += kPlain.find(c) != std::string_view::npos && c != '/' ? c : '-';
  return out.empty() ? "train" : out;
}

void write_head(const Launch& launch, const LaunchRun& run, const std::vector<std::string>& about,
                std::string& out) {
  out += fmt::format(
      "#!/bin/bash\n#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n"
      "#SBATCH --gpus-per-node={}\n#SBATCH --exclusive\n",
      job_name(run.model.name), run.nodes(), run.processes());
  out += fmt::format("# {} by {} on {} GPUs: {} of {} each.\n", plain_words(run.model.name), launch.framework,
                     run.gpus, run.nodes() == 1 ? "1 node" : fmt::format("{} nodes", run.nodes()),
                     run.processes());
  for (const std::string& line : about) out += "# " + plain_words(line) + "\n";
  out +=
      run.nodes() > 1
          ? "# Hand it to sbatch, or start it on every node with MASTER_ADDR set to the first one's name.\n"
          : "# Start it with bash, or hand it to sbatch.\n";
  for (const std::string& note : launch.notes) out += "# " + plain_words(note) + "\n";
}

void write_blanks(const Launch& launch, std::string& out) {
  const auto given = [](const Launch::Blank& blank) { return !blank.usual.empty(); };
  if (!std::all_of(launch.beyond.begin(), launch.beyond.end(), given))
    out += "\n# To be given, here or in the environment:\n";
  for (const Launch::Blank& blank : launch.beyond)
    if (!given(blank)) out += fmt::format(": \"${{{}:?{}}}\"\n", blank.name, plain_words(blank.what));
  if (std::any_of(launch.beyond.begin(), launch.beyond.end(), given))
    out += "\n# Not of the plan, so yours to change:\n";
  for (const Launch::Blank& blank : launch.beyond)
    if (given(blank))
      out +=
          fmt::format("{}=${{{}:-{}}}  # {}\n", blank.name, blank.name, blank.usual, plain_words(blank.what));
}

}  // namespace

std::vector<std::string> Launch::argv() const {
  std::vector<std::string> out = launcher;
  out.insert(out.end(), program.begin(), program.end());
  for (const auto& flag : flags) out.insert(out.end(), flag.begin(), flag.end());
  return out;
}

void start_by_torchrun(const LaunchRun& run, Launch& launch) {
  launch.launcher = {"torchrun", "--nproc_per_node", std::to_string(run.processes()), "--nnodes",
                     std::to_string(run.nodes())};
  if (run.nodes() == 1) {
    launch.launcher.emplace_back("--standalone");
    return;
  }
  for (const char* word : {"--rdzv_backend", "c10d", "--rdzv_endpoint", "${MASTER_ADDR}:${MASTER_PORT}"})
    launch.launcher.emplace_back(word);
  launch.beyond.push_back({"MASTER_ADDR", "the first node", "$(hostname)"});
  launch.beyond.push_back({"MASTER_PORT", "a free port there", "29500"});
}

namespace {

// A file's text between <<EOF and EOF, where bash fills in what is to be given and nothing else: a name that holds a
// dollar or a backtick stays a name.
std::string unexpanded(std::string_view text, const std::vector<Launch::Blank>& blanks) {
  const auto is_blank = [&](std::string_view rest) {
    return std::any_of(blanks.begin(), blanks.end(),
                       [&](const Launch::Blank& blank) { return rest.starts_with("${" + blank.name + "}"); });
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const bool escapes = text[i] == '\\' && (next == '$' || next == '`' || next == '\\' || next == '\n');
    const bool expands = text[i] == '`' || (text[i] == '$' && !is_blank(text.substr(i)));
    if (escapes || expands) out += '\\';
    out += text[i];
  }
  return out;
}

}  // namespace

std::string launch_script(const Launch& launch, const LaunchRun& run, const std::vector<std::string>& about) {
  std::string out;
  write_head(launch, run, about, out);
  out += "set -eu\n";
  write_blanks(launch, out);
  if (!launch.env.empty()) out += "\n";
  for (const auto& [name, value] : launch.env) out += fmt::format("export {}={}\n", name, shell_word(value));
  for (const Launch::File& file : launch.files) {
    const bool expands = file.text.find("${") != std::string::npos;
    out += fmt::format("\ncat > {} <<{}\n{}EOF\n", shell_word(file.name), expands ? "EOF" : "'EOF'",
                       expands ? unexpanded(file.text, launch.beyond) : file.text);
  }
  out += "\n${SLURM_JOB_ID:+srun} " + line_of(launch.launcher) + " \\\n  " + line_of(launch.program);
  for (const auto& flag : launch.flags) out += " \\\n  " + line_of(flag);
  return out + "\n";
}

}  // namespace foretrain
