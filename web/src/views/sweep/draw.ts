// A sweep as a chart: of one key a curve with its interval, of two a map of shades with the figures in it.
import type { Point, Sweep } from "../../api/answers";
import type { Plot } from "../../parts/figure";
import { METRICS, type Metric } from "./metrics";

type Drawn = SVGElement | HTMLElement;
const fits = (point: Point): boolean => point.verdict === "fits";

export function draw_curve(plot: Plot, width: number, sweep: Sweep, metric: Metric): Drawn {
  const [{ key, values }] = sweep.over;
  const points = sweep.points.filter((point) => point.refused === undefined);
  const x = (point: Point): string => String(point.at[key]);
  const with_interval = metric === METRICS.step;
  return plot.plot({
    width, height: Math.min(360, Math.max(220, width * 0.42)), marginLeft: 52, marginBottom: 40,
    x: { type: "point", domain: values.map(String), label: `${key} →`, grid: false },
    y: { label: `↑ ${metric.label}`, grid: true, zero: true, nice: true },
    marks: [
      ...(with_interval ? [
        plot.areaY(points, { x, y1: "step_low_s", y2: "step_high_s", fill: "var(--work-4)", fillOpacity: 0.35 }),
        plot.ruleX(points, { x, y1: "step_low_s", y2: "step_high_s", stroke: "var(--work-4)", strokeWidth: 3 }),
      ] : []),
      plot.lineY(points, { x, y: metric.of, stroke: "var(--accent)", strokeWidth: 1.5 }),
      plot.dot(points, { x, y: metric.of, r: 4, stroke: "var(--accent)", fill: (point: Point) => (fits(point) ? "var(--accent)" : "var(--paper)") }),
      plot.text(points, { x, y: metric.of, text: (point: Point) => metric.text(metric.of(point)), dy: -12, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4 }),
    ],
  });
}

export function draw_map(plot: Plot, width: number, sweep: Sweep, metric: Metric): Drawn {
  const [down, across] = sweep.over;
  const points = sweep.points.filter((point) => point.refused === undefined);
  const refused = sweep.points.filter((point) => point.refused !== undefined);
  const x = (point: Point): string => String(point.at[across.key]);
  const y = (point: Point): string => String(point.at[down.key]);
  const all = points.map(metric.of);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  // Where the good end is darkest, and its letters light.
  const goodness = (point: Point): number => {
    const share = most > least ? (metric.of(point) - least) / (most - least) : 1;
    return metric.less_is_better ? 1 - share : share;
  };
  return plot.plot({
    width, height: 60 + down.values.length * 34, marginLeft: 80, marginBottom: 40,
    x: { type: "band", domain: across.values.map(String), label: `${across.key} →` },
    y: { type: "band", domain: down.values.map(String), label: `${down.key} ↓` },
    color: { type: "identity" },
    marks: [
      plot.cell(points, { x, y, fill: "var(--work-1)", fillOpacity: (point: Point) => 0.12 + 0.88 * goodness(point), inset: 0.5 }),
      plot.text(points, { x, y, text: (point: Point) => `${metric.text(metric.of(point))}${fits(point) ? "" : " !"}`, fill: (point: Point) => (goodness(point) > 0.5 ? "var(--on-accent)" : "var(--ink)") }),
      plot.text(refused, { x, y, text: () => "–", fill: "var(--quiet)" }),
    ],
  });
}
