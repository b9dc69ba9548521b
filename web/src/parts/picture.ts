// A part of the page as a PNG: its boxes, words and drawings painted on a canvas where the browser has laid them out.
// What is marked data-not-in-picture (buttons, fields) is left out.

const SCALE = 2;
const MARGIN = 16;

interface Brush {
  readonly context: CanvasRenderingContext2D;
  readonly left: number;
  readonly top: number;
}

const is_seen = (style: CSSStyleDeclaration): boolean =>
  style.display !== "none" && style.visibility !== "hidden" && Number(style.opacity) > 0;

function paint_box(brush: Brush, element: Element, style: CSSStyleDeclaration): void {
  const box = element.getBoundingClientRect();
  const { context } = brush;
  if (style.backgroundColor !== "rgba(0, 0, 0, 0)") {
    context.fillStyle = style.backgroundColor;
    context.fillRect(box.left - brush.left, box.top - brush.top, box.width, box.height);
  }
  for (const side of ["Top", "Bottom", "Left"] as const) {
    const width = parseFloat(style[`border${side}Width`]);
    if (width === 0 || style[`border${side}Style`] === "none") continue;
    context.fillStyle = style[`border${side}Color`];
    const x = box.left - brush.left;
    const y = (side === "Bottom" ? box.bottom - width : box.top) - brush.top;
    if (side === "Left") context.fillRect(x, y, width, box.height);
    else context.fillRect(x, y, box.width, width);
  }
}

const box_of = (node: Text, from: number, to: number): DOMRect => {
  const range = document.createRange();
  range.setStart(node, from);
  range.setEnd(node, to);
  return range.getBoundingClientRect();
};

// A word as far as it stands in one line: a plan goes on in the next one within what has no space.
function* in_lines(node: Text, from: number, to: number): Generator<readonly [number, number]> {
  let begin = from;
  for (let end = from + 1; end <= to; end++) {
    if (end < to && box_of(node, end, end + 1).top === box_of(node, begin, begin + 1).top) continue;
    yield [begin, end];
    begin = end;
  }
}

// Word by word, since a text may run over several lines.
function paint_text(brush: Brush, node: Text): void {
  const style = getComputedStyle(node.parentElement!);
  if (style.position === "absolute" && style.clipPath !== "none") return;
  const { context } = brush;
  context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.textBaseline = "alphabetic";
  for (const word of node.data.matchAll(/\S+/g)) {
    for (const [from, to] of in_lines(node, word.index, word.index + word[0].length)) {
      const box = box_of(node, from, to);
      if (box.width === 0) continue;
      const text = node.data.slice(from, to);
      const metrics = context.measureText(text);
      const blank = box.height - metrics.fontBoundingBoxAscent - metrics.fontBoundingBoxDescent;
      const base = box.top + blank / 2 + metrics.fontBoundingBoxAscent;
      context.fillText(text, box.left - brush.left, base - brush.top);
    }
  }
}

const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity",
  "font-family", "font-size", "font-weight", "text-anchor"] as const;

// An image knows nothing of the page's style sheets: what they say is written into the copy.
async function paint_svg(brush: Brush, drawing: SVGSVGElement): Promise<void> {
  const box = drawing.getBoundingClientRect();
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(box.width));
  copy.setAttribute("height", String(box.height));
  const from = [drawing, ...drawing.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    to[i].removeAttribute("style");
    for (const key of DRAWN) to[i].setAttribute(key, style.getPropertyValue(key));
  });
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = url;
  await image.decode();
  brush.context.drawImage(image, box.left - brush.left, box.top - brush.top, box.width, box.height);
  URL.revokeObjectURL(url);
}

async function paint(brush: Brush, element: Element): Promise<void> {
  if (element.hasAttribute("data-not-in-picture")) return;
  const style = getComputedStyle(element);
  if (!is_seen(style)) return;
  if (element instanceof SVGSVGElement) return paint_svg(brush, element);
  paint_box(brush, element, style);
  if (element instanceof HTMLCanvasElement) {
    const box = element.getBoundingClientRect();
    brush.context.drawImage(element, box.left - brush.left, box.top - brush.top, box.width, box.height);
  }
  const folded = element instanceof HTMLDetailsElement && !element.open;
  for (const child of element.childNodes) {
    if (folded && (child as Element).tagName !== "SUMMARY") continue;
    if (child instanceof Text) paint_text(brush, child);
    else if (child instanceof Element) await paint(brush, child);
  }
}

export async function picture_of(element: HTMLElement): Promise<Blob> {
  const box = element.getBoundingClientRect();
  const canvas = document.createElement("canvas");
  canvas.width = (box.width + 2 * MARGIN) * SCALE;
  canvas.height = (box.height + 2 * MARGIN) * SCALE;
  const context = canvas.getContext("2d")!;
  context.scale(SCALE, SCALE);
  context.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  await paint({ context, left: box.left - MARGIN, top: box.top - MARGIN }, element);
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/png"),
  );
}
