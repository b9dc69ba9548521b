// The tables of tree_formats.h, one a format, and what follows from them that no single key says.
#pragma once

#include <span>

#include "formats/facts.h"
#include "formats/key_table.h"

namespace foretrain {

std::span<const KeyRow> nanotron_table();
std::span<const KeyRow> neox_table();
std::span<const KeyRow> deepspeed_table();
// Of all programs of fine-tuning: without effect on a step.
std::span<const KeyRow> tuning_rows();
std::span<const KeyRow> axolotl_table();
std::span<const KeyRow> llama_factory_table();  // what it has besides the Trainer's
std::span<const KeyRow> accelerate_table();
std::span<const KeyRow> foundry_table();
std::span<const KeyRow> maxtext_table();
// NeMo's and Megatron-Bridge's own keys; the rest are Megatron's, some by other names.
std::span<const KeyRow> nemo_table();
std::span<const KeyRow> nemo_names();

// What Llama and its kin have in common, where nothing is stated.
void finish_gated(Facts& facts);
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
// What MaxText makes of its configuration and prints: sizes by their final names, the batch, the mesh.
std::span<const KeyRow> maxtext_log_rows();

}  // namespace foretrain
