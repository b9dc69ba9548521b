#include "workload/parameter_share.h"

#include <doctest/doctest.h>

#include "workload/testing.h"
#include "workload/widths.h"

using namespace foretrain;

TEST_CASE("Ranks' parameters sum to the model's, padding and replicated tensors apart") {
  Model model = gpt();
  model.vocab = 51200;  // a multiple of 128 * 8: nothing is padded
  const Stack megatron = stack("megatron");
  CHECK(parameter_share(model, megatron, {1}, Chunk{4, true, true}, true).elements == parameters(model));
  const std::int64_t replicated = 4 * (2 * norm_parameters(model) + 2 * model.hidden) +
                                  norm_parameters(model) + position_parameters(model);
  for (const std::int64_t tp : {2, 4, 8}) {
    const std::int64_t share = parameter_share(model, megatron, {tp}, Chunk{4, true, true}, true).elements;
    CHECK(tp * (share - replicated) + replicated == parameters(model));
  }
}

TEST_CASE("A tied head lives twice when first and last stage are apart") {
  Model model = gpt();
  model.tied = true;
  const Stack megatron = stack("megatron");
  const ParameterShare first = parameter_share(model, megatron, {1}, Chunk{2, true, false}, false);
  const ParameterShare last = parameter_share(model, megatron, {1}, Chunk{2, false, true}, false);
  CHECK(first.elements + last.elements == parameters(model) + model.vocab * model.hidden);
  CHECK(first.embedding_elements == model.vocab * model.hidden);
  CHECK(last.embedding_elements == model.vocab * model.hidden);
  CHECK(parameter_share(model, megatron, {1}, Chunk{4, true, true}, true).embedding_elements == 0);
}

TEST_CASE("The vocabulary is padded to a multiple of 128 tp by Megatron") {
  Model model = gpt();
  model.vocab = 50257;
  CHECK(padded_vocab(model, stack("megatron"), 1) == 50304);
  CHECK(padded_vocab(model, stack("megatron"), 8) == 51200);
  CHECK(padded_vocab(model, stack("hf-eager"), 1) == 50257);
}

TEST_CASE("One rank that holds a preset's layers and ends holds all that the preset counts") {
  const Stack eager = stack("hf-eager");
  for (const std::string& name : Catalog().names("models")) {
    CAPTURE(name);
    const Model model = Catalog().model(name).value();
    Chunk chunk = all_layers_of(model);
    chunk.first = chunk.last = true;
    CHECK(parameter_share(model, eager, {1}, chunk, true).elements == parameters(model));
  }
}
