#include "job/split.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "spec/model.h"

using namespace foretrain;

// Layers alone count.
static Model gpt(std::int64_t layers) {
  Model model;
  model.hidden = 1024;
  model.blocks = {{layers, Block{{16, 16, 64}, {MlpKind::kGelu, 4096}}}};
  model.vocab = 51200;
  return model;
}

TEST_CASE("Layers are dealt by each stack's own rule and none is lost") {
  using Layers = std::vector<std::int64_t>;
  CHECK(split_layers(gpt(44), StageSplit::kPipelineLayers, 4) == Layers{11, 12, 12, 9});
  CHECK(split_layers(gpt(32), StageSplit::kPipelineLayers, 4) == Layers{8, 9, 9, 6});
  CHECK(split_layers(gpt(48), StageSplit::kEven, 8) == Layers(8, 6));
  CHECK(split_layers(gpt(10), StageSplit::kEven, 4) == Layers{3, 3, 2, 2});
  // A head of four layers' cost: 16 + 4 = 20 units over two stages, and a block that passes the half closes it.
  Model llama;
  llama.hidden = 2048;
  llama.blocks = {{16, Block{{32, 32, 64}, {MlpKind::kSwiglu, 8192}}}};
  llama.vocab = 131072;
  CHECK(split_layers(llama, StageSplit::kCost, 2) == Layers{11, 5});
  // Eight layers of half the cost before eight of the whole: 4 + 8 + 4 (the head) units over two stages.
  Model mixed = llama;
  Block half = llama.blocks.front().block;
  half.attention.heads /= 2;
  half.feed_forward.ffn /= 2;
  mixed.blocks = {{8, half}, {8, llama.blocks.front().block}};
  CHECK(split_layers(mixed, StageSplit::kCost, 2) == Layers{13, 3});
  CHECK(split_layers(mixed, StageSplit::kEven, 2) == Layers{8, 8});
  for (const StageSplit rule : {StageSplit::kEven, StageSplit::kCost, StageSplit::kPipelineLayers})
    for (std::int64_t layers = 1; layers < 40; ++layers)
      for (std::int64_t stages = 1; stages <= layers; ++stages) {
        const Layers split = split_layers(gpt(layers), rule, stages);
        CHECK(std::accumulate(split.begin(), split.end(), std::int64_t{0}) == layers);
        CHECK(static_cast<std::int64_t>(split.size()) == stages);
      }
}
