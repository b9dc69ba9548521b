#include "samples/operator_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <span>

#include "base/text.h"
#include "samples/sample_table.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000'000;
constexpr std::int64_t kMaxRanks = 1'000'000, kMaxExperts = 100'000, kMaxHidden = 10'000'000;
constexpr double kMaxUs = 1e12, kMaxRate = 1e6;
constexpr std::size_t kMaxGpus = 100, kMaxGpuName = 40;
// DeepEP's tests let a token choose experts in at most four nodes.
constexpr std::int64_t kMostNodes = 4;
constexpr std::int32_t kDeepEpExperts = 256;  // in DeepEP's own tables, which do not say it
constexpr double kFp8WithScales = 1 + 4.0 / 128;

// One table being read: cells by name, and where its samples go.
class Reader {
 public:
  Reader(const SampleTable& table, std::span<const std::string_view> names, OperatorTable& report,
         OperatorTablesImport& imported)
      : table_(table), names_(names), report_(report), imported_(imported) {}

  void at(std::size_t row) { row_ = row; }
  std::string_view text(int column) const { return table_.text(row_, column); }
  Position position(int column) const { return table_.position(row_, column); }

  Result<std::int64_t> whole(int column, std::int64_t low, std::int64_t high) const {
    return filled(table_.whole(row_, column, low, high), column, "a whole number");
  }
  Result<double> number(int column, double high) const {
    return filled(table_.number(row_, column, 0, false, high), column, "a number");
  }
  // None of it is nothing.
  Result<double> number_or_none(int column, double high) const {
    TRY_ASSIGN(const auto value, table_.number(row_, column, 0, true, high));
    return value.value_or(0);
  }
  Result<std::size_t> choice(int column, std::span<const std::string_view> words) const {
    return parse_choice<std::size_t>(text(column), words, position(column));
  }

  // A file is named after it.
  Result<std::string> gpu(int column) const {
    const std::string_view word = text(column);
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    if (word.empty() || word.size() > kMaxGpuName || word.front() == '-' ||
        !std::all_of(word.begin(), word.end(), is_plain))
      return fail(
          fmt::format("gpu: found {}, expected a name of small letters, digits and '-'", quoted(word)),
          position(column));
    if (!imported_.samples.contains(std::string(word)) && imported_.samples.size() >= kMaxGpus)
      return fail(fmt::format("gpu: found more than {} GPUs, expected fewer", kMaxGpus), position(column));
    return std::string(word);
  }

  void reject(const std::string& reason) { ++report_.rejected[reason]; }
  Result<void> add(const std::string& gpu, CollectiveSample sample) {
    // What our own table can hold.
    if (sample.bytes.value > 1e15 || !(sample.seconds > Seconds(0)) || sample.seconds.value * 1e6 > kMaxUs)
      return reject("too large"), Result<void>();
    std::vector<CollectiveSample>& samples = imported_.samples[gpu];
    TRY(check_sample_count(samples.size() + 1, report_.file));
    samples.push_back(std::move(sample));
    ++report_.samples;
    return {};
  }

 private:
  template <class T>
  Result<T> filled(const Result<std::optional<T>>& cell, int column, std::string_view expected) const {
    if (!cell) return tl::unexpected(cell.error());
    if (*cell) return **cell;
    return fail(
        fmt::format("{}: found nothing, expected {}", names_[static_cast<std::size_t>(column)], expected),
        position(column));
  }

  const SampleTable& table_;
  std::span<const std::string_view> names_;
  OperatorTable& report_;
  OperatorTablesImport& imported_;
  std::size_t row_ = 0;
};

// Grace nodes hold four GPUs, the others eight.
std::int64_t gpus_of_a_node(const std::string& gpu) { return gpu.starts_with("gb") ? 4 : 8; }

struct Shape {
  std::int64_t tokens = 0, hidden = 0;
  std::int32_t top_k = 0, experts = 0;
};

CollectiveSample exchange(CollectiveKind kind, const Shape& shape, double width, std::int64_t ranks,
                          std::int64_t ranks_per_node, double us) {
  CollectiveSample sample{.kind = kind, .ranks = ranks, .ranks_per_node = ranks_per_node};
  sample.bytes = Bytes(std::max(1.0, std::round(static_cast<double>(shape.tokens) *
                                                static_cast<double>(shape.hidden) * shape.top_k * width)));
  sample.seconds = microseconds(us);
  sample.tokens = shape.tokens;
  sample.hidden = shape.hidden;
  sample.top_k = shape.top_k;
  sample.experts = shape.experts;
  return sample;
}

