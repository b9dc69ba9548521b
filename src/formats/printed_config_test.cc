#include "formats/printed_config.h"

#include <doctest/doctest.h>

#include "formats/foreign_run.h"

namespace foretrain {
namespace {

constexpr const char* kLog =
    "I0101 00:00:00 pyconfig.py:1] Config param attention_type: global\n"
    "Config param base_emb_dim: 512\nConfig param emb_dim: 1024\nConfig param base_num_decoder_layers: 8\n"
    "Config param num_decoder_layers: 16\nConfig param num_query_heads: 16\nConfig param num_kv_heads: 4\n"
    "Config param head_dim: 64\nConfig param mlp_dim: 4096\nConfig param mlp_activations: ['silu', "
    "'linear']\n"
    "Config param vocab_size: 32000\nConfig param kv_lora_rank: 512\nConfig param num_experts: 1\n"
    "Config param capacity_factor: -1.0\nConfig param dtype: <class 'jax.numpy.bfloat16'>\n"
    "Config param per_device_batch_size: 2.0\nConfig param global_batch_size_to_train_on: 64\n"
    "Config param max_target_length: 2048\nConfig param remat_policy: full\nConfig param model_name: "
    "default\n"
    "Config param ici_tensor_parallelism: 4\nConfig param some_other: 7\nNum_devices: 32, shape (1, 8, 4)\n"
    "completed step: 1, seconds: 1.5, TFLOP/s/device: 100, loss: 10.1\n";

TEST_CASE("a configuration in a log of MaxText is a run, its final sizes and the devices among it") {
  const auto run = read_foreign_run(kLog, "run.log");
  REQUIRE(run);
  REQUIRE(*run);
  const Node& map = (*run)->run;
  const auto word = [](const Node* node, std::string_view key) { return node->find(key)->scalar; };
  const Node* model = map.find("model");
  CHECK(word(model, "hidden") == "1024");
  CHECK(word(model, "layers") == "16");
  CHECK(word(model, "kv_heads") == "4");
  CHECK(word(model, "mlp") == "swiglu");
  CHECK(model->find("kv_rank") == nullptr);
  CHECK(word(&map, "gpus") == "32");
  CHECK(word(&map, "global_batch") == "64");
  CHECK(word(&map, "stack") == "maxtext");
  const Node* plan = map.find("plan");
  CHECK(word(plan, "tp") == "4");
  CHECK(word(plan, "micro_batch") == "8");  // 2 a device, 4 of which share one sequence
  CHECK(word(plan, "precision") == "bf16");
  CHECK(word(plan, "recompute") == "full");
  CHECK(plan->find("capacity_factor") == nullptr);
  CHECK((*run)->unknown_flags.empty());
  CHECK((*run)->contradictions.empty());
}

}  // namespace
}  // namespace foretrain
