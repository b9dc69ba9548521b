// A rectangle drawn by hand over a chart, in the chart's own figures.

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly low: number;
  readonly high: number;
}

interface Scale {
  invert?: (at: number) => number;
}
interface Chart extends SVGElement {
  scale?: (name: string) => Scale | undefined;
}

const SVG = "http://www.w3.org/2000/svg";
const LEAST_PIXELS = 4;  // less is a click, which lets go

export function brush(chart: Chart, done: (box: Box | null) => void): void {
  const [x, y] = [chart.scale?.("x")?.invert, chart.scale?.("y")?.invert];
  if (!x || !y) return;
  const mark = document.createElementNS(SVG, "rect");
  mark.setAttribute("class", "brush");
  chart.append(mark);
  let begun: DOMPoint | null = null;
  // In the drawing's own pixels, whatever the page made of its size.
  const place = (event: PointerEvent): DOMPoint =>
    new DOMPoint(event.clientX, event.clientY).matrixTransform((chart as unknown as SVGGraphicsElement).getScreenCTM()!.inverse());
  const corners = (from: DOMPoint, to: DOMPoint) => ({
    left: Math.min(from.x, to.x), top: Math.min(from.y, to.y),
    right: Math.max(from.x, to.x), bottom: Math.max(from.y, to.y),
  });
  chart.addEventListener("pointerdown", (event) => {
    begun = place(event);
    chart.setPointerCapture(event.pointerId);
  });
  chart.addEventListener("pointermove", (event) => {
    if (!begun) return;
    const box = corners(begun, place(event));
    mark.setAttribute("x", String(box.left));
    mark.setAttribute("y", String(box.top));
    mark.setAttribute("width", String(box.right - box.left));
    mark.setAttribute("height", String(box.bottom - box.top));
  });
  chart.addEventListener("pointerup", (event) => {
    if (!begun) return;
    const box = corners(begun, place(event));
    begun = null;
    const none = box.right - box.left < LEAST_PIXELS && box.bottom - box.top < LEAST_PIXELS;
    done(none ? null : { left: x(box.left), right: x(box.right), low: y(box.bottom), high: y(box.top) });
  });
}

// In the link: "6.7-7.2,40-60".
export const box_text = (box: Box): string =>
  [[box.left, box.right], [box.low, box.high]].map((ends) => ends.map((end) => +end.toPrecision(5)).join("..")).join(",");
export function box_of(text: string): Box | null {
  const found = /^([\d.e+-]+)\.\.([\d.e+-]+),(-?[\d.e+-]+)\.\.([\d.e+-]+)$/.exec(text);
  if (!found) return null;
  const [left, right, low, high] = found.slice(1).map(Number);
  return [left, right, low, high].every(Number.isFinite) ? { left, right, low, high } : null;
}
export const inside = (box: Box | null, x: number, y: number): boolean =>
  !box || (x >= box.left && x <= box.right && y >= box.low && y <= box.high);