Result<std::int32_t> top_k_of(const Reader& row, int column, std::int32_t experts) {
  TRY_ASSIGN(const std::int64_t top_k, row.whole(column, 1, kMaxExperts));
  if (top_k > experts)
    return fail(fmt::format("top_k: found {}, expected at most the {} experts", top_k, experts),
                row.position(column));
  return static_cast<std::int32_t>(top_k);
}

constexpr std::array<std::string_view, 7> kNcclNames = {"gpu",      "op", "dtype", "gpus",
                                                        "elements", "us", "nccl"};
Result<void> read_nccl(Reader& row) {
  enum { kGpu, kOp, kDtype, kGpus, kElements, kUs, kNccl };
  constexpr std::array<std::string_view, 6> kOps = {"all_reduce", "all_gather", "reduce_scatter",
                                                    "broadcast",  "alltoall",   "sendrecv"};
  constexpr std::array<std::string_view, 2> kTypes = {"int8", "half"};
  TRY_ASSIGN(const std::string gpu, row.gpu(kGpu));
  CollectiveSample sample;
  TRY_ASSIGN(const std::size_t op, row.choice(kOp, kOps));
  sample.kind = static_cast<CollectiveKind>(op);
  TRY_ASSIGN(const std::size_t type, row.choice(kDtype, kTypes));
  TRY_ASSIGN(const std::int64_t elements, row.whole(kElements, 1, kMaxCount * 1000));
  TRY_ASSIGN(sample.ranks, row.whole(kGpus, 2, gpus_of_a_node(gpu)));
  TRY_ASSIGN(const double us, row.number(kUs, kMaxUs));
  sample.bytes = Bytes(static_cast<double>(elements) * static_cast<double>(type + 1));
  sample.ranks_per_node = sample.ranks;
  sample.seconds = microseconds(us);
  sample.source = "nccl " + source_label(row.text(kNccl));
  return row.add(gpu, std::move(sample));
}

constexpr std::array<std::string_view, 14> kDeepEpNames = {"gpu",
                                                           "device",
                                                           "nodes",
                                                           "hidden",
                                                           "tokens",
                                                           "top_k",
                                                           "experts",
                                                           "dispatch_sms",
                                                           "dispatch_us",
                                                           "dispatch_notify_us",
                                                           "combine_sms",
                                                           "combine_us",
                                                           "combine_notify_us",
                                                           "sglang"};
