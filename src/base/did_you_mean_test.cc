#include "base/did_you_mean.h"

#include <doctest/doctest.h>

#include <vector>

namespace foretrain {
namespace {

const std::vector<std::string> kKeys = {"hidden", "layers", "heads", "kv_heads", "tp"};

TEST_CASE("a slip of the finger is near") {
  CHECK(nearest("hiden", kKeys) == "hidden");    // left out
  CHECK(nearest("hiddden", kKeys) == "hidden");  // typed twice
  CHECK(nearest("hudden", kKeys) == "hidden");   // wrong letter
  CHECK(nearest("hdiden", kKeys) == "hidden");   // swapped
  CHECK(nearest("Layers", kKeys) == "layers");
  CHECK(nearest("LAYERS", kKeys) == "layers");
}

TEST_CASE("short words allow one edit, longer ones a third of their letters") {
  CHECK(nearest("t", kKeys) == "tp");
  CHECK(nearest("pt", kKeys) == "tp");
  CHECK(!nearest("dp_", kKeys));                   // two edits from tp, and three letters allow one
  CHECK(nearest("kv-head", kKeys) == "kv_heads");  // two edits, eight letters
}

TEST_CASE("a swap counts one edit and not two") { CHECK(nearest("pt", kKeys).has_value()); }

TEST_CASE("the nearest wins, the first among equals") {
  const std::vector<std::string> names = {"stage2", "stage1", "stage"};
  CHECK(nearest("stage1", names) == "stage1");
  CHECK(nearest("stage3", names) == "stage2");
}

TEST_CASE("far words have no nearest, however long") {
  CHECK(!nearest("optimizer", kKeys));
  CHECK(!nearest(std::string(1 << 20, 'x'), kKeys));
  CHECK(!nearest("x", {}));
}

TEST_CASE("a suggestion names the nearest, else what there is") {
  CHECK(suggestion("hiden", kKeys) == "; did you mean 'hidden'?");
  CHECK(suggestion("optimizer", kKeys) == "; expected one of hidden, layers, heads, kv_heads, tp");
  CHECK(suggestion("x", {}) == "");
}

TEST_CASE("what begins like the word is offered before a list of everything") {
  const std::vector<std::string> names = {"gpt2", "llama-2-7b", "llama-3-8b", "llama-3.2-1b"};
  CHECK(suggestion("llama3", names) == "; did you mean one of llama-3-8b, llama-3.2-1b?");
}

TEST_CASE("where nothing begins like the word, what holds it is offered, unless the word says too little") {
  const std::vector<std::string> names = {"dgx-a100", "dgx-h100", "cisco-h100-nvl", "vista"};
  CHECK(suggestion("h100", names) == "; did you mean one of dgx-h100, cisco-h100-nvl?");
  CHECK(suggestion("nvl", names) == "; did you mean 'cisco-h100-nvl'?");
  CHECK(suggestion("h1", names) == "; expected one of dgx-a100, dgx-h100, cisco-h100-nvl, vista");
}

TEST_CASE("at most twelve candidates are listed") {
  const std::vector<std::string> names(13, "abc");
  CHECK(suggestion("optimizer", names) ==
        "; expected one of abc, abc, abc, abc, abc, abc, abc, abc, abc, abc, abc, abc, ...");
}

}  // namespace
}  // namespace foretrain
