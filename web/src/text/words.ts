// Words of answers as people read them, and what they belong to.

// Causes of time by family: the model's own work, exchanges between GPUs, and waiting.
export type Family = "work" | "exchange" | "wait";
const CAUSES: Readonly<Record<string, readonly [string, Family]>> = {
  forward: ["forward", "work"],
  backward: ["backward", "work"],
  recompute: ["recompute", "work"],
  optimizer: ["optimizer", "work"],
  tensor_parallel: ["tensor parallel", "exchange"],
  expert_parallel: ["expert parallel", "exchange"],
  context_parallel: ["context parallel", "exchange"],
  data_parallel: ["data parallel", "exchange"],
  pipeline_send: ["pipeline send", "exchange"],
  gradient_reduce: ["gradient reduce", "exchange"],
  embedding_exchange: ["embedding exchange", "exchange"],
  parameter_gather: ["parameter gather", "exchange"],
  launch: ["launch (waits for the host)", "wait"],
  bubble: ["bubble", "wait"],
  stage_wait: ["wait for other stages", "wait"],
};
export const plain = (word: string): string => CAUSES[word]?.[0] ?? word.replace(/_/g, " ");
export const family = (cause: string): Family => CAUSES[cause]?.[1] ?? "work";

export const VERDICTS: Readonly<Record<string, string>> = {
  fits: "fits",
  may_not_fit: "may not fit",
  does_not_fit: "does not fit",
};

// Where a second comes from, the surest first.
export const ORIGINS: readonly (readonly [string, string])[] = [
  ["measured", "timed as such"],
  ["interpolated", "between samples of this GPU"],
  ["extrapolated", "beyond samples of this GPU"],
  ["derived", "from another GPU's samples"],
  ["analytic", "from datasheets and formulas"],
];
