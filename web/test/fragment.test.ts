import assert from "node:assert/strict";
import { test } from "node:test";
import { format_fragment, parse_fragment } from "../src/state/fragment";

test("a plan stays readable in the link", () => {
  const state = { view: "run" as const, words: { plan: "tp=2,pp=2", model: "llama-3-8b", gpus: "64" } };
  assert.equal(format_fragment(state), "#run?model=llama-3-8b&gpus=64&plan=tp=2,pp=2");
  assert.deepEqual(parse_fragment(format_fragment(state)), state);
});
test("any text comes back as it was", () => {
  const run = "model: x # 100%\nplan: {tp: 2}\n&=+?é\t\"'<>";
  const words = { run, run_name: "a b&c.yaml" };
  assert.deepEqual(parse_fragment(format_fragment({ view: "search", words })).words, words);
});
test("the same words are the same link, in whatever order they were said", () => {
  const one = format_fragment({ view: "sweep", words: { over: "tp=1..8", gpus: "8" } });
  assert.equal(one, format_fragment({ view: "sweep", words: { gpus: "8", over: "tp=1..8" } }));
});
test("a link that was cut or mistyped is read as far as it goes", () => {
  assert.deepEqual(parse_fragment("#nonsense?gpus=6&plan=%E0%A4%A"), { view: "run", words: { gpus: "6", plan: "%E0%A4%A" } });
  assert.deepEqual(parse_fragment(""), { view: "run", words: {} });
  assert.deepEqual(parse_fragment("#timeline?&=x&gpus"), { view: "timeline", words: {} });
});
test("what is empty is not said", () => {
  assert.equal(format_fragment({ view: "run", words: { seq: "" } }), "#run");
});
