// On which calibration an answer stands, and what it would say without.
import type { Standing as Stands } from "../api/answers";
import * as format from "../text/format";

export function Standing({ on }: { on: Stands | undefined }) {
  if (!on) return null;
  return (
    <p class="beside" data-testid="standing">
      stands on calibration {on.name}, of {on.runs} measured {on.runs === 1 ? "run" : "runs"}: without it {format.seconds(on.uncalibrated_s)};
      nearest to {on.nearest}{on.differs.length > 0 ? `, but for: ${on.differs.join(", ")}` : ", a run of this kind"}
    </p>
  );
}
