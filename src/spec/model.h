// A model: what is trained, whatever hardware and plan. Layers are runs of equal blocks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

enum class MlpKind : unsigned char { kGelu, kSwiglu, kGeglu, kSquaredRelu };
inline constexpr std::array<std::string_view, 4> kMlpNames = {"gelu", "swiglu", "geglu", "squared_relu"};
enum class Norm : unsigned char { kLayernorm, kRmsnorm };
inline constexpr std::array<std::string_view, 2> kNormNames = {"layernorm", "rmsnorm"};
enum class Positions : unsigned char { kLearned, kRope, kAlibi, kNone };
inline constexpr std::array<std::string_view, 4> kPositionsNames = {"learned", "rope", "alibi", "none"};
enum class Residual : unsigned char { kSequential, kParallel };
inline constexpr std::array<std::string_view, 2> kResidualNames = {"sequential", "parallel"};

// By the error function, or its tanh approximation (GPT-2's).
enum class Gelu : unsigned char { kErf, kTanh };
inline constexpr std::array<std::string_view, 2> kGeluNames = {"erf", "tanh"};

constexpr bool is_gated(MlpKind kind) { return kind == MlpKind::kSwiglu || kind == MlpKind::kGeglu; }

struct Block {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  MlpKind mlp = MlpKind::kGelu;

  std::int64_t q_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  bool operator==(const Block&) const = default;
};

struct BlockRun {
  std::int64_t count = 0;
  Block block;
  bool operator==(const BlockRun&) const = default;
};

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
  bool fused_qkv = false;  // query, key and value are stored as one matrix
  Gelu gelu = Gelu::kErf;
  bool norm_bias = false;
  bool qk_norm = false;  // each head's query and key pass a norm of their own (Qwen3)
  bool embedding_norm = false;
  Residual residual = Residual::kSequential;
  std::optional<double> dropout;   // absent: what the stack trains with by default
  std::int64_t default_seq = 0;    // 0: none stated
  std::int64_t stated_params = 0;  // 0: none stated
  std::string source;

  std::int64_t layers() const;
  bool operator==(const Model&) const = default;
};

// Exact counts of trained numbers.
std::int64_t block_parameters(const Model& model, const Block& block);
std::int64_t norm_parameters(const Model& model);      // one norm over hidden
std::int64_t position_parameters(const Model& model);  // a learned table
std::int64_t parameters(const Model& model);           // all; a tied head counted once, vocabulary not padded

}  // namespace foretrain
