// A number with its interval, drawn to scale: the axis is round figures around the interval.
import { seconds } from "../text/format";

export interface IntervalProps {
  value: number;
  low: number;
  high: number;
  measured?: number;  // what a log says the step took
}

// Round figures, about as many as asked for, over a range.
export function ticks(low: number, high: number, pieces = 4): number[] {
  const rough = (high - low) / pieces;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  const found: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

export function Interval({ value, low, high, measured }: IntervalProps) {
  const ends = [low, high, ...(measured ? [measured] : [])];
  const spread = Math.max(Math.max(...ends) - Math.min(...ends), value * 1e-3);
  const from = Math.max(0, Math.min(...ends) - spread * 0.35);
  const to = Math.max(...ends) + spread * 0.35;
  const at = (seconds_: number): string => `${((seconds_ - from) / (to - from)) * 100}%`;
  const text = `${seconds(value)}, 80 % interval ${seconds(low)} to ${seconds(high)}`;
  return (
    <div class="interval" role="img" aria-label={measured ? `${text}, measured ${seconds(measured)}` : text}>
      <div class="interval-line">
        <div class="interval-range" style={{ left: at(low), width: `${((high - low) / (to - from)) * 100}%` }} />
        <div class="interval-value" style={{ left: at(value) }} />
        {measured !== undefined && <div class="interval-measured" style={{ left: at(measured) }} title={`measured ${seconds(measured)}`} />}
      </div>
      <div class="interval-axis">
        {ticks(from, to).filter((tick) => tick > from + (to - from) * 0.05 && tick < to - (to - from) * 0.05).map((tick) => (
          <span key={tick} style={{ left: at(tick) }}>{seconds(tick)}</span>
        ))}
      </div>
    </div>
  );
}
