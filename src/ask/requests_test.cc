// What is wrong with the smaller requests, and that they answer from contents alone.
#include <doctest/doctest.h>

#include "ask/cost.h"
#include "ask/fit.h"
#include "ask/import.h"
#include "ask/list.h"
#include "ask/show.h"
#include "ask/validate.h"

namespace foretrain {
namespace {

constexpr const char* kSamples =
    "operator,impl,pass,dims,us\n"
    "gelu,aten,fwd,tokens=1024 width=4096,12\n";

Sources table(const std::string& text) { return {"table.csv", false, {{"table.csv", text}}}; }

template <class Request>
Error error_of(Request request) {
  Session session(no_files());
  const auto answer = ask(session, std::move(request));
  REQUIRE(!answer);
  CHECK(answer.error().kind == ErrorKind::kInput);
  return answer.error();
}

// Sampled operators that are one kernel took 10.4 us of the host in the median, and a gelu is such.
TEST_CASE("cost: a GPU alone has the host of the machine that was sampled") {
  Session session(no_files());
  CostRequest request;
  request.words = {"gelu", "tokens=8192", "width=4096"};
  request.gpu = "h200-141gb-sxm";
  request.impl = "aten";
  request.pass = "fwd";
  const auto report = ask(session, request);
  REQUIRE(report);
  CHECK(report->rows.front().cost.host.value * 1e6 == doctest::Approx(10.4).epsilon(0.15));
}

TEST_CASE("cost: an operator or a table, and each word's field") {
  Session session(no_files());
  CostRequest request;
  request.words = {"linear", "m=128", "k=256", "n=512"};
  request.gpu = "h200-141gb-sxm";
  const auto report = ask(session, request);
  REQUIRE(report);
  CHECK_FALSE(report->rows.empty());

  const auto with = [&request](auto member, const auto& word) {
    CostRequest wrong = request;
    wrong.*member = word;
    return error_of(wrong).field;
  };
  CHECK(with(&CostRequest::words, std::vector<std::string>{}) == "words");
  CHECK(with(&CostRequest::words, std::vector<std::string>{"lineer", "m=1"}) == "words");
  CHECK(with(&CostRequest::words, std::vector<std::string>{"linear", "m=x"}) == "words");
  CHECK(with(&CostRequest::impl, "atenn") == "impl");
  CHECK(with(&CostRequest::pass, "forward") == "pass");
  CHECK(with(&CostRequest::dtype, "bf17") == "dtype");
  CHECK(with(&CostRequest::gpu, "") == "gpu");
  CHECK(with(&CostRequest::gpu, "h200") == "gpu");
  CHECK(with(&CostRequest::profile, "no-such") == "profile");
  CHECK(with(&CostRequest::profile, "a100-80gb-sxm") == "profile");  // not of this GPU
  CHECK(with(&CostRequest::profile, "/tmp") == "profile");

  CostRequest samples;
  samples.samples = table(kSamples);
  samples.gpu = "h200-141gb-sxm";
  CHECK(ask(session, samples)->rows.at(0).measured_us == 12);
  samples.pass = "fwd";
  CHECK(error_of(samples).field == "pass");
}

TEST_CASE("cost: a loop that was too short for its clock to settle is faster, and less sure") {
  Session session(no_files());
  CostRequest request;
  request.samples = table(
      "operator,impl,pass,dims,us,share,loop_s\n"
      "linear,aten,fwd,m=8192 k=4096 n=11008,1100,1,\n"
      "linear,aten,fwd,m=8192 k=4096 n=11008,1100,1,1.2\n"
      "linear,aten,fwd,m=8192 k=4096 n=11008,1000,1,0.035\n");
  request.gpu = "h200-141gb-sxm";
  const auto report = ask(session, request);
  REQUIRE(report);
  const CostRow &steady = report->rows.at(0), &settled = report->rows.at(1), &brief = report->rows.at(2);
  CHECK(settled.cost.gpu == steady.cost.gpu);
  CHECK(settled.cost.spread == steady.cost.spread);
  // 876 W for 700: 8 % more of the clock at a power that rises with about its fourth power, less what streams.
  CHECK(*brief.clock_mhz / *steady.clock_mhz == doctest::Approx(1.08).epsilon(0.02));
  CHECK(brief.cost.gpu < steady.cost.gpu);
  CHECK(brief.cost.spread > steady.cost.spread);
}

TEST_CASE("fit: what it needs, by field") {
  FitRequest request;
  CHECK(error_of(request).field == "samples");
  request.samples = {table(kSamples)};
  CHECK(error_of(request).field == "gpu");
  request.gpu = "h200-141gb-sxm";
  request.derive_from = "analytic";
  CHECK(error_of(request).field == "derive_from");
  request.derive_from = "/tmp";
  CHECK(error_of(request).field == "derive_from");

  FitClusterRequest cluster;
  CHECK(error_of(cluster).field == "samples");
  cluster.samples = table(kSamples);
  cluster.cluster = "perlmuter";
  CHECK(error_of(cluster).field == "cluster");
}

TEST_CASE("validate: words by field, and cells by place") {
  ValidateRequest request;
  CHECK(error_of(request).field == "tables");
  request.tables = {table("id\n1\n")};
  CHECK(error_of(request).at.file == "table.csv");
  request.against = "mean";
  CHECK(error_of(request).field == "against");
  request.against = "";
  request.by = "colour";
  CHECK(error_of(request).field == "by");
  request.by = "";
  request.profile = "no-such";
  CHECK(error_of(request).field == "profile");
}

TEST_CASE("import: words by field, and the log that lacks something names what can be given") {
  const Session session(no_files());
  ImportRequest request;
  CHECK(ask(session.catalog(), request).error().field == "format");
  request.format = "nccl";
  CHECK(ask(session.catalog(), request).error().field == "format");
  request.format = "published-samples";
  request.ranks = "8";
  CHECK(ask(session.catalog(), request).error().field == "collective");
  request.format = "nccl-tests";
  CHECK(ask(session.catalog(), request).error().field == "logs");
  request.logs = {{"a.log", "nothing"}};
  request.collective = "allreduce";
  CHECK(ask(session.catalog(), request).error().field == "collective");
  request.collective = "";
  for (const char* wrong : {"x", "0", "1", "-8", "8.5", "1000001"}) {
    request.ranks = wrong;
    CHECK(ask(session.catalog(), request).error().field == "ranks");
    CHECK(check(request).error().field == "ranks");
  }
  request.ranks = "";
  request.ranks_per_node = "8";  // alone where the figures tell the ranks
  CHECK(ask(session.catalog(), request).error().at.file == "a.log");
  request.ranks = "8";
  for (const char* wrong : {"x", "0", "3"}) {
    request.ranks_per_node = wrong;
    CHECK(ask(session.catalog(), request).error().field == "ranks_per_node");
  }
  request.ranks_per_node = "8";
  CHECK(ask(session.catalog(), request).error().at.file == "a.log");
}

TEST_CASE("list and show") {
  Session session(no_files());
  CHECK(ask(session, ListRequest{"models"})->entries.size() > 10);
  CHECK(ask(session, ListRequest{"profiles"})->entries.front().name == "analytic");
  CHECK(error_of(ListRequest{"modells"}).field == "kind");
  CHECK(ask(session, ShowRequest{"gpu", "h100-80gb-sxm"})->find("bf16") != std::string::npos);
  CHECK(error_of(ShowRequest{"modle", "gpt2"}).field == "kind");
  CHECK(error_of(ShowRequest{"model", ""}).field == "name");
  CHECK(error_of(ShowRequest{"model", "/etc/passwd"}).message ==
        "/etc/passwd: found a path, expected a name: no files are read here");
}

}  // namespace
}  // namespace foretrain
