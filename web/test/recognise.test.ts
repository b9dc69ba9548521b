import assert from "node:assert/strict";
import { test } from "node:test";
import { head_of, kind_of, MOST_HELD } from "../src/drop/recognise";
import { Refusal } from "../src/api/client";
import { error_at, refused_field } from "../src/api/refused_field";
import { box_of, box_text, inside } from "../src/views/search/brush";

test("what was dropped is told by its text", () => {
  assert.equal(kind_of("config.json", '{"model_type": "llama", "hidden_size": 4096}'), "model");
  assert.equal(kind_of("ds.json", '{"train_batch_size": 64}'), "run");
  assert.equal(kind_of("train.sh", "torchrun pretrain_gpt.py --tensor-model-parallel-size 2"), "run");
  assert.equal(kind_of("out.txt", Array.from({ length: 9 }, (_, i) => ` iteration ${i}/ 100 | elapsed`).join("\n")), "log");
  assert.equal(kind_of("mine.yaml", "version: 1\nname: mine\nfactors:\n  products: {times: 1}\nlessons:\n  - {name: a}\n"), "calibration");
  assert.equal(kind_of("x", "id,model,global_batch,step_s\na,b,1,2\n"), "table");
});
test("a long text is cut at a line's end", () => {
  const text = "0123456789\n".repeat(10_000);
  assert.ok(head_of(text).length <= MOST_HELD && head_of(text).endsWith("9\n"));
});
test("a refusal stands at its field", () => {
  const plan = new Refusal("plan: unknown key 'tpp'; did you mean 'tp'?", "plan", 422);
  assert.equal(refused_field(plan), "plan");
  assert.equal(error_at(plan, "plan"), "unknown key 'tpp'; did you mean 'tp'?");
  assert.equal(error_at(plan, "gpus"), "");
  const both = new Refusal("plan: global_batch 7 is not a multiple of 64", "plan", 422);
  for (const field of ["plan", "global_batch"]) assert.equal(error_at(both, field), "global_batch 7 is not a multiple of 64");
  const gpus = new Refusal("gpus 64 is not a multiple of tp*pp*cp = 6", "", 422);
  for (const field of ["plan", "gpus"]) assert.equal(error_at(gpus, field), gpus.message);
  assert.equal(error_at(gpus, "seq"), "");
  assert.equal(refused_field(new Refusal("global_batch 7 is not a multiple of 64", "", 422)), "global_batch");
  assert.equal(refused_field(new Refusal("no global_batch: give global_batch", "", 422)), "global_batch");
  assert.equal(refused_field(new Refusal("the server answers 500", "", 500)), "");
});
test("a rectangle in a link comes back", () => {
  const box = { left: 6.7, right: 7.2, low: 40, high: 60 };
  assert.deepEqual(box_of(box_text(box)), box);
  assert.equal(box_of("x"), null);
  assert.ok(inside(box, 7, 50) && !inside(box, 7.3, 50) && inside(null, 1e9, 0));
});
