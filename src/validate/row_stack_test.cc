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

}  // namespace

TEST_CASE("a row names its framework, compiled where its notes say so") {
  CHECK(stacks_named_by(row_of("nanotron", "tp_mode=REDUCE_SCATTER")) == Names{"nanotron"});
  CHECK(stacks_named_by(row_of("torchtitan", "torch.compile; FSDP2")) ==
        Names{"torchtitan-compile", "torchtitan"});
  CHECK(stacks_named_by(row_of("torchtitan", "tp_mode=async")) == Names{"torchtitan-compile", "torchtitan"});
}

TEST_CASE("ZeRO 3 before flash attention is DeepSpeed's of 2021") {
  MeasuredRow row = row_of("deepspeed");
  row.zero = 3;
  row.attention = AttentionKind::kFlash;
  CHECK(stacks_named_by(row) == Names{"deepspeed"});
  row.attention = AttentionKind::kUnfused;
  CHECK(stacks_named_by(row) == Names{"deepspeed-zero3-2021", "deepspeed"});
}
