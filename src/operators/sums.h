// How PyTorch sums over rows and columns, where that and not the bytes decides the time. Read off its sources
// (Reduce.cuh of PyTorch 2), and seen as steps in samples of PyTorch 2.11 on our H200.
#pragma once

namespace foretrain {

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

}  // namespace foretrain
