#include "operators/description.h"

namespace foretrain {
namespace {

using Table = std::array<const Description*, kOperatorKindCount>;

Table by_kind() {
  Table table{};
  const std::span<const Description> families[] = {kProducts,  kAttentions, kNorms,     kSoftmaxes,
                                                   kPointwise, kEmbeddings, kOfExperts, kOptimizers,
                                                   kQuantised, kOfFormats};
  for (const auto& family : families)
    for (const Description& each : family) table[static_cast<std::size_t>(each.kind)] = &each;
  return table;
}

const Table kByKind = by_kind();

}  // namespace

const Description& description(OperatorKind kind) { return *kByKind[static_cast<std::size_t>(kind)]; }

}  // namespace foretrain
