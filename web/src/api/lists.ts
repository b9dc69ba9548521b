// What the program knows by name, asked once.
import { useEffect, useState } from "preact/hooks";
import { look } from "./client";
import * as format from "../text/format";

export interface Named {
  readonly name: string;
  readonly note: string;  // a few words that tell it from its neighbours
}
type Row = Record<string, unknown>;

const NOTES: Readonly<Record<string, (row: Row) => string>> = {
  models: (row) => format.parameters(Number(row.parameters)),
  clusters: (row) => `${String(row.gpus_per_node)} × ${String(row.gpu)}`,
  stacks: (row) => String(row.source ?? ""),
  profiles: (row) => String(row.source ?? row.description ?? ""),
};

const kept = new Map<string, Promise<Named[]>>();
function list(kind: string): Promise<Named[]> {
  const found = kept.get(kind);
  if (found) return found;
  const asked = look<Record<string, Row[]>>(`list/${kind}`).then(
    (answer) => (answer[kind] ?? []).map((row) => ({ name: String(row.name), note: NOTES[kind]?.(row) ?? "" })),
    () => {
      kept.delete(kind);
      return [];
    },
  );
  kept.set(kind, asked);
  return asked;
}

export function use_list(kind: string): readonly Named[] {
  const [names, set_names] = useState<readonly Named[]>([]);
  useEffect(() => {
    let here = true;
    void list(kind).then((found) => here && set_names(found));
    return () => {
      here = false;
    };
  }, [kind]);
  return names;
}
