#include "cost/formats.h"

namespace foretrain {
namespace {

constexpr double kOtherScales = 0.13, kBlocks = 0.13, kOtherUnits = 0.20, kEmulated = 0.08;

constexpr FormatRelative kOfTensor[] = {{Dtype::kFp8Row, kOtherScales}, {Dtype::kFp8Block, kBlocks}};
constexpr FormatRelative kOfRow[] = {{Dtype::kFp8, kOtherScales}, {Dtype::kFp8Block, kBlocks}};
constexpr FormatRelative kOfBlock[] = {
    {Dtype::kMxfp8, kEmulated}, {Dtype::kFp8, kBlocks}, {Dtype::kFp8Row, kBlocks}};
// Tensor cores apply its scales, as fp8 has none to apply; those of Hopper's blocks cost other instructions.
constexpr FormatRelative kOfMicroscaled[] = {
    {Dtype::kFp8, kOtherUnits}, {Dtype::kFp8Row, kOtherUnits}, {Dtype::kFp8Block, kOtherUnits}};
constexpr FormatRelative kOfFour[] = {{Dtype::kMxfp8, kOtherUnits},
                                      {Dtype::kFp8, kOtherUnits},
                                      {Dtype::kFp8Block, kOtherUnits},
                                      {Dtype::kFp8Row, kOtherUnits}};

}  // namespace

std::span<const FormatRelative> format_relatives(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp8:
      return kOfTensor;
    case Dtype::kFp8Row:
      return kOfRow;
    case Dtype::kFp8Block:
      return kOfBlock;
    case Dtype::kMxfp8:
      return kOfMicroscaled;
    case Dtype::kNvfp4:
      return kOfFour;
    default:
      return {};
  }
}

}  // namespace foretrain
