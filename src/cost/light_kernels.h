// How PyTorch cuts its light operators into kernels and blocks, where that and not the bytes decides the
// time: lists of tensors, sums over tokens, softmax along rows. Read off its sources (MultiTensorApply.cuh,
// Reduce.cuh, SoftMax.cu of PyTorch 2), and seen as steps in samples of PyTorch 2.11 on our H200.
#pragma once

#include "workload/operator.h"

namespace foretrain {

// A list of tensors is worked off in chunks of 65,536 elements, a block each; a kernel takes at most 320
// blocks and, as its arguments have to fit, 110 tensors of one list, 64 of two, 36 of four. A block goes
// through its chunk 2048 elements at a time, each time waiting for memory.
struct ListKernels {
  double kernels = 0;  // for one pass over the list
  double steps = 0;    // one after the other, of the longest block of each kernel
  double blocks = 0;
};
ListKernels list_kernels(const Operator& op);

// Sum of tokens x width over the tokens: a thread adds up to four columns, 32 x 4 threads make a block. From
// 256 values a thread on the rows are split over as many blocks as the GPU holds; the last of a column's
// blocks adds the parts. So 1000 rows take longer than 1100.
struct ColumnSum {
  double values = 0;  // that one thread adds, one after the other
  double parts = 0;   // that one thread of the last block adds; 0: the rows are not split
};
ColumnSum column_sum(double tokens, double width, double sms);

// Softmax along rows: up to 2048 columns a warp holds a row, padded to a power of two; up to 9 * 1024 a block
// of 1024 threads holds it in registers, one element a load; then in 48 KiB of shared memory; a longer one is
// read three times. With over six registers of values a thread one block fits an SM instead of two.
struct SoftmaxRow {
  enum class Kind : unsigned char { kWarp, kRegisters, kShared, kStreamed } kind = Kind::kWarp;
  double padded = 0;     // columns as a warp holds them
  double registers = 0;  // values a thread of a block holds
  double blocks = 2;     // that an SM holds
  double rest = 0;       // steps of single elements after the last whole round of eight a thread
};
SoftmaxRow softmax_row(double columns, double element_bytes);

// A norm in one kernel: a block of 128 threads goes through its row 512 elements at a time, 16 blocks an SM;
// and then through it again, from the SM's cache as far as that holds the rows of its blocks (forward one
// tensor, backward two).
struct NormRows {
  double steps = 0;       // one after the other, over all waves
  double read_again = 0;  // share of a row that the cache has lost by then
};
inline constexpr double kNormAllAgain = 0.4;  // the rows fill all of it
NormRows norm_rows(const Operator& op, double sms);

// An embedding gathers rows by blocks of 256 threads, 16 bytes each. Its backward goes through the tokens one
// by one up to 3072; more are sorted first.
double gather_blocks(const Operator& op);
inline constexpr double kTokensUnsorted = 3072;

}  // namespace foretrain
