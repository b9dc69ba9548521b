#include "spec/catalog.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/plain_yaml.h"
#include "spec/cluster_text.h"
#include "spec/embedded.h"
#include "spec/gpu_text.h"
#include "spec/model_text.h"
#include "spec/testing.h"

using namespace foretrain;

namespace {

const std::string kModel =
    "hidden: 8\nlayers: 2\nheads: 2\nffn: 32\nmlp: gelu\nnorm: layernorm\npositions: rope\nvocab: 100\n"
    "tied: true\n";

// A folder of its own for each test, gone afterwards.
struct Folder {
  std::string path = make();
  ~Folder() { std::filesystem::remove_all(path); }

  static std::string make() {
    std::string name = (std::filesystem::temp_directory_path() / "foretrain_catalog_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    return name;
  }
  std::string write(const std::string& below, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(path) / below;
    std::filesystem::create_directories(file.parent_path());
    REQUIRE(write_file(file.string(), content).has_value());
    return file.string();
  }
};

}  // namespace

TEST_CASE("every preset reads, and is called as its file is") {
  const Catalog catalog;
  for (const std::string& name : catalog.names("models")) {
    const auto model = catalog.model(name);
    REQUIRE_MESSAGE(model.has_value(), error_of(model));
    CHECK(model->name == name);
    const auto again = parse_yaml(to_yaml(*model), "again.yaml").and_then(parse_model);
    REQUIRE_MESSAGE(again.has_value(), error_of(again));
    CHECK(*again == *model);
  }
  for (const std::string& name : catalog.names("gpus")) {
    const auto gpu = catalog.gpu(name);
    REQUIRE_MESSAGE(gpu.has_value(), error_of(gpu));
    CHECK(gpu->name == name);
  }
  for (const std::string& name : catalog.names("clusters")) {
    const auto cluster = catalog.cluster(name);
    REQUIRE_MESSAGE(cluster.has_value(), error_of(cluster));
    CHECK(cluster->name == name);
    const auto again = parse_yaml(to_yaml(*cluster), "again.yaml").and_then([&](const Node& node) {
      return catalog.cluster(node);
    });
    REQUIRE_MESSAGE(again.has_value(), error_of(again));
    CHECK(*again == *cluster);
  }
  for (const std::string& name : catalog.names("stacks")) {
    const auto stack = catalog.stack(name);
    REQUIRE_MESSAGE(stack.has_value(), error_of(stack));
    CHECK(stack->name == name);
  }
}

TEST_CASE("every preset is plain YAML, which is read in a thirtieth of the library's time") {
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.ends_with(".yaml")) continue;
    CAPTURE(file.path);
    CHECK(read_plain_yaml(file.content, std::string(file.path)).has_value());
  }
}

TEST_CASE("a model is found by the names that hubs give it, in upper or lower case") {
  const Catalog catalog;
  for (const auto& [word, name] : {std::pair{"Llama-3.1-8B", "llama-3.1-8b"},
                                   {"meta-llama/Llama-3.1-8B", "llama-3.1-8b"},
                                   {"META-LLAMA/llama-3.1-8b-instruct", "llama-3.1-8b"},
                                   {"meta-llama/Meta-Llama-3-8B", "llama-3-8b"},
                                   {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"},
                                   {"deepseek-ai/DeepSeek-V3", "deepseek-v3"},
                                   {"GPT2", "gpt2"},
                                   {"openai-community/gpt2", "gpt2"}}) {
    CAPTURE(word);
    const auto model = catalog.model(word);
    REQUIRE_MESSAGE(model.has_value(), error_of(model));
    CHECK(model->name == name);
    CHECK(*model == *catalog.model(name));
    CHECK(catalog.text("models", word).value() == catalog.text("models", name).value());
  }
  CHECK(catalog.gpu("H100-80GB-SXM")->name == "h100-80gb-sxm");
  CHECK(error_of(catalog.model("Qwen/Qwen3-31B")) ==
        "foretrain: error: Qwen/Qwen3-31B: found a path, expected a name: no files are read here; nothing is "
        "fetched from a hub: give the model's config.json; did you mean 'Qwen/Qwen3-32B'?");
}

TEST_CASE("no two presets answer to one name") {
  const Catalog catalog;
  std::map<std::string, std::string> owner;
  const auto lower = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  for (const std::string& name : catalog.names("models")) {
    CHECK(lower(name) == name);
    CHECK_MESSAGE(owner.emplace(name, name).second, name);
  }
  for (const std::string& name : catalog.names("models"))
    for (const std::string& alias : catalog.aliases("models", name)) {
      const auto [at, is_new] = owner.emplace(lower(alias), name);
      CHECK_MESSAGE(is_new, alias << " of " << name << " is of " << at->second << " too");
    }
}

TEST_CASE("a stack is found by what is built on it, and by its own names first") {
  const Catalog catalog;
  CHECK(catalog.stack("Megatron-Core").value().name == "megatron");
  CHECK(catalog.meant("stacks", "megatron-lm") == "megatron");
  CHECK(catalog.meant("stacks", "torchtitan") == "torchtitan");
  CHECK_FALSE(catalog.meant("stacks", "nobody-trains-so"));
  for (const std::string& name : catalog.names("stacks"))
    for (const std::string& alias : catalog.aliases("stacks", name))
      CHECK(catalog.meant("stacks", alias) == name);
}

TEST_CASE("a user's file has aliases too, which come before those of presets") {
  const Folder folder;
  folder.write("models/zz.yaml", kModel + "aliases: [Our-Model, ours/big, openai-community/gpt2]\n");
  const Catalog catalog(disk(), folder.path);
  CHECK(catalog.model("our-model")->name == "zz");
  CHECK(catalog.model("ours/big")->name == "zz");
  CHECK(catalog.model("openai-community/gpt2")->name == "zz");
  CHECK(catalog.model("gpt2")->name == "gpt2");
  folder.write("models/broken.yaml", "aliases: [ours/broken\n");
  CHECK(catalog.model("ours/big")->name == "zz");
  CHECK(error_of(catalog.model("ours/bigg")) ==
        "foretrain: error: ours/bigg: cannot open: no such file or directory; nothing is fetched from a hub: "
        "give the model's config.json; did you mean 'ours/big'?");
}

TEST_CASE("a file of the path that a word is comes before an alias") {
  const Folder folder;
  folder.write("Qwen/Qwen3-8B", kModel);
  const Node run = *parse_yaml("model: Qwen/Qwen3-8B\n", folder.path + "/run.yaml");
  CHECK(Catalog(disk()).model(*run.find("model"))->hidden == 8);
}

TEST_CASE("names are sorted and say what text there is") {
  const Catalog catalog;
  const auto names = catalog.names("models");
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::count(names.begin(), names.end(), "gpt2") == 1);
  CHECK(catalog.text("models", "gpt2")->find("hidden: 768") != std::string::npos);
  CHECK(catalog.names("nonsense").empty());
}

