// A model: what is trained, whatever hardware and plan. Its layers are an ordered list of runs of equal blocks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/attention.h"
#include "spec/feed_forward.h"

namespace foretrain {

enum class Norm : unsigned char { kLayernorm, kRmsnorm };
inline constexpr std::array<std::string_view, 2> kNormNames = {"layernorm", "rmsnorm"};
enum class Positions : unsigned char { kLearned, kRope, kAlibi, kNone };
inline constexpr std::array<std::string_view, 4> kPositionsNames = {"learned", "rope", "alibi", "none"};
enum class Residual : unsigned char { kSequential, kParallel };
inline constexpr std::array<std::string_view, 2> kResidualNames = {"sequential", "parallel"};

// By the error function, or its tanh approximation (GPT-2's).
enum class Gelu : unsigned char { kErf, kTanh };
inline constexpr std::array<std::string_view, 2> kGeluNames = {"erf", "tanh"};

// A layer: an attention and a feed-forward, each after a norm.
struct Block {
  Attention attention;
  FeedForward feed_forward;

  bool operator==(const Block&) const = default;
};

struct BlockRun {
  std::int64_t count = 0;
  Block block;
  bool operator==(const BlockRun&) const = default;
};

inline constexpr std::size_t kMaxBlockKinds = 8;  // of one model

struct Model {
  std::string name;
  std::int64_t hidden = 0;
  std::vector<BlockRun> blocks;
  Norm norm = Norm::kLayernorm;
  Positions positions = Positions::kLearned;
  double rotary_fraction = 1.0;
  std::int64_t max_positions = 0;  // rows of a learned table
  std::int64_t vocab = 0;          // as stored, before padding to tp
  bool tied = false;
  bool biases = false;
  bool qkv_bias = false;
  bool projection_bias = false;  // of attention's output
  bool head_bias = false;        // of the product that makes logits (GPT-J, Phi)
  bool fused_qkv = false;        // query, key and value are stored as one matrix
  Gelu gelu = Gelu::kErf;
  bool norm_bias = false;
  bool norm_weights = true;  // false: norms scale by nothing that is trained (OLMo)
  bool one_norm = false;     // parallel halves read the same norm (GPT-J, Falcon-7B, Phi, Cohere)
  bool embedding_norm = false;
  bool post_norms = false;      // what attention and feed-forward make is normed too (Gemma 2)
  std::int64_t mtp_layers = 0;  // layers that predict tokens further on (DeepSeek-V3's MTP), trained beside
  Residual residual = Residual::kSequential;
  std::optional<double> dropout;   // absent: what the stack trains with by default
  std::int64_t default_seq = 0;    // 0: none stated
  std::int64_t stated_params = 0;  // 0: none stated
  std::string source;
  std::vector<std::string> assumed;  // what its file leaves open and a reader took for granted

  std::int64_t layers() const;
  // Which kind each layer is.
  std::vector<std::uint8_t> kind_of_layers() const;
  bool operator==(const Model&) const = default;
};

// The blocks of a model that differ, in the order in which they first appear. Refers to the model.
class BlockKinds {
 public:
  explicit BlockKinds(const Model& model);

  std::size_t size() const { return size_; }
  const Block& operator[](std::size_t kind) const { return *kinds_[kind]; }
  std::size_t of(const Block& block) const;

 private:
  std::array<const Block*, kMaxBlockKinds> kinds_{};
  std::size_t size_ = 0;
};

// Exact counts of trained numbers.
std::int64_t block_parameters(const Model& model, const Block& block);
std::int64_t norms_of_block(const Model& model);       // over hidden
std::int64_t norm_parameters(const Model& model);      // one norm over hidden
std::int64_t position_parameters(const Model& model);  // a learned table
std::int64_t parameters(const Model& model);           // all; a tied head counted once, vocabulary not padded
std::int64_t active_parameters(const Model& model);    // of these, those that one token passes
std::int64_t mtp_parameters(
    const Model& model);  // of layers that predict further, which `parameters` leaves out

}  // namespace foretrain
