#include "operators/light.h"

#include <cmath>

#include "operators/features.h"
#include "operators/sums.h"

namespace foretrain {

void add_light_terms(Terms& t, const Operator& op, const Gpu& gpu, double of_rows) {
  const double stream = (bytes(op) / gpu.hbm).value;
  t.add(stream);
  t.add(of_rows);
  t.add(row_loads(op) < 2 ? stream : 0);
}

void add_row_terms(Terms& t, const Operator& op, const Gpu& gpu) {
  const auto [rows] = real_sizes<1>(op);
  add_light_terms(t, op, gpu, rows * 1e-9);
}

void add_light_features(Features& f, const Operator& op) {
  constexpr double kScales[] = {0.25, 0.25, 0.25};
  add_work_features(f, op, 0.25);
  add_size_features(f, op, kScales);
  const auto [rows, columns] = real_sizes<2>(op);
  f.add(log2_of(rows * columns));
  f.add(alignment(op.flat()[1]), 0.08);
  f.add(row_loads(op) < 2, 0.5);
}

void add_column_sum_terms(Terms& t, const Operator& op, const Gpu& gpu, bool along_rows) {
  const auto [rows, columns] = real_sizes<2>(op);
  const double sms = static_cast<double>(gpu.sms);
  const ColumnSum sum = column_sum(rows, columns, sms);
  t.add(sum.values * 1e-7);
  t.add(sum.parts * 1e-7);
  t.add(along_rows ? row_sum_values(rows, columns, sms) * 1e-7 : 0);
}

void add_column_sum_features(Features& f, const Operator& op, const Gpu& gpu) {
  const auto [rows, columns] = real_sizes<2>(op);
  const ColumnSum sum = column_sum(rows, columns, static_cast<double>(gpu.sms));
  f.add(log2_of(sum.values), 0.25);
  f.add(log2_of(sum.parts + 1), 0.25);
}

}  // namespace foretrain
