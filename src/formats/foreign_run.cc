#include "formats/foreign_run.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/json_node.h"
#include "base/text.h"
#include "base/toml_node.h"
#include "formats/foreign_model.h"
#include "formats/hf_config.h"
#include "formats/launch.h"
#include "formats/map_writer.h"
#include "formats/printed_config.h"
#include "formats/relaxed_json.h"
#include "formats/tree_formats.h"

namespace foretrain {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The first line that says something.
std::string_view first_line(std::string_view text) {
  for (const std::string_view line : split(text, '\n'))
    if (const std::string_view words = trim(line); !words.empty() && !words.starts_with('#')) return words;
  return {};
}

// [section] lines beside key = value.
bool is_toml(std::string_view text) {
  bool section = false, value = false;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view words = trim(line.substr(0, line.find('#')));
    const bool brackets = words.size() > 2 && words.starts_with('[') && words.ends_with(']');
    section = section || (brackets && words.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
                                          1) == words.size() - 1);
    const std::size_t equals = words.find(" = ");
    value = value || (equals != std::string_view::npos &&
                      words.substr(0, equals).find_first_of(" :-$(") == std::string_view::npos);
  }
  return section && value;
}

bool begins_with_one_of(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return line.starts_with(word); });
}

// A shell script, or a command line by itself.
bool is_script(std::string_view text) {
  if (text.starts_with("#!")) return true;
  const std::string_view first = first_line(text);
  if (first.starts_with("--") || begins_with_one_of(first, {"export ", "set -", "declare "})) return true;
  // At the margin of any line: a script may begin with an echo.
  for (const std::string_view line : split(text, '\n'))
    if (begins_with_one_of(
            line, {"torchrun ", "python ", "python3 ", "deepspeed ", "srun ", "mpirun ", "accelerate "}))
      return true;
  const bool launches = contains(text, "torchrun") || contains(text, "torch.distributed") ||
                        contains(text, "pretrain_") || contains(text, "sbatch") ||
                        contains(text, "run_train.sh");
  return launches && contains(text, "--") && !contains(text, "\n---\n") && !contains(first, ": ") &&
         !first.ends_with(':');
}

// Arguments of a container, of which some may be left to an environment: "- --num-layers=${NUM_LAYERS}".
std::vector<Argument> container_arguments(std::string_view text, const std::string& file) {
  std::vector<Argument> words;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    std::string_view rest = trim(line);
    if (rest.starts_with("command:") || rest.starts_with("args: [")) {
      for (std::string_view part : split(rest.substr(rest.find(':') + 1), ',')) {
        std::string word(part);
        std::erase_if(word, [](char c) { return c == '[' || c == ']' || c == '"' || c == ' ' || c == '\''; });
        if (!word.empty())
          words.push_back({word, {file, number, 0}, contains(word, "${") ? "left to the environment" : ""});
      }
    }
    if (!rest.starts_with("- ")) continue;
    rest = trim(rest.substr(2));
    if (rest.size() > 1 && (rest.front() == '"' || rest.front() == '\''))
      rest = rest.substr(1, rest.size() - 2);
    const bool after_flag =
        !words.empty() && words.back().text.starts_with("--") && !contains(words.back().text, "=");
    if (!rest.starts_with("--") && !(after_flag && !contains(rest, ":"))) continue;
    words.push_back(
        {std::string(rest), {file, number, 0}, contains(rest, "${") ? "left to the environment" : ""});
  }
  return words;
}

// The script that a container runs, written as a block ("- |"), with empty lines before it so that places stay; empty: none
// launches a training.
std::string container_script(std::string_view text) {
  std::string script, before;
  std::size_t indent = 0;
  bool inside = false, launches = false;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view words = trim(line);
    const std::size_t at = words.empty() ? indent : line.find_first_not_of(' ');
    if (inside && at < indent) {
      if (launches) return script;
      inside = false;
    }
    if (inside) {
      script += std::string(line.substr(std::min(indent, line.size()))) + "\n";
      launches = launches || contains(words, "--num-layers") || contains(words, "torchrun") ||
                 contains(words, "torch.distributed");
    } else if (words.ends_with("|") || words.ends_with("|-") || words.ends_with(">-")) {
      inside = true;
      script = before + "\n";
      indent = line.find_first_not_of(' ') + 1;
    }
    before += '\n';
  }
  return launches ? script : "";
}

Result<std::optional<ForeignRun>> given(Result<ForeignRun> run) {
  if (!run) return tl::unexpected(std::move(run).error());
  return std::optional(*std::move(run));
}

Result<std::optional<ForeignRun>> read_json(const std::string& text, const std::string& file) {
  TRY_ASSIGN(const Node node, parse_json(text, file));
  if (node.is_list()) {
    std::vector<Argument> words;
    for (const Node& item : node.items) {
      TRY_ASSIGN(std::string word, item.text());
      words.push_back({std::move(word), item.at, ""});
    }
    return given(read_arguments(words, "a list of arguments"));
  }
  // What capture writes: {"argv": [...]}.
  if (const Node* argv = node.find("argv"); argv != nullptr && argv->is_list()) {
    std::vector<Argument> words;
    for (const Node& item : argv->items) words.push_back({item.scalar, item.at, ""});
    return given(read_arguments(words, "captured arguments"));
  }
  if (is_hf_config(node) && node.find("zero_optimization") == nullptr) {
    TRY_ASSIGN(HfModel model, read_hf_config(node, model_name(file)));
    MapWriter run;
    run.put("model", std::move(model.map));
    ForeignRun out;
    out.format = "a config.json of Hugging Face: a model without a run";
    out.run = run.take();
    return std::optional(std::move(out));
  }
  return read_tree(node);
}

// JSON by its first sign, unless it is YAML in braces with comments and bare words (GPT-NeoX).
bool is_json(std::string_view text) {
  if (!looks_like_json(text) || contains(text, "pipe_parallel_size") || contains(text, "pipe-parallel-size"))
    return false;
  const std::size_t open = text.find_first_of("{[");
  const std::size_t next = text.find_first_not_of(" \t\r\n", open + 1);
  const bool quoted_key =
      next != std::string_view::npos && (text[next] == '"' || text[next] == '}' || text[next] == ']');
  const auto lines = split(text, '\n');
  return quoted_key && std::none_of(lines.begin(), lines.end(),
                                    [](std::string_view line) { return trim(line).starts_with('#'); });
}

}  // namespace

Result<std::optional<ForeignRun>> read_foreign_run(const std::string& text, const std::string& file) {
  if (has_argument_block(text)) return given(read_argument_block(text, file));
  if (has_printed_config(text)) return given(read_printed_config(text, file));
  if (!text.starts_with("#!") && is_toml(text)) {
    TRY_ASSIGN(const Node node, parse_toml(text, file));
    return read_tree(node);
  }
  if (is_json(text) && parse_json(text, file)) return read_json(text, file);
  if (const std::string relaxed = looks_like_json(text) ? relaxed_json(text) : "";
      !relaxed.empty() && is_json(relaxed) && parse_json(relaxed, file))
    return read_json(relaxed, file);
  if (is_json(text)) return read_json(text, file);  // for what is wrong with it
  if (contains(text, "apiVersion:") && contains(text, "kind:")) {
    if (const std::string script = container_script(text); !script.empty())
      return given(read_script(script, file));
    return given(read_arguments(container_arguments(text, file), "arguments of a container"));
  }
  if (is_script(text)) return given(read_script(text, file));
  auto node = parse_yaml(text, file);
  if (!node) return std::optional<ForeignRun>();  // said by who reads it as ours
  return read_tree(*node);
}

}  // namespace foretrain
