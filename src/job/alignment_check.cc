#include "job/alignment_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "job/mesh.h"
#include "job/precision.h"
#include "operators/padded_product.h"

namespace foretrain {
namespace {

using Size = std::pair<std::string_view, std::int64_t>;

// The sides of a block's products on one rank, but for tokens.
std::array<Size, 10> sides(const Model& model, const Block& block, const Mesh& mesh) {
  const Attention& a = block.attention;
  const FeedForward& f = block.feed_forward;
  const bool latent = a.is_latent();
  const std::int64_t kv_heads = std::max<std::int64_t>(1, a.kv_heads / mesh.tp);
  return {{{"hidden", model.hidden},
           {"queries' width / tp", a.q_width() / mesh.tp},
           {"keys' and values' width / tp", latent ? 0 : kv_heads * a.head_dim},
           {"the queries' rank", latent ? a.q_rank : 0},
           {"the latent's width", latent ? a.kv_rank + a.rope_dim : 0},
           {"keys' and values' width / tp", latent ? a.heads / mesh.tp * (a.nope_dim + a.v_dim) : 0},
           {"attention's output / tp", a.out_width() / mesh.tp},
           {"ffn / tp", f.has_experts() ? 0 : f.ffn / mesh.tp},
           {"expert_ffn / etp", f.has_experts() ? f.expert_ffn / mesh.etp : 0},
           {"the shared experts' ffn / tp", f.shared_ffn / mesh.tp}}};
}

}  // namespace

std::optional<std::string> alignment_refusal(const Run& run) {
  const LowPrecision low = low_precision_of(run.stack, run.plan);
  if (!low.is_narrow()) return std::nullopt;
  const LayerEnds& left = low.formats.bf16_layers;
  if (left.start + left.end >= run.model.layers()) return std::nullopt;
  const std::int64_t unit =
      std::max({row_unit(low.formats.forward), row_unit(low.formats.input), row_unit(low.formats.weight)});
  const auto refused = [&](std::string_view what, std::int64_t size, std::int64_t of) {
    return fmt::format("precision {}: {} = {} is no multiple of {}, which its products need",
                       run.plan.precision, what, size, of);
  };
  const Plan& plan = run.plan;
  const std::int64_t tokens = plan.micro_batch * (run.seq / plan.cp) / (plan.sp ? plan.tp : 1);
  // Summed over in the weights' gradient alone.
  const std::int64_t rows = row_unit(low.formats.weight);
  if (tokens % rows != 0)
    return refused(plan.sp ? "a rank's tokens, micro_batch * seq / (cp * tp)"
                           : "a rank's tokens, micro_batch * seq / cp",
                   tokens, rows);
  const Mesh mesh = mesh_of(plan);
  for (const BlockRun& blocks : run.model.blocks)
    for (const auto& [what, size] : sides(run.model, blocks.block, mesh))
      if (size % unit != 0) return refused(what, size, unit);
  return std::nullopt;
}

}  // namespace foretrain
