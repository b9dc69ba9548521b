#include "formats/pipeline_layout.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace foretrain;
using Layers = std::vector<std::int64_t>;

TEST_CASE("letters count the layers of each chunk") {
  CHECK(layers_of_layout("Ett|ttt|tL", 3).value() == Layers{2, 3, 1});
  CHECK(layers_of_layout("Et*2|(t*3|)*2tL", 4).value() == Layers{2, 3, 3, 1});
  CHECK(layers_of_layout("E,t*2|,t|L", 3).value() == Layers{2, 1, 0});  // a chunk of the loss alone
  CHECK(layers_of_layout("((tt|)*2t|)*2L", 7).value() == Layers{2, 2, 1, 2, 2, 1, 0});
}

TEST_CASE("DeepSeek-V3's 61 layers over 16 stages, the last with the layer that predicts further") {
  // A bar after a bar is a chunk without a letter, which does not count where the others are enough.
  const Layers layers = layers_of_layout("Et*4|(t*4|)*14|tmL", 16).value();
  CHECK(layers.back() == 1);
  CHECK(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}) == 61);
}

TEST_CASE("chunks are written in letters that read back the same") {
  const Layers layers = {2, 3, 0, 1};
  CHECK(layout_of_layers(layers, 0) == "Et*2|t*3||tL");
  CHECK(layout_of_layers(layers, 1) == "Et*2|t*3||tmL");
  CHECK(layers_of_layout(layout_of_layers(layers, 1)).value() == layers);
}

TEST_CASE("a layout that means something else is refused") {
  const auto refusal = [](const char* letters, std::int64_t chunks) {
    const auto layers = layers_of_layout(letters, chunks);
    return layers ? std::string() : layers.error().message;
  };
  CHECK(refusal("Et|tL", 3) == "pp_layout has 2 chunks, but pp and vpp make 3");
  CHECK(refusal("Et|tm|L", 3).find("apart from the loss") != std::string::npos);
  CHECK(refusal("Ex|tL", 2).find("found 'x'") != std::string::npos);
  CHECK(refusal("E(t|L", 2).find("not closed") != std::string::npos);
  CHECK(refusal("Et)|L", 2).find("without a bracket") != std::string::npos);
  CHECK(refusal("Et*|L", 2).find("count after '*'") != std::string::npos);
  CHECK(refusal("Et*9999999999999999999|L", 2).find("count after '*'") != std::string::npos);
  CHECK(refusal("(((t*999)*999)*999)*999", 1) != "");
  CHECK(refusal("((((((((((t))))))))))", 1).find("brackets") != std::string::npos);
  CHECK(refusal("", 2) == "pp_layout has 0 chunks, but pp and vpp make 2");
}

TEST_CASE("with embedding and loss as a layer each, first and last chunk have one less") {
  CHECK(layers_beside_ends(94, 8).value() == Layers{11, 12, 12, 12, 12, 12, 12, 11});
  CHECK_FALSE(layers_beside_ends(93, 8));
  CHECK_FALSE(layers_beside_ends(94, 1));
}
