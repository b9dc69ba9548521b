#include "formats/foreign_model.h"

#include "base/files.h"
#include "base/json_node.h"

namespace foretrain {

std::string model_name(std::string_view path) {
  constexpr std::string_view kCache = "models--";
  if (const std::size_t begin = path.find(kCache); begin != std::string_view::npos) {
    std::string_view rest = path.substr(begin + kCache.size());
    std::string name(rest.substr(0, rest.find('/')));
    if (const std::size_t dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, "/");
    return name;
  }
  const std::string file = file_name(path);
  if (file == "config.json")
    if (const std::string folder = file_name(folder_of(path)); !folder.empty()) return folder;
  return file.substr(0, file.rfind('.'));
}

Result<std::optional<HfModel>> read_foreign_model(const std::string& text, const std::string& file) {
  // A model file of ours may be written as JSON too, for YAML holds it; no key of it is one of these.
  const bool of_others = looks_like_json(text) && (text.find("\"model_type\"") != std::string::npos ||
                                                   text.find("\"architectures\"") != std::string::npos ||
                                                   file.ends_with("config.json"));
  if (!of_others) return std::optional<HfModel>();
  TRY_ASSIGN(const Node config, parse_json(text, file));
  TRY_ASSIGN(HfModel model, read_hf_config(config, model_name(file)));
  return std::optional(std::move(model));
}

Result<std::optional<Node>> foreign_model(const std::string& text, const std::string& file) {
  TRY_ASSIGN(std::optional<HfModel> model, read_foreign_model(text, file));
  if (!model) return std::optional<Node>();
  return std::optional(std::move(model->map));
}

}  // namespace foretrain
