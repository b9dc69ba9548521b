// A step's events as the server tells them: columns, entry i of each of event i.

export interface Timeline {
  step_ns: number;
  stages: number;
  shown: number[];
  note: string;
  kinds: string[];
  lanes: string[];
  waits: string[];
  events: {
    stage: number[];
    lane: number[];
    kind: number[];
    micro_batch: number[];
    piece: number[];
    from_ns: number[];
    to_ns: number[];
    other_stage: number[];
  };
  idle: { stage: number[]; wait: number[]; from_ns: number[]; to_ns: number[] };
  path: { event: number[]; stage: number[]; from_ns: number[]; to_ns: number[] };
  memory: { stage: number; at_ns: number[]; allocated: number[]; held: number[] }[];
  pieces: Record<string, Record<string, number>>[];
}
