#include "cost/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/yaml.h"
#include "base/yaml_text.h"
#include "spec/choice.h"
#include "spec/read_fields.h"

namespace foretrain {
namespace {

constexpr std::string_view kMagic = "FORETRN3";  // the digit is the version

// Fixed layout, little-endian, eight-byte aligned; words of the vocabulary are written out, so that a file
// outlives a change of their order.
struct Header {
  std::array<char, 8> magic;
  std::uint64_t checksum;  // FNV-1a of everything after it
  std::uint64_t size;      // of the whole file
  std::uint64_t models;
};

using Word = std::array<char, 24>;

struct SmoothRecord {
  float mean;
  std::uint32_t features;
  std::uint64_t points;  // a multiple of kSmoothBlock; 0: none
  std::uint64_t feature_offset, scale_offset, point_offset, weight_offset;
};

struct Record {
  Word kind, impl, pass, dtype, origin;
  std::int64_t samples;
  double error, spread, spread_outside, host_per_launch;
  std::array<double, 6> size_low, size_high;
  double group_high;
  double clocked_share;
  std::array<double, kMaxTerms> coefficients;
  std::int32_t depth, features;
  float base_score;
  std::uint32_t pooled;
  std::uint64_t trees;
  std::uint64_t split_offset, threshold_offset, leaf_offset;  // from the file's start
  SmoothRecord smooth, host, power;
};
static_assert(sizeof(Header) == 32 && sizeof(Record) == 560);

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

Word word_of(std::string_view text) {
  CHECK_THAT(text.size() < sizeof(Word));
  Word word{};
  std::copy(text.begin(), text.end(), word.begin());
  return word;
}

std::string_view text_of(const Word& word) {
  return {word.data(), static_cast<std::size_t>(std::find(word.begin(), word.end(), '\0') - word.begin())};
}

constexpr std::size_t inner_nodes(std::int32_t depth) { return (std::size_t{1} << depth) - 1; }
constexpr std::size_t leaves(std::int32_t depth) { return std::size_t{1} << depth; }

void append_aligned(std::string& out, const void* data, std::size_t bytes) {
  out.append(static_cast<const char*>(data), bytes);
  out.resize((out.size() + 7) / 8 * 8, '\0');
}

template <class T>
std::span<const T> array_at(std::string_view bytes, std::uint64_t offset, std::uint64_t count) {
  return {reinterpret_cast<const T*>(bytes.data() + offset), static_cast<std::size_t>(count)};
}

bool inside(std::string_view bytes, std::uint64_t offset, std::uint64_t count, std::uint64_t size) {
  return offset % 8 == 0 && offset <= bytes.size() && count <= (bytes.size() - offset) / size;
}

std::array<std::string_view, kOriginCount> origin_names() {
  std::array<std::string_view, kOriginCount> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name(static_cast<Origin>(i));
  return names;
}

// How many features the residual of such an operator has.
std::int32_t feature_count(const ModelKey& key) {
  Operator op;
  op.kind = key.kind;
  op.impl = key.impl;
  op.pass = key.pass;
  op.dtype = key.dtype;
  op.set_flat({1, 1, 1, 1, 1, 1});
  Gpu any;
  any.sms = 1;
  return static_cast<std::int32_t>(residual_features(op, any).count);
}

// A record's trees and points are looked through only where `whole`; that they lie inside the file always is.
Result<SmoothView> read_smooth(const SmoothRecord& r, std::string_view bytes, std::int32_t features,
                               bool whole, const Position& at) {
  SmoothView view;
  view.mean = r.mean;
  if (r.points == 0) return view;
  constexpr std::uint64_t kMostPoints = 1'000'000;
  if (r.features > static_cast<std::uint32_t>(kMaxSmoothFeatures) || r.points > kMostPoints ||
      !inside(bytes, r.feature_offset, r.features, 1) || !inside(bytes, r.scale_offset, r.features, 4) ||
      !inside(bytes, r.point_offset, r.points * r.features, 4) ||
      !inside(bytes, r.weight_offset, r.points, 4))
    return fail("damaged: a smooth residual lies outside the file", at);
  view.feature = array_at<std::uint8_t>(bytes, r.feature_offset, r.features);
  view.scale = array_at<float>(bytes, r.scale_offset, r.features);
  view.points = array_at<float>(bytes, r.point_offset, r.points * r.features);
  view.weights = array_at<float>(bytes, r.weight_offset, r.points);
  if (whole && !well_formed(view, features)) return fail("damaged: a smooth residual is not well formed", at);
  return view;
}

Result<OperatorModelView> read_record(const Record& r, std::string_view bytes, bool whole,
                                      const std::string& file) {
  const Position at{file, 0, 0};
  OperatorModelView m;
  TRY_ASSIGN(m.key.kind, parse_choice<OperatorKind>(text_of(r.kind), kOperatorKindNames, at));
  TRY_ASSIGN(m.key.impl, parse_choice<Impl>(text_of(r.impl), kImplNames, at));
  TRY_ASSIGN(m.key.pass, parse_choice<PassKind>(text_of(r.pass), kPassNames, at));
  TRY_ASSIGN(m.key.dtype, parse_choice<Dtype>(text_of(r.dtype), kDtypeNames, at));
  TRY_ASSIGN(m.facts.origin, parse_choice<Origin>(text_of(r.origin), origin_names(), at));
  m.facts.samples = r.samples;
  m.facts.error = r.error;
  m.facts.spread = r.spread;
  m.facts.spread_outside = r.spread_outside;
  m.facts.seconds_per_launch_host = r.host_per_launch;
  m.facts.size_low = r.size_low;
  m.facts.size_high = r.size_high;
  m.facts.group_high = r.group_high;
  m.facts.clocked_share = r.clocked_share;
  m.facts.pooled = r.pooled != 0;
  m.coefficients = r.coefficients;
  double base = 0;
  for (const double c : r.coefficients) {
    if (!std::isfinite(c) || c < 0) return fail("damaged: a coefficient is negative or not a number", at);
    base += c;
  }
  if (base <= 0) return fail("damaged: a model without a base", at);
  for (const double v : {r.error, r.spread, r.spread_outside, r.host_per_launch, r.group_high})
    if (!std::isfinite(v) || v < 0) return fail("damaged: a figure is negative or not a number", at);
  if (!(r.clocked_share >= 0 && r.clocked_share <= 1) || r.pooled > 1)
    return fail("damaged: a share outside 0 to 1", at);
  const std::int32_t known = feature_count(m.key);
  TRY_ASSIGN(m.smooth, read_smooth(r.smooth, bytes, known, whole, at));
  TRY_ASSIGN(m.host, read_smooth(r.host, bytes, known, whole, at));
  TRY_ASSIGN(m.power, read_smooth(r.power, bytes, known, whole, at));
  if (r.trees == 0) return m;
  constexpr std::uint64_t kMostTrees = 1'000'000;
  if (r.depth < 1 || r.depth > 12 || r.features < 1 || r.features > static_cast<int>(kMaxFeatures) ||
      r.trees > kMostTrees || !inside(bytes, r.split_offset, r.trees * inner_nodes(r.depth), 1) ||
      !inside(bytes, r.threshold_offset, r.trees * inner_nodes(r.depth), 4) ||
      !inside(bytes, r.leaf_offset, r.trees * leaves(r.depth), 4))
    return fail("damaged: a forest lies outside the file", at);
  m.residual = {r.depth,
                r.features,
                r.base_score,
                array_at<std::uint8_t>(bytes, r.split_offset, r.trees * inner_nodes(r.depth)),
                array_at<float>(bytes, r.threshold_offset, r.trees * inner_nodes(r.depth)),
                array_at<float>(bytes, r.leaf_offset, r.trees * leaves(r.depth))};
  if (r.features > known) return fail("fitted with other features than this version's", at);
  if (whole && !well_formed(m.residual)) return fail("damaged: a forest is not well formed", at);
  return m;
}

SmoothRecord append_smooth(std::string& out, const SmoothView& smooth) {
  SmoothRecord r{};
  r.mean = smooth.mean;
  if (smooth.empty()) return r;
  r.features = static_cast<std::uint32_t>(smooth.feature.size());
  r.points = smooth.weights.size();
  const auto append = [&](auto values) {
    const std::uint64_t offset = out.size();
    append_aligned(out, values.data(), values.size_bytes());
    return offset;
  };
  r.feature_offset = append(smooth.feature);
  r.scale_offset = append(smooth.scale);
  r.point_offset = append(smooth.points);
  r.weight_offset = append(smooth.weights);
  return r;
}

constexpr double kMostStatic = 1e5, kMostPicojoules = 1e6, kMostExponent = 20;
constexpr double kLeastLaunch = 1e-3, kMostLaunch = 1e6;  // us
constexpr double kLeastReference = 1, kMostReference = 1e5;

Result<PowerModel> parse_power(const Node& node) {
  TRY(only_fields(
      node, "power",
      {"static_w", "pj_per_byte", "pj_per_flop", "pj_per_fp8_flop", "exponent", "reference_mhz"}));
  PowerModel power;
  TRY(read_required(node, "static_w", power.static_w, RealNumber{0.0, kMostStatic}));
  TRY(read_required(node, "pj_per_byte", power.joules_per_byte, RealNumber{0.0, kMostPicojoules}));
  TRY(read_required(node, "pj_per_flop", power.joules_per_flop, RealNumber{0.0, kMostPicojoules}));
  TRY(read_optional(node, "pj_per_fp8_flop", power.joules_per_fp8_flop, RealNumber{0.0, kMostPicojoules}));
  TRY(read_required(node, "exponent", power.exponent, RealNumber{0.0, kMostExponent}));
  TRY(read_required(node, "reference_mhz", power.reference_mhz, RealNumber{kLeastReference, kMostReference}));
  power.joules_per_byte *= 1e-12;
  power.joules_per_flop *= 1e-12;
  power.joules_per_fp8_flop *= 1e-12;
  return power;
}

}  // namespace

bool can_be_stated(const PowerModel& power) {
  const auto within = [](double value, double low, double high) { return low <= value && value <= high; };
  return within(power.static_w, 0, kMostStatic) && within(power.joules_per_byte * 1e12, 0, kMostPicojoules) &&
         within(power.joules_per_flop * 1e12, 0, kMostPicojoules) &&
         within(power.joules_per_fp8_flop * 1e12, 0, kMostPicojoules) &&
         within(power.exponent, 0, kMostExponent) &&
         within(power.reference_mhz, kLeastReference, kMostReference);
}

Result<ProfileInfo> parse_profile_info(const Node& node) {
  TRY(only_fields(node, "a profile", {"name", "gpu", "source", "derive_from", "power", "host_launch_us"}));
  ProfileInfo info;
  TRY(read_required(node, "name", info.name));
  TRY(read_required(node, "gpu", info.gpu));
  TRY(read_optional(node, "source", info.source));
  TRY(read_optional(node, "derive_from", info.derive_from));
  if (const Node* power = node.find("power")) {
    TRY_ASSIGN(info.power, parse_power(*power));
  }
  if (node.find("host_launch_us") != nullptr) {
    double us = 0;
    TRY(read_required(node, "host_launch_us", us, RealNumber{kLeastLaunch, kMostLaunch}));
    info.host_launch = microseconds(us);
  }
  return info;
}

std::string to_yaml(const ProfileInfo& info) {
  std::string out = "name: " + yaml_quoted(info.name) + "\ngpu: " + yaml_quoted(info.gpu) +
                    "\nsource: " + yaml_quoted(info.source) + "\n";
  if (!info.derive_from.empty()) out += "derive_from: " + yaml_quoted(info.derive_from) + "\n";
  if (info.power)
    out += fmt::format(
        "power:  # what the governor knows of the chip\n  static_w: {:.4g}\n"
        "  pj_per_byte: {:.4g}\n  pj_per_flop: {:.4g}  # at the reference clock\n{}  exponent: {:.4g}\n"
        "  reference_mhz: {:.0f}\n",
        info.power->static_w, info.power->joules_per_byte * 1e12, info.power->joules_per_flop * 1e12,
        info.power->joules_per_fp8_flop > 0
            ? fmt::format("  pj_per_fp8_flop: {:.4g}\n", info.power->joules_per_fp8_flop * 1e12)
            : "",
        info.power->exponent, info.power->reference_mhz);
  if (info.host_launch)
    out += fmt::format("host_launch_us: {:.4g}  # of the machine that was sampled\n",
                       info.host_launch->value * 1e6);
  return out;
}

Result<ModelFile> ModelFile::read(std::string_view bytes, const std::string& file_name, Depth depth) {
  const Position at{file_name, 0, 0};
  const bool whole = depth == Depth::kWhole;
  Header header;
  if (bytes.size() < sizeof header) return fail("too short for a file of fitted models", at);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::string_view(header.magic.data(), header.magic.size()) != kMagic)
    return fail("not a file of fitted models of this version", at);
  if (header.size != bytes.size() || (whole && header.checksum != checksum(bytes.substr(16))))
    return fail("damaged: size or checksum is wrong", at);
  if (header.models > (bytes.size() - sizeof header) / sizeof(Record))
    return fail("damaged: more models than the file can hold", at);
  CHECK_THAT(reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 ==
             0);  // as operator new and embed.cmake have it

