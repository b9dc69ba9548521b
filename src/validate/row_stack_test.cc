#include "validate/row_stack.h"

#include <doctest/doctest.h>

using namespace foretrain;

namespace {

MeasuredRow row_of(std::string stack, std::string_view notes = "") {
  MeasuredRow row;
  row.stack = std::move(stack);
  row.notes = Notes(notes);
  return row;
}
using Names = std::vector<std::string>;

Names named_by(const MeasuredRow& row) {
  static StackNames names{Catalog()};
  return names.named_by(row);
}

}  // namespace

TEST_CASE("a row names its framework, compiled where its notes say so") {
  CHECK(named_by(row_of("nanotron", "tp_mode=REDUCE_SCATTER")) == Names{"nanotron"});
  CHECK(named_by(row_of("torchtitan", "torch.compile; FSDP2")) == Names{"torchtitan-compile", "torchtitan"});
  CHECK(named_by(row_of("torchtitan", "tp_mode=async")) == Names{"torchtitan-compile", "torchtitan"});
  CHECK(named_by(row_of("torchtitan", "eager; FSDP2")) == Names{"torchtitan"});
  CHECK(named_by(row_of("somebody's", "torch.compile")) == Names{"somebody's"});
}

TEST_CASE("ZeRO 3 before flash attention is DeepSpeed's of 2021, by whatever name") {
  for (const char* stack : {"deepspeed", "deepspeed-zero3", "megatron-lm", "megatron-deepspeed"}) {
    MeasuredRow row = row_of(stack);
    row.zero = 3;
    row.attention = AttentionKind::kFlash;
    CHECK(named_by(row).front() != "deepspeed-zero3-2021");
    row.attention = AttentionKind::kUnfused;
    INFO(stack);
    CHECK(named_by(row).front() == "deepspeed-zero3-2021");
    CHECK(named_by(row).back() == stack);
    row.zero = 1;
    CHECK(named_by(row) == Names{stack});
  }
}

TEST_CASE("Megatron's rows that divide gradients or weights are of Megatron-FSDP") {
  MeasuredRow row = row_of("megatron");
  CHECK(named_by(row) == Names{"megatron"});
  row.zero = 3;
  CHECK(named_by(row) == Names{"megatron-fsdp", "megatron"});
}

TEST_CASE("Paxml's rows with Transformer Engine have its attention") {
  CHECK(named_by(row_of("paxml", "precision_detail=bf16 (TE); FSDP")) == Names{"paxml-te", "paxml"});
  CHECK(named_by(row_of("paxml", "precision_detail=bf16; FSDP")) == Names{"paxml"});
  CHECK(named_by(row_of("maxtext", "precision_detail=bf16 (TE)")) == Names{"maxtext"});
}
