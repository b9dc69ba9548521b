// Figures of an answer as pieces to draw: the largest first, with their colours; what is nothing is left out.
import type { Numbers } from "../api/answers";
import type { Piece } from "../parts/bars";
import { family, plain } from "./words";

// A tone for each cause, so that neighbours of a family can be told apart.
const TONES: Readonly<Record<string, string>> = {
  forward: "c-work-2", backward: "c-work-1", recompute: "c-work-3", optimizer: "c-work-4",
  tensor_parallel: "c-exchange-1", gradient_reduce: "c-exchange-2", parameter_gather: "c-exchange-3",
  pipeline_send: "c-exchange-3", expert_parallel: "c-exchange-2", context_parallel: "c-exchange-1",
  data_parallel: "c-exchange-2", embedding_exchange: "c-exchange-3",
  bubble: "c-wait-1", stage_wait: "c-wait-2", launch: "c-wait-2",
};
export const tone = (cause: string): string => TONES[cause] ?? "c-work-2";

const LEAST_SHARE = 5e-7;  // rounding leaves 1e-16 of a second where there is nothing

function shown(values: Numbers): [string, number][] {
  const whole = Object.values(values).reduce((sum, value) => sum + value, 0);
  return Object.entries(values).filter(([, value]) => value > whole * LEAST_SHARE).sort((a, b) => b[1] - a[1]);
}

export const causes = (values: Numbers): Piece[] =>
  shown(values).map(([cause, value]) => ({ label: plain(cause), value, colour: tone(cause) }));
export const operators = (values: Numbers): Piece[] =>
  shown(values).map(([name, value]) => ({ label: plain(name), value, colour: "c-work-1" }));
export function by_family(values: Numbers): Piece[] {
  const order = ["work", "exchange", "wait"];
  return Object.entries(values)
    .filter(([, value]) => value > 0)
    .sort((a, b) => order.indexOf(family(a[0])) - order.indexOf(family(b[0])))
    .map(([cause, value]) => ({ label: plain(cause), value, colour: tone(cause) }));
}
