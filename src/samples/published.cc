#include "samples/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/csv.h"
#include "base/text.h"
#include "operators/attention.h"
#include "operators/operator_text.h"
#include "operators/optimizer.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxRows = 1'000'000;

// A row's columns; those that a table lacks stay 1.
struct Shape {
  double mp = 1, b = 1, h = 1, l = 1, dim = 1, encoders = 1, parameters = 1, tensors = 1;

  double tokens() const { return b * l; }
  double scores() const { return b * heads() * l; }  // rows of the attention matrix
  double heads() const { return h / mp; }
  double head_dim() const { return dim / h; }
  double vocab() const { return 128 * std::ceil(50257 / (128 * mp)); }
  double block_parameters() const { return encoders * (12 * dim * dim / mp + 7 * dim / mp + 6 * dim); }
  double block_tensors() const { return encoders * 12; }
};

// The sizes of an operator, as they come out; the rest are 0.
using Sizes = std::array<double, 6>;
template <class... Size>
Sizes sizes_of(Size... sizes) {
  return {static_cast<double>(sizes)...};
}

// How a table becomes samples: its name, its columns, and the sizes of the operator in their order.
struct Table {
  std::string_view name;
  std::string_view columns;
  OperatorKind kind;
  Impl impl;
  Sizes (*sizes)(const Shape&);
};

constexpr std::string_view kHidden = "mp b l dim", kScores = "mp b h l dim", kLocal = "b l dim",
                           kRows = "mp b h l", kStage = "mp dim encoders";

const Table kTables[] = {
    {"linear1", kHidden, OperatorKind::kLinear, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.tokens(), s.dim, 3 * s.dim / s.mp); }},
    {"linear2", kHidden, OperatorKind::kLinear, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.tokens(), s.dim / s.mp, s.dim); }},
    {"linear3", kHidden, OperatorKind::kLinear, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.tokens(), s.dim, 4 * s.dim / s.mp); }},
    {"linear4", kHidden, OperatorKind::kLinear, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.tokens(), 4 * s.dim / s.mp, s.dim); }},
    {"linear_final", kHidden, OperatorKind::kLinear, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.tokens(), s.dim, s.vocab()); }},
    {"baddbmm", kScores, OperatorKind::kBatchedProduct, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.b * s.heads(), s.l, s.head_dim(), s.l); }},
    {"bmm", kScores, OperatorKind::kBatchedProduct, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.b * s.heads(), s.l, s.l, s.head_dim()); }},
    // Not causal: half of the sampled work would be skipped in training. Its loss is a plain sum, so its
    // gradients are ones.
    {"flash_atten", kScores, OperatorKind::kAttention, Impl::kFlash,
     [](const Shape& s) { return sizes_of(s.b, s.heads(), s.heads(), s.l, s.head_dim(), 0); }},
    {"ScaledUpperTriangMaskedSoftmax", kRows, OperatorKind::kSoftmax, Impl::kFused,
     [](const Shape& s) { return sizes_of(s.scores(), s.l); }},
    {"softmax", kRows, OperatorKind::kSoftmax, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.scores(), s.l); }},
    {"fillmask", kScores, OperatorKind::kMaskedFill, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.scores(), s.l); }},
    // Queries and keys, by one scripted function.
    {"RoPE", kScores, OperatorKind::kRope, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.tokens(), 2 * s.dim / s.mp); }},
    {"layernorm", kLocal, OperatorKind::kLayernorm, Impl::kFused,
     [](const Shape& s) { return sizes_of(s.tokens(), s.dim); }},
    // The module kept its fp32 scale where training converts it.
    {"RMSlayernorm", kLocal, OperatorKind::kRmsnorm, Impl::kFp32Scale,
     [](const Shape& s) { return sizes_of(s.tokens(), s.dim); }},
    {"gelu", kHidden, OperatorKind::kGelu, Impl::kFused,
     [](const Shape& s) { return sizes_of(s.tokens(), 4 * s.dim / s.mp); }},
    {"res_add", kLocal, OperatorKind::kAdd, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.tokens(), s.dim); }},
    {"embedding", kHidden, OperatorKind::kEmbedding, Impl::kAten,
     [](const Shape& s) { return sizes_of(s.tokens(), s.dim, s.vocab()); }},
    {"parallel_cross_entropy_128", "mp b l", OperatorKind::kCrossEntropy, Impl::kEager,
     [](const Shape& s) { return sizes_of(s.tokens(), s.vocab()); }},
    {"optimizer", "param_tensors params", OperatorKind::kAdamw, Impl::kEager,
     [](const Shape& s) { return sizes_of(s.parameters, s.tensors); }},
    {"firstStage_optimizer", kStage, OperatorKind::kAdamw, Impl::kFused,
     [](const Shape& s) {
       return sizes_of(s.block_parameters() + s.vocab() * s.dim, s.block_tensors() + 1);
     }},
    {"middleStage_optimizer", kStage, OperatorKind::kAdamw, Impl::kFused,
     [](const Shape& s) { return sizes_of(s.block_parameters(), s.block_tensors()); }},
    {"lastStage_optimizer", kStage, OperatorKind::kAdamw, Impl::kFused,
     [](const Shape& s) {
       return sizes_of(s.block_parameters() + 2 * s.dim + s.vocab() * s.dim, s.block_tensors() + 3);
     }},
};