TEST_CASE("an unknown name is refused with the nearest, at its place") {
  const Catalog catalog;
  CHECK(error_of(catalog.model("gpt2-xll")) ==
        "foretrain: error: unknown model 'gpt2-xll'; did you mean 'gpt2-xl'?");
  const Node run = *parse_yaml("cluster: perlmuter\n", "run.yaml");
  CHECK(error_of(catalog.cluster(*run.find("cluster"))) ==
        "run.yaml:1:10: error: unknown cluster 'perlmuter'; did you mean 'perlmutter'?");
  const Node cluster = *parse_yaml("gpu: h100-80gb-smx\n", "c.yaml");
  CHECK(error_of(catalog.cluster(cluster)) ==
        "c.yaml:1:6: error: unknown gpu 'h100-80gb-smx'; did you mean 'h100-80gb-sxm'?");
  CHECK_FALSE(catalog.model("").has_value());
  CHECK_FALSE(catalog.model(*parse_yaml("[gpt2]", "run.yaml")).has_value());
}

TEST_CASE("a user's folder comes before the presets") {
  const Folder folder;
  folder.write("models/gpt2.yaml", kModel);
  folder.write("models/mine.yaml", kModel);
  const Catalog catalog(disk(), folder.path);
  CHECK(catalog.model("gpt2")->hidden == 8);
  CHECK(catalog.model("mine")->name == "mine");
  CHECK(catalog.model("gpt2-xl")->hidden == 1600);
  const auto names = catalog.names("models");
  CHECK(std::count(names.begin(), names.end(), "gpt2") == 1);
  CHECK(std::count(names.begin(), names.end(), "mine") == 1);
}

TEST_CASE("a path is a file, and a file without a name is called as the file is") {
  const Folder folder;
  const std::string path = folder.write("tiny.yaml", kModel);
  CHECK(Catalog(disk()).model(path)->name == "tiny");
  CHECK(error_of(Catalog(disk()).model(folder.path + "/absent.yaml")) ==
        "foretrain: error: " + folder.path + "/absent.yaml: cannot open: no such file or directory");
  folder.write("broken.yaml", kModel + "hiden: 1\n");
  CHECK(error_of(Catalog(disk()).model(folder.path + "/broken.yaml")) ==
        folder.path + "/broken.yaml:10:1: error: unknown key 'hiden'; did you mean 'hidden'?");
}

TEST_CASE("a relative path in a file also counts from that file's folder") {
  const Folder folder;
  folder.write("models/tiny.yaml", kModel);
  const Node run = *parse_yaml("model: models/tiny.yaml\n", folder.path + "/run.yaml");
  const auto model = Catalog(disk()).model(*run.find("model"));
  REQUIRE_MESSAGE(model.has_value(), error_of(model));
  CHECK(model->name == "tiny");
  const Node wrong = *parse_yaml("model: models/absent.yaml\n", folder.path + "/run.yaml");
  CHECK(error_of(Catalog(disk()).model(*wrong.find("model"))) ==
        folder.path + "/run.yaml:1:8: error: models/absent.yaml: cannot open: no such file or directory");
}

TEST_CASE("an inline map needs no file") {
  const Node model = *parse_yaml(kModel, "run.yaml");
  CHECK(Catalog().model(model)->name == "inline");
}

TEST_CASE("where there are no files a name is found and a path is refused") {
  CHECK(Catalog().model("gpt2")->name == "gpt2");
  CHECK(error_of(Catalog().model("/etc/model.yaml")) ==
        "foretrain: error: /etc/model.yaml: found a path, expected a name: no files are read here");
  CHECK_FALSE(Catalog().cluster("../fitted"));
}