Result<void> read_deepep(Reader& row) {
  enum {
    kGpu,
    kDevice,
    kNodes,
    kHidden,
    kTokens,
    kTopK,
    kExperts,
    kDispatchSms,
    kDispatchUs,
    kDispatchNotify,
    kCombineSms,
    kCombineUs,
    kCombineNotify,
    kSglang
  };
  TRY_ASSIGN(const std::string gpu, row.gpu(kGpu));
  TRY_ASSIGN(const std::int64_t nodes, row.whole(kNodes, 1, kMaxRanks));
  Shape shape;
  TRY_ASSIGN(shape.hidden, row.whole(kHidden, 1, kMaxHidden));
  TRY_ASSIGN(shape.tokens, row.whole(kTokens, 1, kMaxCount));
  TRY_ASSIGN(const std::int64_t experts, row.whole(kExperts, 1, kMaxExperts));
  shape.experts = static_cast<std::int32_t>(experts);
  TRY_ASSIGN(shape.top_k, top_k_of(row, kTopK, shape.experts));
  const std::int64_t node = gpus_of_a_node(gpu);
  const auto sample = [&](CollectiveKind kind, double width, int sms, int us,
                          int notify) -> Result<CollectiveSample> {
    TRY_ASSIGN(const double moving, row.number(us, kMaxUs));
    TRY_ASSIGN(const double before, row.number_or_none(notify, kMaxUs));
    TRY_ASSIGN(const std::int64_t held, row.whole(sms, 1, 10'000));
    CollectiveSample timed = exchange(kind, shape, width, nodes * node, node, moving + before);
    timed.sms = static_cast<std::int32_t>(held);
    timed.source = "sglang " + source_label(row.text(kSglang));
    return timed;
  };
  TRY_ASSIGN(CollectiveSample dispatch,
             sample(CollectiveKind::kDispatch, 1, kDispatchSms, kDispatchUs, kDispatchNotify));
  TRY_ASSIGN(CollectiveSample combine,
             sample(CollectiveKind::kCombine, 2, kCombineSms, kCombineUs, kCombineNotify));
  // "h100-80gb-sxm" on "NVIDIA H100 80GB HBM3".
  std::string model = gpu.substr(0, gpu.find('-'));
  for (char& c : model) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (row.text(kDevice).find(model) == std::string_view::npos)
    row.reject("timed on another GPU");
  else if (nodes > kMostNodes)
    row.reject("routed to four nodes of more");
  else {
    TRY(row.add(gpu, std::move(dispatch)));
    TRY(row.add(gpu, std::move(combine)));
  }
  return {};
}

constexpr std::array<std::string_view, 11> kNvlinkNames = {
    "gpu", "op", "dtype", "tokens", "hidden", "top_k", "experts", "ep", "us", "kernel", "trtllm"};
Result<void> read_nvlink(Reader& row) {
  enum { kGpu, kOp, kDtype, kTokens, kHidden, kTopK, kExperts, kEp, kUs, kKernel, kTrtllm };
  constexpr std::array<std::string_view, 4> kOps = {"alltoall_dispatch", "alltoall_combine",
                                                    "alltoall_prepare", "alltoall_combine_low_precision"};
  constexpr std::array<std::string_view, 3> kTypes = {"bfloat16", "fp8", "nvfp4"};
  constexpr std::array<double, 3> kWidths = {2, 1, 0.5};
  TRY_ASSIGN(const std::string gpu, row.gpu(kGpu));
  TRY_ASSIGN(const std::size_t op, row.choice(kOp, kOps));
  TRY_ASSIGN(const std::size_t type, row.choice(kDtype, kTypes));
  Shape shape;
  TRY_ASSIGN(shape.tokens, row.whole(kTokens, 1, kMaxCount));
  TRY_ASSIGN(shape.hidden, row.whole(kHidden, 1, kMaxHidden));
  TRY_ASSIGN(const std::int64_t experts, row.whole(kExperts, 1, kMaxExperts));
  shape.experts = static_cast<std::int32_t>(experts);
  TRY_ASSIGN(shape.top_k, top_k_of(row, kTopK, shape.experts));
  TRY_ASSIGN(const std::int64_t ep, row.whole(kEp, 2, kMaxRanks));
  TRY_ASSIGN(const double us, row.number(kUs, kMaxUs));
  if (op == 2) return row.reject("only prepares"), Result<void>();
  if (op == 3) return row.reject("combines in low precision"), Result<void>();
  const bool is_combine = op == 1;  // in bf16, whatever was dispatched
  const std::int64_t node = std::gcd(ep, gpus_of_a_node(gpu));
  CollectiveSample sample =
      exchange(is_combine ? CollectiveKind::kHybridCombine : CollectiveKind::kHybridDispatch, shape,
               is_combine ? 2 : kWidths[type], ep, node, us);
  sample.source = source_label(fmt::format("trtllm {} {}", row.text(kTrtllm), row.text(kKernel)));
  return row.add(gpu, std::move(sample));
}

constexpr std::array<std::string_view, 13> kPublishedNames = {
    "gpu",        "kernel",        "ep",           "tokens_per_rank", "hidden",     "top_k", "dtype",
    "bottleneck", "dispatch_GBps", "combine_GBps", "dispatch_us",     "combine_us", "sms"};
Result<void> read_published(Reader& row) {
  enum {
    kGpu,
    kKernel,
    kEp,
    kTokens,
    kHidden,
    kTopK,
    kDtype,
    kBottleneck,
    kDispatchRate,
    kCombineRate,
    kDispatchUs,
    kCombineUs,
    kSms
  };
  constexpr std::array<std::string_view, 1> kTypes = {"fp8 dispatch bf16 combine"};
  constexpr std::array<std::string_view, 2> kBottlenecks = {"nvlink", "rdma"};
  TRY_ASSIGN(const std::string gpu, row.gpu(kGpu));
  TRY(row.choice(kDtype, kTypes));
  TRY_ASSIGN(const std::size_t bottleneck, row.choice(kBottleneck, kBottlenecks));
  TRY_ASSIGN(const std::int64_t ep, row.whole(kEp, 2, kMaxRanks));
  Shape shape{.experts = kDeepEpExperts};
  TRY_ASSIGN(shape.tokens, row.whole(kTokens, 1, kMaxCount));
  TRY_ASSIGN(shape.hidden, row.whole(kHidden, 1, kMaxHidden));
  TRY_ASSIGN(shape.top_k, top_k_of(row, kTopK, shape.experts));
  if (row.text(kKernel).find("low latency") != std::string_view::npos)
    return row.reject("kernels of inference"), Result<void>();
  const std::int64_t node = std::gcd(ep, gpus_of_a_node(gpu));
  if (ep / node > kMostNodes) return row.reject("routed to four nodes of more"), Result<void>();
  TRY_ASSIGN(const std::int64_t sms, row.whole(kSms, 1, 10'000));
  const auto parts = static_cast<double>(bottleneck == 0 ? ep : ep / node);
  for (const bool is_combine : {false, true}) {
    TRY_ASSIGN(const double rate, row.number(is_combine ? kCombineRate : kDispatchRate, kMaxRate));
    CollectiveSample sample = exchange(is_combine ? CollectiveKind::kCombine : CollectiveKind::kDispatch,
                                       shape, is_combine ? 2 : 1, ep, node, 1);
    const Bytes copies =
        copied_bytes(sample.bytes, sample.routing(), parts) * (is_combine ? 1 : kFp8WithScales);
    sample.seconds = copies / gigabytes_per_second(rate);
    sample.sms = static_cast<std::int32_t>(sms);
    sample.source = source_label(fmt::format("DeepEP {}", row.text(kKernel)));
    TRY(row.add(gpu, std::move(sample)));
  }
  return {};
}

struct Layout {
  std::string_view name;
  std::span<const std::string_view> columns;
  Result<void> (*read)(Reader&);
};
const Layout kLayouts[] = {{"NCCL's collectives", kNcclNames, read_nccl},
                           {"DeepEP's kernels", kDeepEpNames, read_deepep},
                           {"exchanges over NVLink", kNvlinkNames, read_nvlink},
                           {"DeepEP's own table", kPublishedNames, read_published}};

// The one that has every column of the header, in whatever order.
const Layout* layout_of(std::string_view text) {
  std::string_view header = text.substr(0, text.find('\n'));
  if (header.starts_with("\xef\xbb\xbf")) header.remove_prefix(3);
  for (const Layout& layout : kLayouts) {
    std::size_t known = 0;
    std::string_view rest = header;
    bool all = true;
    while (all) {
      const std::string_view word = trim(rest.substr(0, rest.find(',')));
      all = std::find(layout.columns.begin(), layout.columns.end(), word) != layout.columns.end();
      ++known;
      if (rest.find(',') == std::string_view::npos) break;
      rest.remove_prefix(rest.find(',') + 1);
    }
    if (all && known == layout.columns.size()) return &layout;
  }
  return nullptr;
}

Result<void> read_table(Source source, OperatorTablesImport& imported) {
  const Layout* layout = layout_of(source.text);
  if (layout == nullptr)
    return fail(
        "found no header of a table of exchanges that we know, expected one of aiconfigurator's NCCL, "
        "DeepEP or NVLink tables, or of DeepEP's own",
        Position{source.name, 1, 1});
  std::vector<int> required;
  for (std::size_t i = 0; i < layout->columns.size(); ++i) required.push_back(static_cast<int>(i));
  TRY_ASSIGN(const SampleTable table,
             SampleTable::parse(std::move(source.text), source.name, layout->columns, required));
  imported.tables.push_back({source.name, std::string(layout->name), table.rows()});
  Reader row(table, layout->columns, imported.tables.back(), imported);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    row.at(i);
    TRY(layout->read(row));
  }
  return {};
}

}  // namespace

Result<OperatorTablesImport> import_operator_tables(std::vector<Source> tables) {
  OperatorTablesImport imported;
  for (Source& source : tables) TRY(read_table(std::move(source), imported));
  if (imported.samples.empty())
    return fail("found no sample, expected some in these tables",
                Position{imported.tables.empty() ? "" : imported.tables.front().file});
  return imported;
}

std::string import_text(const OperatorTablesImport& imported) {
  const auto count = [](std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); };
  std::size_t file_width = 0, layout_width = 0;
  for (const OperatorTable& table : imported.tables) {
    file_width = std::max(file_width, table.file.size());
    layout_width = std::max(layout_width, table.layout.size());
  }
  std::string text;
  for (const OperatorTable& table : imported.tables) {
    text += fmt::format("{:<{}}  {:<{}}  {:>6} rows  {:>6} samples", table.file, file_width, table.layout,
                        layout_width, count(table.rows), count(table.samples));
    for (const auto& [reason, rows] : table.rejected) text += fmt::format("  {} {}", count(rows), reason);
    text += '\n';
  }
  for (const auto& [gpu, samples] : imported.samples)
    text += fmt::format("{}: {} samples of collectives\n", gpu, count(samples.size()));
  return text;
}

}  // namespace foretrain
