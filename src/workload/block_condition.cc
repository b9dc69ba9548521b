// Which operators of a part are there at all, by what the model is and what the plan asks for.
#include "workload/block_writer.h"

namespace foretrain {

bool BlockWriter::applies(Condition when) const {
  switch (when) {
    case Condition::kAlways:
      return true;
    case Condition::kBias:
      return model_.biases;
    case Condition::kQkvBias:
      return model_.qkv_bias;
    case Condition::kProjectionBias:
      return model_.projection_bias;
    case Condition::kDropout:
      return shape_.dropout;
    case Condition::kNoDropout:
      return !shape_.dropout;
    case Condition::kFusedQkv:
      return model_.fused_qkv;
    case Condition::kSplitQkv:
      return !model_.fused_qkv;
    case Condition::kGrouped:
      return block_.attention.kv_heads < block_.attention.heads;
    case Condition::kLearnedPositions:
      return model_.positions == Positions::kLearned;
    case Condition::kPartialRotary:
      return model_.positions == Positions::kRope && model_.rotary_fraction < 1;
    case Condition::kGeluErf:
      return model_.gelu == Gelu::kErf;
    case Condition::kGeluTanh:
      return model_.gelu == Gelu::kTanh;
    case Condition::kQRank:
      return block_.attention.q_rank > 0;
    case Condition::kNoQRank:
      return block_.attention.q_rank == 0;
    case Condition::kLatent:
      return block_.attention.is_latent();
    case Condition::kExchanged:
      return shape_.ep > 1;
    case Condition::kPermuteFused:
      return shape_.experts.permute_fused;
    case Condition::kPermuteEager:
      return !shape_.experts.permute_fused;
    case Condition::kRouterFused:
      return shape_.experts.router_fused;
    case Condition::kRouterEager:
      return !shape_.experts.router_fused;
    case Condition::kLossFused:
      return shape_.loss.fused;
    case Condition::kLossEager:
      return !shape_.loss.fused;
    case Condition::kSharedGate:
      return block_.feed_forward.shared_gate;
    case Condition::kRouterFp32:
      return block_.feed_forward.router == Router::kFp32;
    case Condition::kRouterHalf:
      return block_.feed_forward.router != Router::kFp32;
    case Condition::kWeightsFp32:
      return block_.feed_forward.router != Router::kHalf;
    case Condition::kWeightsHalf:
      return block_.feed_forward.router == Router::kHalf;
    case Condition::kTrained:
      return !frozen();
    case Condition::kFrozen:
      return frozen();
    case Condition::kAdapterCast:
      return shape_.adapters.casts;
    case Condition::kAdapterFp32:
      return shape_.adapters.fp32;
    case Condition::kAdapterDropout:
      return shape_.adapters.dropout;
  }
  return true;
}

}  // namespace foretrain
