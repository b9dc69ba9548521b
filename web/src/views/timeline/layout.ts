// Where rows and the memory lie, in pixels of the page.
import type { RowKind } from "./scene";

export const LEFT = 58;       // for names of stages
export const TOP = 22;        // for the axis
const MOST_HEIGHT = 620;
const MEMORY_HEIGHT = 150;

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly stage_height: number;
  readonly rows: Readonly<Record<RowKind, readonly [number, number]>>;  // top within the stage, height; 0: not drawn
  readonly stages_bottom: number;
  readonly memory_top: number;
  readonly memory_bottom: number;
}

// Stages share the height; where they are many, passes alone are drawn.
export function layout_of(width: number, stages: number, with_path: boolean): Layout {
  const roomy = Math.floor(MOST_HEIGHT / stages) >= 34;
  const stage_height = roomy ? Math.min(62, Math.floor(MOST_HEIGHT / stages)) : Math.max(4, Math.floor(MOST_HEIGHT / stages));
  const path = with_path ? (roomy ? 4 : stage_height >= 9 ? 2 : 0) : 0;
  const gap = stage_height > 6 ? (roomy ? 10 : 2) : 1;
  const free = stage_height - path - gap;
  const passes = roomy ? Math.round(free * 0.6) : free;
  const messages = roomy ? Math.round(free * 0.16) : 0;
  const after = roomy ? free - passes - messages - 2 : 0;
  const stages_bottom = TOP + stage_height * stages;
  return {
    width, stage_height, stages_bottom,
    rows: {
      path: [0, path],
      passes: [path, passes],
      messages: [path + passes + 1, messages],
      after: [path + passes + messages + 2, after],
    },
    memory_top: stages_bottom + 26,
    memory_bottom: stages_bottom + 26 + MEMORY_HEIGHT,
    height: stages_bottom + 26 + MEMORY_HEIGHT + 6,
  };
}

export const moment_at = (x: number, layout: Layout, from: number, to: number): number =>
  from + ((x - LEFT) / (layout.width - LEFT)) * (to - from);
export const x_of = (moment: number, layout: Layout, from: number, to: number): number =>
  LEFT + ((moment - from) / (to - from)) * (layout.width - LEFT);
