#include "validate/row_feature.h"

#include <doctest/doctest.h>

#include "validate/example_table.h"

using namespace foretrain;
using Names = std::vector<std::string>;

TEST_CASE("a row has every feature that its columns state, and is dense or has experts") {
  CHECK(features_of(example_row()) == Names{"dense"});
  CHECK(features_of(example_row({{"experts", "8"}, {"precision", "mxfp8"}, {"cp", "2"}})) ==
        Names{"experts", "low-precision", "context-parallel"});
  CHECK(features_of(example_row({{"notes", "mla=1; kv_lora_rank=512"}})) ==
        Names{"dense", "latent-attention"});
  CHECK(features_of(example_row({{"precision", "fp16"}})) == Names{"dense"});
}

TEST_CASE("fine-tuning is told by its task or by adapters; pretraining states neither") {
  CHECK(features_of(example_row({{"task", "sft"}})) == Names{"dense", "fine-tuning"});
  CHECK(features_of(example_row({{"task", "pretrain"}, {"peft", "none"}})) == Names{"dense"});
  CHECK(features_of(example_row({{"peft", "qlora"}})) == Names{"dense", "fine-tuning"});
}
