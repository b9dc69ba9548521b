// What the cases ask, in the words of a link; and files that are dropped. Inputs are those of the golden cases.
import { readFileSync } from "node:fs";

const RUN = "model=llama-3-8b&cluster=dgx-h100&gpus=64&global_batch=512&stack=megatron&plan=tp=2,pp=4,zero=1";
const SMALL = "model=llama-3-8b&cluster=dgx-h100&gpus=8&global_batch=64&stack=megatron";
const input = (name) => readFileSync(new URL(`../golden/inputs/${name}`, import.meta.url), "utf8");
const TABLE = encodeURIComponent(input("scoreboard.csv"));

export const VIEWS = {
  run: `#run?${RUN}&tokens=1T`,
  timeline: `#timeline?${RUN.replace("512", "128")}`,
  search: `#search?${SMALL}&searched=1&why=tp=8`,
  sweep: `#sweep?${RUN}`,
  compare: `#compare?${RUN}`,
  published: `#scoreboard?${RUN}`,
  scoreboard: `#scoreboard?table=${TABLE}&table_name=scoreboard.csv`,
};
// What is there once a view has its answer.
export const READY = {
  run: "[data-testid=step]",
  timeline: ".timeline canvas",
  search: ".front .figure svg",
  sweep: ".figure svg",
  compare: ".sides tbody tr:nth-child(4)",
  published: "[data-testid=trust]",
  scoreboard: ".figure svg",
};
// As long as this machine may be slow; a case that waits so long fails.
export const PATIENCE = { timeout: 20_000 };
// A search that takes long enough to be cancelled.
export const LONG_SEARCH = "#search?model=llama-3-70b&cluster=dgx-h100&gpus=1024&global_batch=4096&stack=any";

export const FILES = {
  launch: { name: "train.sh", text: input("launch/train.sh") },
  log: { name: "stalls.log", text: input("diagnose/stalls.log") },
  log_cut_short: { name: "megatron.log", text: input("logs/megatron.log").replace(/^ *num_attention_heads .*\n/m, "") },
  table: { name: "scoreboard.csv", text: input("scoreboard.csv") },
  model: {
    name: "config.json",
    text: JSON.stringify({
      architectures: ["LlamaForCausalLM"], model_type: "llama", hidden_size: 2048, intermediate_size: 8192, num_hidden_layers: 16,
      num_attention_heads: 32, num_key_value_heads: 8, head_dim: 64, vocab_size: 128256, max_position_embeddings: 131072,
      tie_word_embeddings: true, hidden_act: "silu", rms_norm_eps: 1e-5, torch_dtype: "bfloat16",
    }),
  },
};
