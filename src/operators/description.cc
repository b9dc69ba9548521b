#include "operators/description.h"

#include "base/check.h"

namespace foretrain {
namespace {

using Table = std::array<const Description*, kOperatorKindCount>;

Table by_kind() {
  Table table{};
  const std::span<const Description> families[] = {kProducts,  kAttentions, kNorms,     kSoftmaxes,
                                                   kPointwise, kEmbeddings, kOfExperts, kOptimizers};
  for (const auto& family : families)
    for (const Description& each : family) {
      const Description*& place = table[static_cast<std::size_t>(each.kind)];
      CHECK_THAT(place == nullptr && each.bytes != nullptr);
      place = &each;
    }
  for (const Description* each : table) CHECK_THAT(each != nullptr);
  return table;
}

const Table kByKind = by_kind();

}  // namespace

const Description& description(OperatorKind kind) { return *kByKind[static_cast<std::size_t>(kind)]; }

}  // namespace foretrain
