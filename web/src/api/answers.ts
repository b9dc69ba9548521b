// The answers that the page reads: what the command line prints under --json (docs/formats/predict-json.md and its
// neighbours), as far as the page shows it.

export type Numbers = Readonly<Record<string, number>>;

export interface Stage {
  layers: number;
  parameters: number;
  forward_s: number;
  backward_s: number;
  busy_s: number;
  idle_s: number;
  in_flight: number;
  allocated_bytes: number;
  reserved_bytes: number;
  total_bytes: number;
  needed_bytes: number;
  peak: { when: string; saved_bytes: Numbers; parts_bytes: Numbers };
  time_s: Numbers | null;
}

export interface Training {
  tokens: number;
  steps: number;
  seconds: number;
  seconds_low: number;
  seconds_high: number;
  days: number;
  gpu_hours: number;
  usd?: number;
}

export interface Fix {
  change: string;
  plan: string;
  step_s: number;
  needed_bytes: number;
  fit_probability: number;
  trains?: string;
}

export interface Run {
  model: string;
  cluster: string;
  gpu: string;
  gpus: number;
  stack: string;
  profile: string;
  seq: number;
  global_batch: number;
  micro_batches: number;
  plan: Record<string, unknown>;
}

// How an answer stands on what measurements of its cluster taught.
export interface Standing {
  name: string;
  runs: number;
  uncalibrated_s: number;
  settled: number;
  nearest: string;
  differs: string[];
}

export interface Prediction {
  calibration?: Standing;
  step_s: number;
  step_low_s: number;
  step_high_s: number;
  typical_s: number;
  tokens_per_s_per_gpu: number;
  mfu: number;
  params: number;
  trained_params?: number;
  verdict: string;
  fit_probability: number;
  peak_bytes: number;
  usable_bytes: number;
  needed_bytes: number;
  worst_stage: number;
  training?: Training;
  breakdown_s: Numbers;
  operators_s: Numbers;
  origin_shares: Numbers;
  bubble_fraction: number;
  stages: Stage[];
  would_fit: Fix[];
  run: Run;
  assumed: string[];
}

export interface Point {
  at: Record<string, number | string>;
  refused?: string;
  step_s: number;
  step_low_s: number;
  step_high_s: number;
  tokens_per_s_per_gpu: number;
  mfu: number;
  verdict: string;
  fit_probability: number;
  needed_bytes: number;
  limit: { cause: string; share: number; beside_compute: string; beside_compute_share: number };
  breakdown_s: Numbers;
  plan: string;
}
export interface Sweep {
  over: { key: string; values: (number | string)[] }[];
  points: Point[];
  notes: string[];
  assumed: string[];
}

export interface Planned {
  plan: string;
  gpus: number;
  step_s: number;
  step_low_s: number;
  step_high_s: number;
  tokens_per_s_per_gpu: number;
  mfu: number;
  peak_bytes: number;
  needed_bytes: number;
  verdict: string;
  fit_probability: number;
  gpu_hours_per_billion_tokens: number;
  breakdown_s: Numbers;
  tied?: boolean;
  settles?: string;
}
export interface Variant {
  change: string;
  plan: string;
  step_s: number;
  peak_bytes: number;
  tied: boolean;
}
export interface PlanFamily extends Planned {
  tp: number;
  pp: number;
  dp: number;
  ep: number;
  cp: number;
  zero: number;
  plans: number;
  last_step_s: number;
  variants: Variant[];
}
export interface Why extends Partial<Planned> {
  asked: string;
  rejected: string | null;
  better_plans: number;
  better_plans_at_least: boolean;
  more_s?: Numbers;
}
export interface Found {
  calibration?: Standing;
  candidates: number;
  evaluated: number;
  pruned_memory: number;
  pruned_bound: number;
  seconds: number;
  interrupted: boolean;
  gap: number | null;
  objective: string;
  memory_limit_bytes: number;
  not_searched: { values: string; reason: string }[];
  best: Planned[];
  families?: PlanFamily[];
  pareto?: Planned[];
  would_fit?: Fix[];
  why?: Why[];
  assumed: string[];
}
// A search of several batches or lengths: the best of each.
export interface SweptPlan {
  plan: string;
  gpus: number;
  seq: number;
  global_batch: number;
  step_s: number;
  step_low_s: number;
  step_high_s: number;
  tokens_per_s_per_gpu: number;
  mfu: number;
  needed_bytes: number;
  fit_probability: number;
}
export interface SweptPoint {
  at: { seq: number; global_batch: number | string };
  refused?: string;
  best?: SweptPlan[];
}
export interface Swept {
  candidates: number;
  seconds: number;
  interrupted: boolean;
  objective: string;
  memory_limit_bytes: number;
  points: SweptPoint[];
  assumed: string[];
}
export interface SearchJob {
  id: string;
  state: "waiting" | "running" | "stopping" | "done" | "failed";
  before: number;  // searches that go first
  decided: number;
  all: number;     // 0: not counted yet
  best_s: number | null;
  gap: number | null;
  answer: Found | Swept | null;
  error: { message: string; field: string | null } | null;
}

export interface Score {
  count: number;
  mape: number | null;
  median_ape: number | null;
  p90_ape: number | null;
  bias: number | null;
  coverage80: number | null;
  memory: { count: number; mape: number | null; bias: number | null };
}
export interface Summary extends Score {
  skipped: number;
  skipped_reasons: Record<string, number>;
  healthy: Score;
}
export interface ScoredRow {
  id: string;
  source: string;
  measured_s: number | null;
  predicted_s: number;
  low_s: number;
  high_s: number;
  error: number | null;
  measured_gib: number | null;
  predicted_gib: number;
  verdict: string;
  assumed: string[];
}
export interface Scores {
  summary: Summary;
  groups: Record<string, Record<string, Summary>>;
  rows?: ScoredRow[];
}

// What predictions of published runs that share something with a run were off by.
export interface Accuracy {
  run: { model: string; cluster: string; gpu: string; stack: string; features: string[] };
  like: { by: "alike" | "gpu" | "stack" | "feature"; name: string; figures: Score }[];
  all: Score;
  by_source: Score;
  groups: Record<string, Record<string, Score>>;
}

export interface LogRead {
  format: string;
  steps: number;
  step_s: number | null;
  spread: number | null;
  memory_gib: number | null;
  run?: Record<string, string>;
}
export interface Converted {
  format: string;
  model?: Record<string, unknown>;
  plan?: Record<string, unknown>;
  seq?: number;
  global_batch?: number;
  gpus?: number;
  stack?: string;
  unknown_flags: string[];
  not_modelled: string[];
  contradictions: string[];
  assumed: string[];
}
