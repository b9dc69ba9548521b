#include "workload/muon.h"

#include <algorithm>
#include <cmath>

#include "operators/product.h"

namespace foretrain {

void MatrixKinds::add(std::int64_t rows, std::int64_t columns, std::int64_t count) {
  if (rows <= 0 || columns <= 0 || count <= 0) return;
  const std::int64_t shorter = std::min(rows, columns), longer = std::max(rows, columns);
  for (std::size_t i = 0; i < size; ++i)
    if (kinds[i].shorter == shorter && kinds[i].longer == longer) {
      kinds[i].count += count;
      return;
    }
  if (size == kinds.size())
    kinds.back().count += count;
  else
    kinds[size++] = {shorter, longer, count};
}

void MatrixKinds::add(const MatrixKinds& more) {
  for (std::size_t i = 0; i < more.size; ++i)
    add(more.kinds[i].shorter, more.kinds[i].longer, more.kinds[i].count);
}

MatrixKinds MatrixKinds::share(double part) const {
  MatrixKinds some = *this;
  for (std::size_t i = 0; i < some.size; ++i)
    some.kinds[i].count =
        std::max<std::int64_t>(1, std::llround(std::ceil(static_cast<double>(kinds[i].count) * part - 1e-9)));
  return some;
}

void add_newton_schulz(const MatrixKinds& matrices, Repeat& repeat) {
  for (std::size_t i = 0; i < matrices.size; ++i) {
    const auto& [n, l, count] = matrices.kinds[i];
    for (const LinearSizes& sizes : {LinearSizes{n, l, n}, LinearSizes{n, n, n}, LinearSizes{n, n, l}}) {
      Task task;
      task.op = linear(sizes, {.dtype = Dtype::kBf16});
      task.times = count * kNewtonSchulzSteps;
      repeat.tasks.push_back(task);
    }
  }
}

}  // namespace foretrain