struct ShapeColumn {
  std::string_view name;
  double Shape::*field;
};
constexpr ShapeColumn kShapeColumns[] = {{"mp", &Shape::mp},
                                         {"b", &Shape::b},
                                         {"h", &Shape::h},
                                         {"l", &Shape::l},
                                         {"dim", &Shape::dim},
                                         {"hidden_size", &Shape::dim},
                                         {"encoders", &Shape::encoders},
                                         {"params", &Shape::parameters},
                                         {"param_tensors", &Shape::tensors}};

struct TimeColumn {
  std::string_view name;
  PassKind pass;
};
constexpr TimeColumn kTimeColumns[] = {{"F_dur(us)", PassKind::kForward},
                                       {"B_dur(us)", PassKind::kBackward},
                                       {"dur(us)", PassKind::kStep},
                                       {"dur", PassKind::kStep}};

// "NVIDIAA100-SXM4-80GB_linear1_fp16.csv" holds linear1 in fp16.
struct FileName {
  const Table* table;
  Dtype dtype;
};
std::optional<FileName> parse_file_name(std::string_view file) {
  if (!file.starts_with("NVIDIA") || !file.ends_with(".csv")) return std::nullopt;
  file.remove_suffix(4);
  const std::size_t first = file.find('_'), last = file.rfind('_');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const auto dtype = parse_choice<Dtype>(file.substr(last + 1), kDtypeNames);
  const std::string_view word = file.substr(first + 1, last - first - 1);
  const auto table =
      std::find_if(std::begin(kTables), std::end(kTables), [&](const Table& t) { return t.name == word; });
  if (!dtype || table == std::end(kTables)) return std::nullopt;
  return FileName{&*table, *dtype};
}

Result<double> read_positive(const CsvTable& csv, std::size_t row, std::size_t column) {
  const std::string_view cell = csv.cell(row, column);
  const auto number = parse_number(cell);
  if (!number || *number <= 0 || *number > 1e15)
    return fail(fmt::format("{}: found {}, expected a number above 0", csv.columns()[column], quoted(cell)),
                csv.position(row, column));
  return *number;
}

Result<void> check_columns(const CsvTable& csv, const Table& table) {
  for (const std::string_view word : split(table.columns, ' '))
    if (!csv.column(word))
      return fail(fmt::format("found no column '{}', expected {} and times", word, table.columns),
                  Position{csv.file(), 1, 1});
  const bool step = table.kind == OperatorKind::kAdamw;
  const bool timed =
      step ? csv.column("dur") || csv.column("dur(us)") : csv.column("F_dur(us)") && csv.column("B_dur(us)");
  if (timed) return {};
  return fail(
      fmt::format("found no times, expected columns {}", step ? "'dur'" : "'F_dur(us)' and 'B_dur(us)'"),
      Position{csv.file(), 1, 1});
}

Result<Shape> read_shape(const CsvTable& csv, std::size_t row) {
  Shape shape;
  for (const ShapeColumn& column : kShapeColumns)
    if (const auto i = csv.column(column.name)) {
      TRY_ASSIGN(shape.*column.field, read_positive(csv, row, *i));
    }
  return shape;
}

