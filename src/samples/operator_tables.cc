#include "samples/operator_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_map>

#include "base/text.h"
#include "samples/sample_table.h"
#include "samples/table_row.h"
#include "spec/choice.h"

namespace foretrain {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000'000;
constexpr std::int64_t kMaxRanks = 1'000'000, kMaxExperts = 100'000, kMaxHidden = 10'000'000;
constexpr double kMaxRate = 1e6;
// DeepEP's tests let a token choose experts in at most four nodes.
constexpr std::int64_t kMostNodes = 4;
constexpr std::int32_t kDeepEpExperts = 256;  // in DeepEP's own tables, which do not say it
constexpr double kFp8WithScales = 1 + 4.0 / 128;

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

Result<std::int32_t> top_k_of(const TableRow& row, std::string_view column, std::int32_t experts) {
  TRY_ASSIGN(const std::int64_t top_k, row.whole(column, 1, kMaxExperts));
  if (top_k > experts)
    return fail(fmt::format("top_k: found {}, expected at most the {} experts", top_k, experts),
                row.position(column));
  return static_cast<std::int32_t>(top_k);
}

constexpr std::array<std::string_view, 7> kNcclNames = {"gpu",      "op", "dtype", "gpus",
                                                        "elements", "us", "nccl"};
Result<void> read_nccl(TableRow& row) {
  constexpr std::array<std::string_view, 6> kOps = {"all_reduce", "all_gather", "reduce_scatter",
                                                    "broadcast",  "alltoall",   "sendrecv"};
  constexpr std::array<std::string_view, 2> kTypes = {"int8", "half"};
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  CollectiveSample sample;
  TRY_ASSIGN(const std::size_t op, row.choice("op", kOps));
  sample.kind = static_cast<CollectiveKind>(op);
  TRY_ASSIGN(const std::size_t type, row.choice("dtype", kTypes));
  TRY_ASSIGN(const std::int64_t elements, row.whole("elements", 1, kMaxCount * 1000));
  TRY_ASSIGN(sample.ranks, row.whole("gpus", 2, gpus_of_a_node(gpu)));
  TRY_ASSIGN(const double us, row.number("us", kMaxTableUs));
  sample.bytes = Bytes(static_cast<double>(elements) * static_cast<double>(type + 1));
  sample.ranks_per_node = sample.ranks;
  sample.seconds = microseconds(us);
  sample.source = "nccl " + source_label(row.text("nccl"));
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
Result<void> read_deepep(TableRow& row) {
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  TRY_ASSIGN(const std::int64_t nodes, row.whole("nodes", 1, kMaxRanks));
  Shape shape;
  TRY_ASSIGN(shape.hidden, row.whole("hidden", 1, kMaxHidden));
  TRY_ASSIGN(shape.tokens, row.whole("tokens", 1, kMaxCount));
  TRY_ASSIGN(const std::int64_t experts, row.whole("experts", 1, kMaxExperts));
  shape.experts = static_cast<std::int32_t>(experts);
  TRY_ASSIGN(shape.top_k, top_k_of(row, "top_k", shape.experts));
  const std::int64_t node = gpus_of_a_node(gpu);
  const auto sample = [&](CollectiveKind kind, double width, std::string_view sms, std::string_view us,
                          std::string_view notify) -> Result<CollectiveSample> {
    TRY_ASSIGN(const double moving, row.number(us, kMaxTableUs));
    TRY_ASSIGN(const double before, row.number_or_none(notify, kMaxTableUs));
    TRY_ASSIGN(const std::int64_t held, row.whole(sms, 1, 10'000));
    CollectiveSample timed = exchange(kind, shape, width, nodes * node, node, moving + before);
    timed.sms = static_cast<std::int32_t>(held);
    timed.source = "sglang " + source_label(row.text("sglang"));
    return timed;
  };
  TRY_ASSIGN(CollectiveSample dispatch,
             sample(CollectiveKind::kDispatch, 1, "dispatch_sms", "dispatch_us", "dispatch_notify_us"));
  TRY_ASSIGN(CollectiveSample combine,
             sample(CollectiveKind::kCombine, 2, "combine_sms", "combine_us", "combine_notify_us"));
  // "h100-80gb-sxm" on "NVIDIA H100 80GB HBM3".
  std::string model = gpu.substr(0, gpu.find('-'));
  for (char& c : model) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (row.text("device").find(model) == std::string_view::npos)
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
Result<void> read_nvlink(TableRow& row) {
  constexpr std::array<std::string_view, 4> kOps = {"alltoall_dispatch", "alltoall_combine",
                                                    "alltoall_prepare", "alltoall_combine_low_precision"};
  constexpr std::array<std::string_view, 3> kTypes = {"bfloat16", "fp8", "nvfp4"};
  constexpr std::array<double, 3> kWidths = {2, 1, 0.5};
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  TRY_ASSIGN(const std::size_t op, row.choice("op", kOps));
  TRY_ASSIGN(const std::size_t type, row.choice("dtype", kTypes));
  Shape shape;
  TRY_ASSIGN(shape.tokens, row.whole("tokens", 1, kMaxCount));
  TRY_ASSIGN(shape.hidden, row.whole("hidden", 1, kMaxHidden));
  TRY_ASSIGN(const std::int64_t experts, row.whole("experts", 1, kMaxExperts));
  shape.experts = static_cast<std::int32_t>(experts);
  TRY_ASSIGN(shape.top_k, top_k_of(row, "top_k", shape.experts));
  TRY_ASSIGN(const std::int64_t ep, row.whole("ep", 2, kMaxRanks));
  TRY_ASSIGN(const double us, row.number("us", kMaxTableUs));
  if (op == 2) return row.reject("only prepares"), Result<void>();
  if (op == 3) return row.reject("combines in low precision"), Result<void>();
  const bool is_combine = op == 1;  // in bf16, whatever was dispatched
  const std::int64_t node = std::gcd(ep, gpus_of_a_node(gpu));
  CollectiveSample sample =
      exchange(is_combine ? CollectiveKind::kHybridCombine : CollectiveKind::kHybridDispatch, shape,
               is_combine ? 2 : kWidths[type], ep, node, us);
  sample.source = source_label(fmt::format("trtllm {} {}", row.text("trtllm"), row.text("kernel")));
  return row.add(gpu, std::move(sample));
}

constexpr std::array<std::string_view, 13> kPublishedNames = {
    "gpu",        "kernel",        "ep",           "tokens_per_rank", "hidden",     "top_k", "dtype",
    "bottleneck", "dispatch_GBps", "combine_GBps", "dispatch_us",     "combine_us", "sms"};
Result<void> read_published(TableRow& row) {
  constexpr std::array<std::string_view, 1> kTypes = {"fp8 dispatch bf16 combine"};
  constexpr std::array<std::string_view, 2> kBottlenecks = {"nvlink", "rdma"};
  TRY_ASSIGN(const std::string gpu, row.gpu("gpu"));
  TRY(row.choice("dtype", kTypes));
  TRY_ASSIGN(const std::size_t bottleneck, row.choice("bottleneck", kBottlenecks));
  TRY_ASSIGN(const std::int64_t ep, row.whole("ep", 2, kMaxRanks));
  Shape shape{.experts = kDeepEpExperts};
  TRY_ASSIGN(shape.tokens, row.whole("tokens_per_rank", 1, kMaxCount));
  TRY_ASSIGN(shape.hidden, row.whole("hidden", 1, kMaxHidden));
  TRY_ASSIGN(shape.top_k, top_k_of(row, "top_k", shape.experts));
  if (row.text("kernel").find("low latency") != std::string_view::npos)
    return row.reject("kernels of inference"), Result<void>();
  const std::int64_t node = std::gcd(ep, gpus_of_a_node(gpu));
  if (ep / node > kMostNodes) return row.reject("routed to four nodes of more"), Result<void>();
  TRY_ASSIGN(const std::int64_t sms, row.whole("sms", 1, 10'000));
  const auto parts = static_cast<double>(bottleneck == 0 ? ep : ep / node);
  for (const bool is_combine : {false, true}) {
    TRY_ASSIGN(const double rate, row.number(is_combine ? "combine_GBps" : "dispatch_GBps", kMaxRate));
    CollectiveSample sample = exchange(is_combine ? CollectiveKind::kCombine : CollectiveKind::kDispatch,
                                       shape, is_combine ? 2 : 1, ep, node, 1);
    const Bytes copies =
        copied_bytes(sample.bytes, sample.routing(), parts) * (is_combine ? 1 : kFp8WithScales);
    sample.seconds = copies / gigabytes_per_second(rate);
    sample.sms = static_cast<std::int32_t>(sms);
    sample.source = source_label(fmt::format("DeepEP {}", row.text("kernel")));
    TRY(row.add(gpu, std::move(sample)));
  }
  return {};
}

constexpr TableLayout kExchanges[] = {{"NCCL's collectives", kNcclNames, read_nccl},
                                      {"DeepEP's kernels", kDeepEpNames, read_deepep},
                                      {"exchanges over NVLink", kNvlinkNames, read_nvlink},
                                      {"DeepEP's own table", kPublishedNames, read_published}};

// The one that has every column of the header, in whatever order.
bool has_header(const TableLayout& layout, std::string_view header) {
  std::size_t known = 0;
  while (true) {
    const std::string_view word = trim(header.substr(0, header.find(',')));
    if (std::find(layout.columns.begin(), layout.columns.end(), word) == layout.columns.end()) return false;
    ++known;
    if (header.find(',') == std::string_view::npos) return known == layout.columns.size();
    header.remove_prefix(header.find(',') + 1);
  }
}

const TableLayout* layout_of(std::string_view text) {
  std::string_view header = text.substr(0, text.find('\n'));
  if (header.starts_with("\xef\xbb\xbf")) header.remove_prefix(3);
  for (const std::span<const TableLayout> layouts :
       {std::span<const TableLayout>(kExchanges), kAiconfiguratorLayouts, kSimumaxLayouts})
    for (const TableLayout& layout : layouts)
      if (has_header(layout, header)) return &layout;
  return nullptr;
}

Result<void> read_table(Source source, OperatorTablesImport& imported) {
  const TableLayout* layout = layout_of(source.text);
  if (layout == nullptr)
    return fail(
        "found no header of a table that we know, expected one of aiconfigurator's (NCCL, DeepEP, NVLink; "
        "products, attention), DeepEP's own, or SimuMax's efficiencies",
        Position{source.name, 1, 1});
  std::vector<int> required;
  for (std::size_t i = 0; i < layout->columns.size(); ++i) required.push_back(static_cast<int>(i));
  TRY_ASSIGN(const SampleTable table,
             SampleTable::parse(std::move(source.text), source.name, layout->columns, required));
  imported.tables.push_back({source.name, std::string(layout->name), table.rows()});
  TableRow row(table, layout->columns, imported.tables.back(), imported);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    row.at(i);
    TRY(layout->read(row));
  }
  return {};
}

// Counts what it leaves out.
std::size_t drop_held_back(std::vector<Sample>& samples) {
  std::unordered_map<Operator, double> fastest;
  for (const Sample& sample : samples) {
    if (sample.group == kSimumax) continue;  // not one library beside another
    const auto [at, is_new] = fastest.try_emplace(sample.op, sample.us);
    if (!is_new) at->second = std::min(at->second, sample.us);
  }
  return std::erase_if(samples, [&](const Sample& sample) {
    return sample.group != kSimumax && sample.us > kHeldBack * fastest.at(sample.op);
  });
}

}  // namespace

Result<OperatorTablesImport> import_operator_tables(std::vector<Source> tables) {
  OperatorTablesImport imported;
  for (Source& source : tables) TRY(read_table(std::move(source), imported));
  for (auto& [gpu, samples] : imported.operators) {
    imported.casts_taken += take_off_casts(samples, imported.casts[gpu]);
    imported.held_back += drop_held_back(samples);
  }
  std::erase_if(imported.operators, [](const auto& of_gpu) { return of_gpu.second.empty(); });
  if (imported.samples.empty() && imported.operators.empty())
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
  for (const auto& [gpu, samples] : imported.operators)
    text += fmt::format("{}: {} samples of operators\n", gpu, count(samples.size()));
  const auto left_out = [&](std::size_t samples, std::string_view reason) {
    if (samples > 0) text += fmt::format("left out: {} products {}\n", count(samples), reason);
  };
  left_out(imported.casts_taken.mostly_cast, "of which a cast is too large a part, or not known");
  left_out(imported.casts_taken.above_bf16, "that take longer without their cast than in bf16");
  left_out(imported.casts_taken.slower, "freed of a cast that another library runs faster");
  if (imported.held_back > 0)
    text += fmt::format("left out: {} over {:.2f} of another library's time\n", count(imported.held_back),
                        kHeldBack);
  return text;
}

}  // namespace foretrain
