// The tables of tree_formats.h, one a format, and what follows from them that no single key says.
#pragma once

#include <span>

#include "formats/facts.h"
#include "formats/key_table.h"

namespace foretrain {

std::span<const KeyRow> nanotron_table();
std::span<const KeyRow> neox_table();
std::span<const KeyRow> deepspeed_table();
std::span<const KeyRow> axolotl_table();
std::span<const KeyRow> llama_factory_table();
std::span<const KeyRow> accelerate_table();
std::span<const KeyRow> foundry_table();
std::span<const KeyRow> maxtext_table();
// NeMo's and Megatron-Bridge's own keys; the rest are Megatron's, some by other names.
std::span<const KeyRow> nemo_table();
std::span<const KeyRow> nemo_names();

void finish_nanotron(Facts& facts);
void finish_neox(Facts& facts);
void finish_deepspeed(Facts& facts);
void finish_axolotl(Facts& facts);
void finish_llama_factory(Facts& facts);
void finish_accelerate(Facts& facts);
void finish_foundry(Facts& facts);
// transformers' Trainer, whichever of DeepSpeed and accelerate runs it.
void finish_trainer(Facts& facts);
void finish_maxtext(Facts& facts);

}  // namespace foretrain