  ModelFile file;
  file.size_ = bytes.size();
  file.models_.reserve(header.models);
  for (std::uint64_t i = 0; i < header.models; ++i) {
    Record record;
    std::memcpy(&record, bytes.data() + sizeof header + i * sizeof record, sizeof record);
    TRY_ASSIGN(OperatorModelView model, read_record(record, bytes, whole, file_name));
    file.models_.push_back(model);
  }
  return file;
}

Result<ModelFile> ModelFile::open(std::string bytes, const std::string& file_name) {
  const auto owned = std::make_shared<const std::string>(std::move(bytes));
  TRY_ASSIGN(ModelFile file, read(*owned, file_name, Depth::kWhole));
  file.owned_ = owned;
  return file;
}

Result<ModelFile> ModelFile::in_program(std::string_view bytes, const std::string& file_name) {
  return read(bytes, file_name, Depth::kHeads);
}

const OperatorModelView* ModelFile::find(const ModelKey& key) const {
  for (const OperatorModelView& model : models_)
    if (model.key == key) return &model;
  return nullptr;
}

std::string to_bytes(const std::vector<OperatorModelView>& models) {
  std::string out(sizeof(Header) + models.size() * sizeof(Record), '\0');
  for (std::size_t i = 0; i < models.size(); ++i) {
    const OperatorModelView& m = models[i];
    Record r{};
    r.kind = word_of(name(m.key.kind));
    r.impl = word_of(name(m.key.impl));
    r.pass = word_of(name(m.key.pass));
    r.dtype = word_of(name(m.key.dtype));
    r.origin = word_of(name(m.facts.origin));
    r.samples = m.facts.samples;
    r.error = m.facts.error;
    r.spread = m.facts.spread;
    r.spread_outside = m.facts.spread_outside;
    r.host_per_launch = m.facts.seconds_per_launch_host;
    r.size_low = m.facts.size_low;
    r.size_high = m.facts.size_high;
    r.group_high = m.facts.group_high;
    r.clocked_share = m.facts.clocked_share;
    r.pooled = m.facts.pooled ? 1 : 0;
    r.coefficients = m.coefficients;
    r.depth = m.residual.depth;
    r.features = m.residual.features;
    r.base_score = m.residual.base_score;
    r.trees = m.residual.trees();
    if (r.trees > 0) {
      r.split_offset = out.size();
      append_aligned(out, m.residual.split_feature.data(), m.residual.split_feature.size_bytes());
      r.threshold_offset = out.size();
      append_aligned(out, m.residual.threshold.data(), m.residual.threshold.size_bytes());
      r.leaf_offset = out.size();
      append_aligned(out, m.residual.leaf.data(), m.residual.leaf.size_bytes());
    }
    r.smooth = append_smooth(out, m.smooth);
    r.host = append_smooth(out, m.host);
    r.power = append_smooth(out, m.power);
    std::memcpy(out.data() + sizeof(Header) + i * sizeof r, &r, sizeof r);
  }
  Header header{};
  std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
  header.size = out.size();
  header.models = models.size();
  std::memcpy(out.data(), &header, sizeof header);
  header.checksum = checksum(std::string_view(out).substr(16));
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace foretrain
