// The page's state as the fragment of its address: "#run?model=llama-3-8b&gpus=64&plan=tp=2,pp=2". A view and flat
// words, in a fixed order, so that the same state is always the same link; a fragment is never sent to a server.

export const VIEWS = ["run", "timeline", "search", "sweep", "compare", "scoreboard"] as const;
export type View = (typeof VIEWS)[number];
export type Words = Readonly<Record<string, string>>;
export interface State {
  readonly view: View;
  readonly words: Words;
}

// Words of the question come first, as people say them; what is not named here follows by name.
const ORDER = ["model", "cluster", "gpus", "global_batch", "seq", "stack", "plan"];

const rank = (key: string): number => {
  const place = ORDER.indexOf(key);
  return place < 0 ? ORDER.length : place;
};

// Encodes no more than a fragment needs: a plan stays readable in the link.
const encode = (text: string): string =>
  encodeURIComponent(text)
    .replace(/%20/g, "+")
    .replace(/%(3D|2C|3A|2F|40)/g, (code) => decodeURIComponent(code));

// A link is typed and cut by people: what cannot be decoded stays as it is.
const decode = (text: string): string => {
  const spaced = text.replace(/\+/g, " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
};

export function format_fragment(state: State): string {
  const keys = Object.keys(state.words)
    .filter((key) => state.words[key] !== "")
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const words = keys.map((key) => `${encode(key)}=${encode(state.words[key])}`).join("&");
  return `#${state.view}${words === "" ? "" : `?${words}`}`;
}

export function parse_fragment(fragment: string): State {
  const text = fragment.replace(/^#/, "");
  const mark = text.indexOf("?");
  const name = mark < 0 ? text : text.slice(0, mark);
  const view = VIEWS.find((known) => known === name) ?? "run";
  const words: Record<string, string> = {};
  for (const pair of mark < 0 ? [] : text.slice(mark + 1).split("&")) {
    const equals = pair.indexOf("=");
    if (equals > 0) words[decode(pair.slice(0, equals))] = decode(pair.slice(equals + 1));
  }
  return { view, words };
}
