#include "samples/sample.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/file.h"
#include "samples/sample_table.h"

using namespace foretrain;

namespace {

constexpr const char* kHeader =
    "operator,impl,pass,dtype,dims,us,spread,host_us,launches,clock,power,limit,throttle,share,loop_s,"
    "group\n";

std::string error_of(const std::string& text) {
  const auto samples = parse_samples(text, "s.csv");
  return samples ? "" : samples.error().text();
}

std::string row_error(const std::string& us) {
  return error_of("operator,impl,pass,dims,us\ngelu,aten,fwd,tokens=1 width=2," + us + "\n");
}

struct TemporaryFolder {
  std::string path = "/tmp/foretrain-samples-XXXXXX";
  TemporaryFolder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("a full row") {
  const auto samples =
      parse_samples(std::string(kHeader) +
                        "linear,aten,wgrad,fp16,m=8 k=16 n=32,12.5,0.01,9.25,2,1410,398.5,400,power_cap,"
                        "0.7,1.25,hidden=16\n",
                    "s.csv");
  REQUIRE(samples);
  REQUIRE(samples->size() == 1);
  const Sample& s = samples->front();
  CHECK(s.op.kind == OperatorKind::kLinear);
  CHECK(s.op.pass == PassKind::kWeight);
  CHECK(s.op.dtype == Dtype::kFp16);
  CHECK(s.op.launches == 2);
  CHECK(s.us == 12.5);
  CHECK(s.spread == 0.01);
  CHECK(s.host_us == 9.25);
  CHECK(s.clock_mhz == 1410);
  CHECK(s.power_w == 398.5);
  CHECK(s.limit_w == 400);
  CHECK(s.throttle == "power_cap");
  CHECK(s.product_share == 0.7);
  CHECK(s.loop_s == 1.25);
  CHECK(parse_samples(to_csv(*samples), "s.csv") == *samples);
  CHECK(s.group == "hidden=16");
  CHECK(s.source == "s.csv");
  CHECK(operator_label(s.op) == "linear aten wgrad fp16");
}

TEST_CASE("columns in any order, five are enough, and what is written reads back") {
  const auto samples = parse_samples(
      "us,dims,pass,impl,operator\n33.174,tokens=9728 width=2816,fwd,eager,gelu_tanh\n"
      "0.1,parameters=5 tensors=1,step,fused-bf16,adamw\n",
      "s.csv");
  REQUIRE(samples);
  CHECK(samples->at(0).op.dtype == Dtype::kBf16);
  CHECK(samples->at(0).host_us == std::nullopt);
  CHECK(parse_samples(to_csv(*samples), "s.csv") == *samples);
  CHECK(to_csv(*samples) == std::string(kHeader) +
                                "gelu,tanh,fwd,bf16,tokens=9728 width=2816,33.174,,,,,,,,,,\n"
                                "adamw,fused-bf16,step,bf16,parameters=5 tensors=1,0.1,,,,,,,,,,\n");
}

TEST_CASE("a wrong header is refused where it is wrong") {
  CHECK(error_of("operator,impl,pass,dims,time\n") ==
        "s.csv:1:25: error: unknown column 'time'; expected one of operator, impl, pass, dtype, dims, us, "
        "spread, host_us, launches, clock, power, limit, ...");
  CHECK(error_of("operator,impl,pass,dims\nx,y,z,w\n") ==
        "s.csv:1:1: error: found no column 'us', expected operator, impl, pass, dims and us");
  CHECK(
      error_of("operator,impl,pass,dims,us,us\n").starts_with("s.csv:1:28: error: found column 'us' twice"));
  CHECK(error_of("") == "s.csv:1:1: error: found nothing, expected a header line");
  CHECK(error_of(kHeader) == "s.csv:1:1: error: found a header and no rows, expected samples");
}

TEST_CASE("a time is a number above zero") {
  for (const char* bad : {"-3", "0", "nan", "NaN", "inf", "1e13", "12us"}) {
    CAPTURE(bad);
    CHECK(row_error(bad) == std::string("s.csv:2:32: error: us: found '") + bad +
                                "', expected a number above 0, at most 1e+12");
  }
  CHECK(row_error("") == "s.csv:2:32: error: us: found nothing, expected a time in microseconds");
  CHECK(row_error("1e3") == "");
}

TEST_CASE("a truncated row and wrong cells are refused with their place") {
  CHECK(error_of("operator,impl,pass,dims,us\ngelu,aten,fwd,tokens=1 width=2,5\ngelu,aten,fw")
            .starts_with("s.csv:3:1: error: found 3 cells, expected 5 cells"));
  CHECK(error_of("operator,impl,pass,dims,us\ngelu,aten,fwd,tokens=1 width=x,5\n") ==
        "s.csv:2:24: error: found width=x, expected a whole number from 1 to 10^15");
  CHECK(error_of("operator,impl,pass,dims,us\ngelu,aten,forth,tokens=1 width=2,5\n")
            .starts_with("s.csv:2:11: error: unknown word 'forth'"));
  CHECK(error_of("operator,impl,pass,dims,us,launches\ngelu,aten,fwd,tokens=1 width=2,5,0\n") ==
        "s.csv:2:34: error: launches: found '0', expected a whole number from 1 to 1000000");
  CHECK(error_of("operator,impl,pass,dims,us,power\ngelu,aten,fwd,tokens=1 width=2,5,-1\n") ==
        "s.csv:2:34: error: power: found '-1', expected a number from 0, at most 100000");
  CHECK(error_of("operator,impl,pass,dims,us,clock\ngelu,aten,fwd,tokens=1 width=2,5,1e-300\n") ==
        "s.csv:2:34: error: clock: found '1e-300', expected a number from 1, at most 100000");
}

TEST_CASE("more rows than can be held are refused before they are taken apart") {
  std::string text = "operator,impl,pass,dims,us\n";
  text.append(kMaxSamples + 1, '\n');
  CHECK(error_of(text) == "s.csv:5000002:1: error: found 5,000,001 rows, expected at most 5,000,000");
}

TEST_CASE("a folder is read in order of name") {
  const TemporaryFolder folder;
  const std::string header = "operator,impl,pass,dims,us\n";
  CHECK(read_samples(disk(), folder.path).error().message ==
        "found no .csv file, expected tables of samples");
  REQUIRE(write_file(folder.path + "/b.csv", header + "gelu,aten,fwd,tokens=1 width=2,2\n"));
  REQUIRE(write_file(folder.path + "/a.csv", header + "gelu,aten,fwd,tokens=1 width=2,1\n"));
  REQUIRE(write_file(folder.path + "/notes.txt", "not samples"));
  const auto samples = read_samples(disk(), folder.path);
  REQUIRE(samples);
  REQUIRE(samples->size() == 2);
  CHECK(samples->at(0).us == 1);
  CHECK(samples->at(1).source == folder.path + "/b.csv");
  CHECK(!read_samples(disk(), folder.path + "/missing.csv"));
}