// None where a size is not whole, or heads are not (b h/t can be whole where h/t is not).
std::optional<Operator> make_operator(const Table& table, Dtype dtype, const Shape& shape) {
  Operator op;
  op.kind = table.kind;
  op.impl = table.impl;
  op.dtype = dtype;
  if (op.kind == OperatorKind::kAdamw)
    op.set(StateSizes{.parameters = 0, .tensors = 0, .widths = kMixedStates});
  FlatSizes whole = op.flat();
  const bool by_heads = table.columns == kScores || table.columns == kRows;
  if (by_heads && shape.heads() != std::floor(shape.heads())) return std::nullopt;
  const Sizes found = table.sizes(shape);
  for (std::size_t i = 0; i < size_names(op.kind).size(); ++i) {
    const bool flag = op.kind == OperatorKind::kAttention && i == kCausalSize;
    if (found[i] != std::floor(found[i]) || found[i] > 1e15 || (found[i] < 1 && !flag)) return std::nullopt;
    whole[i] = static_cast<std::int64_t>(found[i]);
  }
  op.set_flat(whole);
  return op;
}

Result<ImportedFile> import_file(const Source& source, const FileName& what, std::vector<Sample>& samples) {
  const std::string file = file_name(source.name);
  TRY_ASSIGN(const CsvTable csv, CsvTable::parse(source.text, source.name, kMaxRows));
  TRY(check_columns(csv, *what.table));
  ImportedFile result{file, csv.rows(), 0, 0};
  for (std::size_t row = 0; row < csv.rows(); ++row) {
    TRY_ASSIGN(const Shape shape, read_shape(csv, row));
    const auto op = make_operator(*what.table, what.dtype, shape);
    result.skipped += !op;
    for (const TimeColumn& time : kTimeColumns) {
      const auto column = csv.column(time.name);
      if (!column) continue;
      Sample sample;
      TRY_ASSIGN(sample.us, read_positive(csv, row, *column));
      if (!op) continue;
      sample.op = *op;
      sample.op.pass = time.pass;
      if (time.pass == PassKind::kBackward && op->kind == OperatorKind::kLinear)
        sample.op.impl = Impl::kZeroGrad;
      sample.op.launches = usual_launches(sample.op);
      if (shape.dim > 1) sample.group = fmt::format("hidden={}", shape.dim);
      sample.source = file;
      samples.push_back(std::move(sample));
      ++result.samples;
    }
  }
  return result;
}

}  // namespace

Result<Sources> published_sources(const Files& files, const std::string& folder) {
  Sources operators{folder + (folder.ends_with('/') ? "" : "/") + "operator", true, {}};
  if (!files.is_folder(folder)) return fail("found no such folder", Position{folder});
  if (!files.is_folder(operators.name))
    return fail("found no folder 'operator', expected the samples of one site", Position{folder});
  TRY_ASSIGN(const std::vector<std::string> names, files.list(operators.name, ".csv"));
  for (const std::string& name : names) {
    Source source{operators.name + "/" + name, {}};
    if (parse_file_name(name)) {
      TRY_ASSIGN(source.text, files.read(source.name, kMaxBytes));
    }
    operators.files.push_back(std::move(source));
  }
  return operators;
}

Result<PublishedImport> import_published_samples(const Sources& operators) {
  PublishedImport imported;
  for (const Source& source : operators.files) {
    const auto what = parse_file_name(file_name(source.name));
    if (!what) {
      imported.ignored.push_back(file_name(source.name));
      continue;
    }
    TRY_ASSIGN(ImportedFile counts, import_file(source, *what, imported.samples));
    imported.files.push_back(std::move(counts));
  }
  if (imported.samples.empty())
    return fail("found no samples, expected tables such as NVIDIAA100-SXM4-80GB_linear1_fp16.csv",
                Position{operators.name});
  return imported;
}

std::string import_text(const PublishedImport& imported) {
  std::size_t width = 0;
  for (const ImportedFile& file : imported.files) width = std::max(width, file.name.size());
  const auto count = [](std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); };
  std::string text;
  for (const ImportedFile& file : imported.files) {
    text += fmt::format("{:<{}}  {:>6} rows  {:>6} samples", file.name, width, count(file.rows),
                        count(file.samples));
    if (file.skipped > 0) text += fmt::format("  {} skipped: sizes not whole", count(file.skipped));
    text += '\n';
  }
  text += fmt::format("{} samples, {} tables\n", count(imported.samples.size()), imported.files.size());
  for (const std::string& file : imported.ignored) text += fmt::format("ignored: {}\n", file);
  return text;
}

}  // namespace foretrain
