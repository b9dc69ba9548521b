// How PyTorch cuts its light operators into kernels and blocks, where that and not the bytes decides the
// time: lists of tensors, sums over tokens, softmax along rows. Read off its sources (MultiTensorApply.cuh,
// Reduce.cuh, SoftMax.cu of PyTorch 2), and seen as steps in samples of PyTorch 2.11 on our H200.
#pragma once

#include <array>

#include "operators/operator.h"

namespace foretrain {

// A list of tensors is worked off in chunks of 65,536 elements, a block each; a kernel takes at most 320
// blocks and, as its arguments have to fit, 110 tensors of one list, 64 of two, 36 of four. A block goes
// through its chunk 2048 elements at a time, each time waiting for memory. An SM holds four blocks, of the
// fused AdamW two: then 320 are more than a wave, and a few of them run alone.
struct ListKernels {
  struct Wave {
    double count = 0, blocks = 0;  // so many waves of so many blocks
  };
  double kernels = 0;  // for one pass over the list
  double blocks = 0;
  double steps = 0;  // of a block, one after the other
  double waves = 0;
  std::array<Wave, 4> each{};  // of a full kernel and of the last: full waves, and what is left

  // All waves, none shorter than `waiting` or than its part of `stream`.
  double seconds(double waiting, double stream) const;
};
ListKernels list_kernels(const Operator& op, double sms);

// Sum of tokens x width over the tokens: a thread adds up to four columns, 32 x 4 threads make a block. From
// 256 values a thread on the rows are split over as many blocks as the GPU holds; the last of a column's
// blocks adds the parts. So 1000 rows take longer than 1100.
struct ColumnSum {
  double values = 0;  // that one thread adds, one after the other
  double parts = 0;   // that one thread of the last block adds; 0: the rows are not split
};
ColumnSum column_sum(double tokens, double width, double sms);

// Sum along rows: a warp takes a row; from 8192 columns on 16 warps do. Values that one thread adds, over all
// waves of rows.
double row_sum_values(double rows, double width, double sms);

// Softmax along rows: up to 2048 columns a warp holds a row, padded to a power of two; up to 9 * 1024 a block
// of 1024 threads holds it in registers, one element a load; then in 48 KiB of shared memory; a longer one is
// read three times. Backward a warp holds up to 1024, and no registers. With over six registers of values a
// thread one block fits an SM instead of two.
struct SoftmaxRow {
  enum class Kind : unsigned char { kWarp, kRegisters, kShared, kStreamed } kind = Kind::kWarp;
  double padded = 0;     // columns as a warp holds them
  double registers = 0;  // values a thread of a block holds
  double blocks = 2;     // that an SM holds
  double rest = 0;       // steps of single elements after the last whole round of eight a thread
};
SoftmaxRow softmax_row(double columns, double element_bytes, bool forward = true);

// A norm in one kernel: a block of 128 threads goes through its row 512 elements at a time, 16 blocks an SM;
// and then through it again, from the SM's cache as far as that holds the rows of its blocks (forward one
// tensor, backward two). The gradients of scale and bias: a block of 1024 threads sums 32 columns, 256 rows
// at a time.
struct NormRows {
  double steps = 0;       // one after the other, over all waves
  double read_again = 0;  // share of a row that the cache has lost by then
  double sum_steps = 0;   // of the gradients of scale and bias
};
inline constexpr double kNormAllAgain = 0.4;  // the rows fill all of it
NormRows norm_rows(const Operator& op, double sms);

// An embedding gathers rows by blocks of 256 threads, 16 bytes each. Its backward goes through the tokens one
// by one up to 3072; more are sorted first.
double gather_blocks(const Operator& op);
inline constexpr double kTokensUnsorted = 3072;

}  // namespace foretrain
