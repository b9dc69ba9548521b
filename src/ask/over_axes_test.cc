#include "ask/over_axes.h"

#include <doctest/doctest.h>

#include "base/text.h"

namespace foretrain {
namespace {

// "tp=1+2+4 zero=0+1": what each key is set to.
std::string axes(std::string_view text) {
  const auto parsed = parse_axes(text);
  if (!parsed) return parsed.error().text();
  std::string out;
  for (const OverAxis& axis : *parsed)
    out +=
        (out.empty() ? "" : " ") + axis.key + "=" + join(axis.words, "+") + (axis.numbers ? "" : " (words)");
  return out;
}

TEST_CASE("a range doubles from its start, and its end is always there") {
  CHECK(axes("inter_gbps=100..3200") == "inter_gbps=100+200+400+800+1600+3200");
  CHECK(axes("inter_gbps=100..1000") == "inter_gbps=100+200+400+800+1000");
  CHECK(axes("seq=4k..16k") == "seq=4096+8192+16384");
  // Whole numbers stay between the ends and in order, whatever their size.
  CHECK(axes("seq=131064..131072") == "seq=131064+131065+131066+131067+131068+131069+131070+131071+131072");
  CHECK(axes("seq=100049..100099/5") == "seq=100049+100062+100074+100087+100099");
  CHECK(axes("tp=1..1") == "tp=1");
  CHECK(axes("global_batch=1Mtok..4Mtok") == "global_batch=1000000tok+2000000tok+4000000tok (words)");
  CHECK(axes("inter_gbps=0.5..2") == "inter_gbps=0.5+1+2");
}

TEST_CASE("a range that does not double goes by ones, or in eight steps") {
  CHECK(axes("zero=0..3") == "zero=0+1+2+3");
  CHECK(axes("pp=5..8") == "pp=5+6+7+8");
  CHECK(axes("product_efficiency=0.5..0.9") == "product_efficiency=0.5+0.55+0.6+0.65+0.7+0.75+0.8+0.85+0.9");
  CHECK(axes("gpus=100..180") == "gpus=100+110+120+130+140+150+160+170+180");
}

TEST_CASE(
    "a number of points is kept: in equal ratios where the end is twice the start, else in equal steps") {
  CHECK(axes("inter_gbps=100..1600/3") == "inter_gbps=100+400+1600");
  CHECK(axes("inter_gbps=100..150/3") == "inter_gbps=100+125+150");
  CHECK(axes("inter_gbps=100..3200/4") ==
        "inter_gbps=100+317.5+1008+3200");            // in four digits between the ends
  CHECK(axes("tp=1..8/20") == "tp=1+2+3+4+5+6+7+8");  // whole, and each once
}

TEST_CASE("words without a key belong to the key before") {
  CHECK(axes("tp=1,2,4,zero=0,3") == "tp=1+2+4 zero=0+3");
  CHECK(axes("schedule=1f1b,zbv") == "schedule=1f1b+zbv (words)");
  CHECK(axes("cp_type=p2p,a2a+p2p") == "cp_type=p2p+a2a+p2p (words)");
  CHECK(axes("tp=1,4..16") == "tp=1+4+8+16");
  CHECK(axes("global_batch=512,4Mtok") == "global_batch=512+4Mtok (words)");
}

TEST_CASE("what no run could have is refused with what is expected") {
  const std::string over = "foretrain: error: over: ";
  CHECK(axes("inter_gbp=1") == over + "unknown key 'inter_gbp'; did you mean 'inter_gbps'?");
  CHECK(axes("tp=0..4") == over + "tp: found '0', expected a whole number from 1 to 1000000");
  CHECK(axes("tp=4..1") == over + "tp: found '4..1', expected the smaller number first");
  CHECK(axes("schedule=1..2") == over + "schedule: found '1..2', expected words, with commas between them");
  CHECK(axes("tp=1.5..3") ==
        over + "tp: found '1.5..3', expected a range of numbers such as 1..8 or 100..3200/20");
  CHECK(axes("nics=0..8") == over + "nics: found '0', expected a whole number from 1 to 1024");
  CHECK(axes("inter_gbps=1..9000000") ==
        over + "inter_gbps: found '9000000', expected a number from 0.001 to 1000000");
  CHECK(axes("seq=1..9223372036854775807") ==
        over +
            "seq: found '1..9223372036854775807', expected a range of numbers such as 1..8 or 100..3200/20");
  CHECK(axes("tp=1,tp=2") == over + "duplicate key 'tp'");
  CHECK(axes("tp=1,pp=1,cp=1") == over + "found three keys, expected one or two");
  CHECK(axes("tp=") == over + "tp: found nothing, expected a value");
  CHECK(axes("") == over + "found '', expected key=a..b such as inter_gbps=100..3200");
  CHECK(axes("inter_gbps=1..1000000/2000,pp=1,2") == over + "found 4000 points, expected at most 2000");
}

}  // namespace
}  // namespace foretrain
