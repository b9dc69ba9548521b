// What is looked at over a range.
import type { Point } from "../../api/answers";
import * as format from "../../text/format";

export interface Metric {
  readonly label: string;
  readonly of: (point: Point) => number;
  readonly text: (value: number) => string;
  readonly less_is_better: boolean;
}

const GIB = 2 ** 30;
export const METRICS: Readonly<Record<string, Metric>> = {
  step: { label: "step (s)", of: (p) => p.step_s, text: (v) => v.toPrecision(4), less_is_better: true },
  throughput: { label: "tokens/s/GPU", of: (p) => p.tokens_per_s_per_gpu, text: (v) => format.count(v), less_is_better: false },
  mfu: { label: "MFU (%)", of: (p) => p.mfu * 100, text: (v) => v.toFixed(1), less_is_better: false },
  memory: { label: "memory (GiB)", of: (p) => p.needed_bytes / GIB, text: (v) => v.toFixed(1), less_is_better: true },
};
export const metric_of = (word: string | undefined): Metric => METRICS[word ?? ""] ?? METRICS.step;
