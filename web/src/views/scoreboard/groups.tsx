// Errors by group, and of all, of the runs in a table that was dropped here.
import type { Scores } from "../../api/answers";
import { Block } from "../../parts/block";
import type { Words } from "../../state/fragment";
import { csv } from "../../text/csv";
import { validate_command } from "./command";
import { cells_of, COLUMNS, FiguresTable } from "./figures_table";

export interface ScoresProps {
  words: Words;
  scores: Scores;
}

export function Groups({ words, scores, by }: ScoresProps & { by: string }) {
  const groups = Object.entries(scores.groups[by] ?? {});
  const { summary } = scores;
  const left = Object.entries(summary.skipped_reasons);
  return (
    <Block title={`Your runs, by ${by}`} name="scores" wide command={() => validate_command(words)}
      note={<>of {summary.count} measured steps{left.length > 0 && `; left out: ${left.map(([reason, n]) => `${reason} (${n})`).join(", ")}`}</>}
      table={() => csv([by, ...COLUMNS], [...groups.map(([name, s]) => [name, ...cells_of(s)]), ["all", ...cells_of(summary)]])}>
      <FiguresTable caption={`Errors by ${by}`} first={by}
        lines={[...groups.map(([name, score]) => ({ name, score, strong: (words[by] ?? "") === name })), { name: "all", score: summary, sum: true }]} />
    </Block>
  );
}
