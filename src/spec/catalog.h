// Where names lead: presets built into the program, and before them a folder that the user gives (laid out
// like presets/). A model, cluster, GPU, stack or precision recipe is given as a name, as the path of a YAML file, or inline;
// paths and the folder are looked up in the Files given, without which every path is refused.
// A relative path counts from the current directory, or else from the folder of the file that names it.
// A stack may name another as its base (stack_base.h), and names the recipes that it runs. A name may be written in upper or lower case. The file of a model or a stack may state further names
// (`aliases`). A model may also be a file in another format, where the catalog is given a reader of them, or a folder with a
// config.json: a checkpoint, or what a hub's cache keeps of one (models--org--name). Those of model hubs, as "meta-llama/Llama-3.1-8B", look like paths and mean one where there is
// such a file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/yaml.h"
#include "spec/cluster.h"
#include "spec/gpu.h"
#include "spec/model.h"
#include "spec/recipe.h"
#include "spec/stack.h"

namespace foretrain {

// Reads the text of a model that is not written as our model files are into the map that one would hold; none: it is ours.
using ForeignModel = Result<std::optional<Node>> (*)(const std::string& text, const std::string& file);

// What several stacks name, for who reads many: bases and recipes by name, each read once. A copy of a tree takes a quarter
// of what reading it takes.
struct SharedStackFiles {
  std::map<std::string, Node, std::less<>> bases;
  std::map<std::string, Recipe, std::less<>> recipes;
};

class Catalog {
 public:
  Catalog() = default;  // what is built in, alone
  explicit Catalog(const Files& files, std::string folder = {}, ForeignModel foreign = nullptr)
      : files_(&files), folder_(std::move(folder)), foreign_(foreign) {}

  Result<Model> model(const Node& name_path_or_map) const;
  Result<Gpu> gpu(const Node& name_path_or_map) const;
  Result<Cluster> cluster(const Node& name_path_or_map) const;
  Result<Stack> stack(const Node& name_path_or_map) const;
  Result<Recipe> recipe(const Node& name_path_or_map) const;

  // The same for a word from the command line.
  Result<Model> model(std::string_view name_or_path) const;
  Result<Gpu> gpu(std::string_view name_or_path) const;
  Result<Cluster> cluster(std::string_view name_or_path) const;
  Result<Stack> stack(std::string_view name_or_path) const;
  Result<Stack> stack(std::string_view name_or_path, SharedStackFiles& shared) const;
  Result<Recipe> recipe(std::string_view name_or_path) const;

  // Names known under "models", "gpus", "clusters", "stacks" or "recipes", sorted.
  std::vector<std::string> names(std::string_view kind) const;

  // Further names that the file of a name states.
  std::vector<std::string> aliases(std::string_view kind, std::string_view name) const;

  // The name that a word means: itself, spelt with other capitals, or an alias. Never a path.
  std::optional<std::string> meant(std::string_view kind, std::string_view word) const;

  // A text and the name of its file, as positions call it.
  Result<Source> source(std::string_view kind, std::string_view name_or_path) const;

  // The YAML text behind a name or path, comments (and so the origin of each figure) included.
  Result<std::string> text(std::string_view kind, std::string_view name_or_path) const;

 private:
  struct Text {
    std::string content;
    std::string file;  // as positions call it; "presets/models/gpt2.yaml" for what is built in
  };
  Result<Text> find(std::string_view kind, std::string_view name_or_path, const Position& at) const;
  Result<Text> find_path(std::string_view kind, std::string_view path, const Position& at) const;
  Result<Text> read(const std::string& path, const Position& at) const;
  // The config.json that a folder holds, its own or that of a hub's cache; none: it has none.
  std::optional<std::string> config_in(const std::string& folder) const;
  // The file of a name that is spelt as it is in names(); absent where there is none.
  std::optional<Result<Text>> exactly(std::string_view kind, std::string_view name, const Position& at) const;
  std::vector<std::string> names_in_folder(std::string_view kind) const;
  Result<Node> load(std::string_view kind, const Node& name_path_or_map) const;
  Result<Stack> stack(const Node& name_path_or_map, SharedStackFiles& shared) const;
  Result<Node> base(const Node& name_or_path, SharedStackFiles& shared) const;
  Result<Recipe> recipe(const Node& name_path_or_map, SharedStackFiles& shared) const;

  const Files* files_ = &no_files();
  std::string folder_;
  ForeignModel foreign_ = nullptr;
};

}  // namespace foretrain
