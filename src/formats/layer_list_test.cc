#include "formats/layer_list.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("lists of Python's words are written out") {
  CHECK(layers_in_list("([0]*3+[1]*2)") == "00011");
  CHECK(layers_in_list("[1,1,0]*2") == "110110");
  CHECK(layers_in_list("([0]+[1]*2)*2") == "011011");
  CHECK(layers_in_list("[0, 1]") == "01");
  CHECK(layers_in_list("(([1])*2+[0])") == "110");
}

TEST_CASE("what is no list of layers is none") {
  for (const char* text :
       {"", "2", "[0", "([0]", "[0])", "[2]", "[0]*", "[0]+", "[0]*99999999", "__import__"})
    CHECK_MESSAGE(!layers_in_list(text), text);
}

TEST_CASE("layers are written as runs, or as a period") {
  CHECK(list_of_layers("00011") == "([0]*3+[1]*2)");
  CHECK(list_of_layers("0101") == "([0]+[1])*2");
  CHECK(list_of_layers("111") == "([1])*3");
  for (const char* layers : {"00011", "0101", "10", "110110110", "1101"})
    CHECK(layers_in_list(list_of_layers(layers)) == layers);
}
