import assert from "node:assert/strict";
import { test } from "node:test";
import { run_of } from "../src/views/search/search_question";
import { divisors, parse_plan, with_change, with_key } from "../src/state/plan_text";
import { applied, variants_of } from "../src/views/compare/variants";

test("a key is changed where it stands, and added behind", () => {
  assert.equal(with_key("tp=2,pp=2,zero=1", "pp", "4"), "tp=2,pp=4,zero=1");
  assert.equal(with_key("tp=2", "recompute", "full"), "tp=2,recompute=full");
  assert.equal(with_key("tp=2,pp=2", "tp", ""), "pp=2");
});
test("keys that the page does not know are kept", () => {
  assert.equal(with_key("layers_per_stage=17-15,recompute=moe_act+layernorm", "tp", "2"), "layers_per_stage=17-15,recompute=moe_act+layernorm,tp=2");
});
test("a change of several keys", () => {
  assert.equal(with_change("tp=2,recompute=full", "tp=1,recompute=none"), "tp=1,recompute=none");
  assert.equal(parse_plan("tp = 2 ,x").get("tp"), "2");
});
test("divisors are those of the GPUs", () => {
  assert.deepEqual(divisors(24, 8), [1, 2, 3, 4, 6, 8]);
});
test("a variant changes the run by its keys and the plan by all others", () => {
  const words = { model: "a", model_text: "{}", cluster: "c", plan: "tp=2" };
  assert.deepEqual(applied(words, "cluster=d,pp=4"), { ...words, cluster: "d", plan: "tp=2,pp=4" });
  assert.equal(applied(words, "model=b").model_text, "");
  assert.deepEqual(variants_of("tp=1; ;pp=2;"), ["tp=1", "pp=2"]);
});
test("a plan that a search of several batches or GPUs found is a run with its own", () => {
  const asked = { model: "m", cluster: "c", gpus: "8..64", global_batch: "64,128", seq: "4k" };
  assert.deepEqual(run_of(asked, { plan: "tp=2", gpus: 16, seq: 4096, global_batch: 128 }), { ...asked, plan: "tp=2", gpus: "16", global_batch: "128" });
  assert.deepEqual(run_of({ ...asked, gpus: "8" }, { plan: "tp=2", gpus: 8 }), { ...asked, gpus: "8", plan: "tp=2" });
});
