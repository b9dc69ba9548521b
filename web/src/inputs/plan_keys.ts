// The keys of a plan that have a control of their own (docs/formats/plan.md); all others are typed into the plan.
import { divisors } from "../state/plan_text";

export interface Degree {
  readonly key: string;
  readonly title: string;
  readonly values: (gpus: number, batch: number) => readonly number[];
}

const powers = (most: number): number[] => {
  const found = [1];
  while (found[found.length - 1] * 2 <= most) found.push(found[found.length - 1] * 2);
  return found;
};
const MOST_GPUS = 1 << 17;
export const GPU_COUNTS = powers(MOST_GPUS);
export const BATCHES = powers(1 << 16);

export const DEGREES: readonly Degree[] = [
  { key: "tp", title: "tensor-parallel ranks", values: (gpus) => divisors(gpus, 64) },
  { key: "pp", title: "pipeline stages", values: (gpus) => divisors(gpus, 128) },
  { key: "cp", title: "context-parallel ranks", values: (gpus) => divisors(gpus, 64) },
  { key: "ep", title: "expert-parallel ranks", values: (gpus) => divisors(gpus, 256) },
  { key: "micro_batch", title: "sequences of one pass", values: (_, batch) => powers(Math.min(batch, 64)) },
  { key: "vpp", title: "chunks of layers on each stage", values: () => [1, 2, 3, 4, 5, 6, 8, 10, 12] },
  { key: "zero", title: "0: none, 1: optimizer states divided, 2: gradients too, 3: weights too (FSDP)", values: () => [0, 1, 2, 3] },
];

export interface Choice {
  readonly key: string;
  readonly label: string;
  readonly values: readonly string[];
}
export const CHOICES: readonly Choice[] = [
  { key: "recompute", label: "recompute", values: ["none", "selective", "full"] },
  { key: "schedule", label: "schedule", values: ["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zbv", "dualpipe", "dualpipev"] },
  { key: "precision", label: "precision", values: ["bf16", "fp16", "fp8", "mxfp8", "nvfp4"] },
];
export const SWITCHES: readonly (readonly [string, string])[] = [
  ["sp", "sequence parallel"],
  ["overlap_grad_reduce", "overlap gradient reduce"],
  ["overlap_param_gather", "overlap parameter gather"],
  ["offload", "offload activations"],
];
