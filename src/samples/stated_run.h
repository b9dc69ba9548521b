// The arguments that a trainer prints before it begins:
//   ------------------------ arguments ------------------------
//     num_layers ...................................... 64
//     hidden_size ..................................... 9216........................updated
//   -------------------- end of arguments ---------------------
// as Megatron-LM and its forks do (GPT-NeoX says behind a value where it comes from), and MaxText's
// "Config param base_emb_dim: 2048", and torchtitan's sentence "... with local batch size 1, global batch size 8,
// sequence length 8192, total steps 1000".
#pragma once

#include <string_view>

#include "samples/training_log.h"

namespace foretrain {

class StatedRun {
 public:
  void read(std::string_view line);  // without colours
  StatedPairs take() && { return std::move(pairs_); }

 private:
  void read_sizes(std::string_view line);

  bool is_inside_ = false;
  StatedPairs pairs_;
};

}  // namespace foretrain
