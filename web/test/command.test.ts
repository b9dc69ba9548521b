import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { command, file_name, shell_word } from "../src/text/command";
import { search_command } from "../src/views/search/search_question";

test("options stand in the order of predict --help", () => {
  assert.equal(command("predict", { plan: "tp=2,pp=2", gpus: "64", global_batch: "512", model: "llama-3-8b" }),
    "foretrain predict --model llama-3-8b --gpus 64 --plan tp=2,pp=2 --global-batch 512");
});
test("a search has no plan of its own, and an option for each value", () => {
  assert.equal(search_command({ model: "gpt2", plan: "tp=2", set: "tp=8; zero=1,2", headroom: "10%" }),
    "foretrain search --model gpt2 --set tp=8 --set zero=1,2 --headroom 10%");
});

// A shell says what its words are; `foretrain` is a function there that prints them.
function words_in_shell(text: string, folder: string): string[] {
  const script = `foretrain() { printf '%s\\0' "$@"; }\n${text}\n`;
  return execFileSync("sh", ["-c", script], { cwd: folder }).toString().split("\0").slice(0, -1);
}
test("a shell reads the words that were meant, whatever is in them", () => {
  for (const word of ["a b", "it's", "$(touch x)", "`x`", "a;b", "", "\\", "é", "*", "a\nb"])
    assert.deepEqual(words_in_shell(`foretrain ${shell_word(word)}`, tmpdir()), [word]);
});
test("a text that was dropped is written as it was", () => {
  const folder = mkdtempSync(join(tmpdir(), "foretrain-"));
  const run = "model: gpt2\nEOF\n$HOME `x` 'y'\n";
  const words = words_in_shell(command("predict", { run, run_name: "../a b.sh", cluster: "dgx-h100" }), folder);
  assert.deepEqual(words, ["predict", "a_b.sh", "--cluster", "dgx-h100"]);
  assert.equal(readFileSync(join(folder, "a_b.sh"), "utf8"), run);
});
test("a file's name can do no harm", () => {
  assert.equal(file_name("../../etc/passwd", "x"), "passwd");
  assert.equal(file_name("-rf", "x"), "rf");
  assert.equal(file_name("..", "run.yaml"), "run.yaml");
});
