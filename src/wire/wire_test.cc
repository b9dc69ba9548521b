// Questions in JSON: what they may hold, what is wrong with them, and that they answer from contents alone.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "ask/calibrate.h"
#include "ask/predict.h"
#include "base/json.h"
#include "report/predict_report.h"
#include "validate/example_table.h"
#include "wire/base64.h"
#include "wire/json_session.h"

namespace foretrain {
namespace {

constexpr const char* kQuestion =
    R"({"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64})";

std::string answer_of(std::string_view verb, std::string_view request) {
  JsonSession session;
  const auto answer = session.answer(verb, request);
  REQUIRE_MESSAGE(answer, std::string(request) << ": " << (answer ? "" : error_json(answer.error())));
  return *answer;
}

Error error_of(std::string_view verb, std::string_view request) {
  JsonSession session;
  const auto answer = session.answer(verb, request);
  REQUIRE_MESSAGE(!answer, std::string(request));
  return answer.error();
}

TEST_CASE("base64: the examples of RFC 4648, and what is none") {
  const std::pair<const char*, const char*> examples[] = {
      {"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9vYg==", "foob"}, {"Zm9vYmFy", "foobar"}};
  for (const auto& [coded, plain] : examples) CHECK(from_base64(coded) == plain);
  CHECK(from_base64("//79AA==") == std::string("\xff\xfe\xfd\0", 4));
  for (const char* wrong : {"Z", "Zg=", "Z===", "Zm9v!", "Zm 9", "=Zg="}) CHECK_FALSE(from_base64(wrong));
}

TEST_CASE("predict: the bytes of the report, numbers and words alike, a null as if it were not there") {
  Session session(no_files());
  PredictRequest request;
  request.model = "gpt2-xl";
  request.cluster = "dgx-a100";
  request.gpus = "8";
  request.global_batch = "64";
  request.path = true;
  const auto expected = ask(session, request);
  REQUIRE(expected);
  const PredictedRun& one = expected->runs.front();
  const std::string text = predict_json(one.run, one.prediction, nullptr, one.view ? &*one.view : nullptr);
  CHECK(answer_of("predict", kQuestion) == text);
  CHECK(answer_of("predict", R"({"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": "8", "global_batch": "64",
                                  "plan": null, "stack": null})") == text);
}

TEST_CASE("a run is text, an object, or an upload, and a plan is a word or an object") {
  const std::string text = answer_of("predict", kQuestion);
  CHECK(answer_of("predict",
                  R"({"run": "model: gpt2-xl\ncluster: dgx-a100\ngpus: 8\nglobal_batch: 64\n"})") == text);
  CHECK(answer_of("predict", R"({"run":
      {"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64}})") == text);
  CHECK(answer_of("predict",
                  R"({"gpus": 8, "run": {"name": "a.yaml", "text": "model: gpt2-xl\ncluster: dgx-a100\n"},
                                 "global_batch": 64})") == text);
  CHECK(answer_of("predict", R"({"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64,
                                 "plan": {"zero": 1, "recompute": "full"}})") ==
        answer_of("predict", R"({"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64,
                                 "plan": "zero=1,recompute=full"})"));
}

TEST_CASE("a model is a name, an object, or the text of its file: all are the same model") {
  const char* with = R"({{"model": {}, "cluster": "dgx-a100", "gpus": 8, "global_batch": 64, "seq": 1024}})";
  const char* object =
      R"({"hidden": 1600, "layers": 48, "heads": 25, "ffn": 6400, "mlp": "gelu", "norm": "layernorm", "positions": "learned", "max_positions": 1024, "vocab": 50304, "tied": true, "biases": true, "name": "mine"})";
  const auto asked = [with](const std::string& model) {
    return answer_of("predict", fmt::format(fmt::runtime(with), model));
  };
  const std::string inlined = asked(object);
  CHECK(inlined.find(R"("mine")") != std::string::npos);
  CHECK(asked(json_text(object)) == inlined);
  CHECK(asked(fmt::format(R"({{"name": "x/tiny.json", "text": {}}})", json_text(object))) == inlined);
}

TEST_CASE("two contents of one name are two files") {
  const char* model =
      R"({"name": "mine.json", "text": "{\"hidden\": 64, \"layers\": 2, \"heads\": 2, \"ffn\": 256, \"mlp\": \"gelu\", \"norm\": \"layernorm\", \"positions\": \"rope\", \"vocab\": 512, \"tied\": true, \"biases\": true}"})";
  const std::string request = fmt::format(
      R"({{"model": {}, "cluster": {{"name": "mine.json", "text": "{{\"gpuu\": 1}}"}}, "gpus": 8, "global_batch": 64, "seq": 64}})",
      model);
  const Error error = error_of("predict", request);
  CHECK_MESSAGE(error.at.file == "cluster-mine.json", error.message);  // not the model's text
}

TEST_CASE("diagnose takes no more of the machine than it is given") {
  JsonSession session;
  const auto asked = session.answer("diagnose", R"({"measured": "x", "time": "31s"})", {.most_seconds = 30});
  REQUIRE(!asked);
  CHECK(asked.error().field == "time");
  CHECK(asked.error().message == "found '31s', expected at most 30s");
}

TEST_CASE("tables have no more rows than are given, and nobody scores them for who has left") {
  const auto table = [](int rows) {
    std::vector<Cells> cells;
    for (int i = 0; i < rows; ++i) cells.push_back({{"id", fmt::format("row {}", i)}});
    return fmt::format(R"({{"tables": [{}], "profile": "analytic"}})", json_text(example_table(cells)));
  };
  JsonSession session;
  const auto two = session.answer("validate", table(2), {.most_rows = 2});
  REQUIRE_MESSAGE(two, (two ? "" : error_json(two.error())));
  const auto three = session.answer("validate", table(3), {.most_rows = 2});
  REQUIRE(!three);
  CHECK(three.error().field == "tables");
  CHECK(three.error().message == "found 3 rows, expected at most 2");
  const std::string check = R"({"check": true, "tables")" + table(3).substr(table(3).find(':'));
  const auto checked =
      session.answer("validate", check.substr(0, check.rfind(", \"profile\"")) + "}", {.most_rows = 2});
  REQUIRE(!checked);
  CHECK(checked.error().field == "tables");
  const std::atomic<bool> left = true;
  const auto stopped = session.answer("validate", table(2), {.stop = &left});
  REQUIRE(!stopped);
  CHECK(stopped.error().message == "nobody waits for it any more");
}

TEST_CASE("what a request brought along is gone with it") {
  JsonSession session;
  const char* inlined =
      R"({"model": {"hidden": 64, "layers": 2, "heads": 2, "ffn": 256, "mlp": "gelu", "norm": "layernorm", "positions": "rope", "vocab": 512, "tied": true, "biases": true},
      "cluster": "dgx-a100", "gpus": 8, "global_batch": 64, "seq": 64})";
  REQUIRE(session.answer("predict", inlined));
  const auto after = session.answer(
      "predict",
      R"({"model": "model.json", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64, "seq": 64})");
  REQUIRE(!after);
  CHECK(after.error().field == "model");
}

TEST_CASE("no word of a request opens a file") {
  for (const char* word :
       {"/etc/passwd", "/etc/hostname.yaml", "../presets/models/gpt2.yaml", "file:///etc/passwd", "."})
    for (const char* key : {"model", "cluster", "stack", "profile"}) {
      std::string request(kQuestion);
      request.insert(1, fmt::format("\"{}\": \"{}\", ", key, word));
      const std::string given = fmt::format("\"{}\": \"", key);
      // The question's own model and cluster give way.
      if (const std::size_t second = request.find(given, 5); second != std::string::npos && second > 1)
        request.erase(second, request.find(',', second) - second + 2);
      const Error error = error_of("predict", request);
      CHECK(error.kind == ErrorKind::kInput);
      CHECK_MESSAGE(error.message.find("nknown") != std::string::npos, error.message);
      CHECK(error.message.find("root:") == std::string::npos);
    }
}

TEST_CASE("wrong keys and kinds of values name key and place") {
  const Error unknown = error_of("predict", "{\n  \"modle\": \"gpt2-xl\"}");
  CHECK(unknown.message == "unknown key 'modle'; did you mean 'model'?");
  CHECK(unknown.at.line == 2);
  CHECK(error_of("predict", R"({"gpus": {"a": 1}})").field == "gpus");
  CHECK(error_of("predict", R"({"run": ["a"]})").field == "run");
  CHECK(error_of("compare", R"({"runs": []})").field == "runs");
  CHECK(error_of("predict", R"({"views": {"timelin": true}})").message ==
        "unknown key 'timelin'; did you mean 'timeline'?");
  CHECK(error_of("predict", "[1]").message == "found a list, expected an object");
  CHECK(error_of("predict", "null").message == "found null, expected an object");
  CHECK(error_of("import", R"({"format": "log", "logs": [{"base64": "%"}]})").field == "logs");
  CHECK(error_of("predikt", "{}").message == "unknown verb 'predikt'; did you mean 'predict'?");
}

TEST_CASE("errors as JSON: the message in the request's own words") {
  const Error error = error_of("predict", R"({"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": "x"})");
  const std::string text = error_json(error);
  CHECK(text.find(R"("field": "gpus")") != std::string::npos);
  CHECK(text.find(R"("message": "gpus: found 'x')") != std::string::npos);
  CHECK(text.find(R"("kind": "input")") != std::string::npos);
}

TEST_CASE("places in a run that is an object are those of the request") {
  const Error error =
      error_of("predict", "{\"run\":\n   {\"model\": \"gpt2-xl\", \"cluster\": \"nowhere\"}}");
  CHECK(error.at.file == "request");
  CHECK(error.at.line == 2);
  CHECK(error.at.column == 36);
}

// What a step of kQuestion's run that takes four seconds teaches.
std::string taught() {
  Session session(no_files());
  CalibrateRequest lesson;
  lesson.name = "mine";
  lesson.measured = "4";
  lesson.run.model = "gpt2-xl";
  lesson.run.cluster = "dgx-a100";
  lesson.run.gpus = "8";
  lesson.run.global_batch = "64";
  auto answer = ask(session, std::move(lesson));
  REQUIRE(answer);
  return answer->files.front().content;
}

TEST_CASE("a calibration comes along as its file's text: predictions, comparisons and searches stand on it") {
  const std::string text = json_text(taught());
  const auto with = [](std::string_view more) {
    return std::string(kQuestion, 1) + std::string(more) + (kQuestion + 1);
  };
  const std::string plain = answer_of("predict", kQuestion);
  CHECK(plain.find("\"calibration\"") == std::string::npos);
  const std::string stands = "\"calibration\": {\n    \"name\": \"mine\"";
  const std::string answer = answer_of("predict", with(fmt::format("\"calibration\": {}, ", text)));
  CHECK(answer.find(stands) != std::string::npos);
  CHECK(answer ==
        answer_of("predict", with(fmt::format(R"("calibration": {{"name": "c", "text": {}}}, )", text))));
  CHECK(answer_of("compare", fmt::format(R"({{"runs": [{0}, {0}], "calibration": {1}}})", kQuestion, text))
            .find("\"name\": \"mine\"") != std::string::npos);

  // A search's own file is gone when it is answered.
  JsonSession session;
  auto question = session.prepare_search(
      with(fmt::format(R"("set": ["pp=1", "tp=1", "zero=1"], "threads": 1, "calibration": {}, )", text)));
  REQUIRE(question);
  const auto found = session.answer(*question);
  REQUIRE(found);
  CHECK(found->find("\"name\": \"mine\"") != std::string::npos);
  // So is a model's.
  auto own = session.prepare_search(fmt::format(
      R"({{"model": {{"name": "tiny", "text": {}}}, "cluster": "dgx-a100", "gpus": 8, "global_batch": 64, "seq": 512,
          "set": ["pp=1", "tp=1", "zero=1"], "threads": 1, "calibration": {}}})",
      json_text("hidden: 64\nlayers: 2\nheads: 2\nffn: 256\nmlp: gelu\nnorm: layernorm\npositions: rope\n"
                "vocab: 512\ntied: true\nbiases: true\n"),
      text));
  REQUIRE_MESSAGE(own, (own ? "" : error_json(own.error())));
  const auto of_own = session.answer(*own);
  REQUIRE_MESSAGE(of_own, (of_own ? "" : error_json(of_own.error())));
  CHECK(of_own->find("\"name\": \"mine\"") != std::string::npos);

  // Ranges and rows do too, and a model whose file is called like it stays what it is.
  CHECK(answer_of("over", with(fmt::format("\"over\": \"tp=1,2\", \"calibration\": {}, ", text)))
            .find("calibration mine") != std::string::npos);
  const std::string rows = example_table({{{"cluster", "dgx-a100"}}});
  CHECK(answer_of("validate", fmt::format(R"({{"tables": [{}], "calibration": {}}})", json_text(rows), text))
            .find("\"name\": \"mine\"") != std::string::npos);
  const std::string named = fmt::format(
      R"({{"model": {{"name": "calibration.yaml", "text": {}}}, "cluster": "dgx-a100", "gpus": 8, "global_batch": 64,
          "seq": 512, "calibration": {}}})",
      json_text("hidden: 64\nlayers: 2\nheads: 2\nffn: 256\nmlp: gelu\nnorm: layernorm\npositions: rope\n"
                "vocab: 512\ntied: true\nbiases: true\n"),
      text);
  CHECK(answer_of("predict", named).find(stands) != std::string::npos);

  CHECK(error_of("predict", with(R"("calibration": "mine", )")).field == "calibration");
  CHECK(error_of("predict", with(R"("calibration": "factors:\n", )")).at.file == "calibration.yaml");
}

TEST_CASE("timeline: an entry of each column for each event, beside the same answer") {
  std::string request(kQuestion);
  request.insert(1, R"("views": {"timeline": true}, )");
  const std::string both = answer_of("predict", request);
  CHECK(both.find(answer_of("predict", kQuestion)) != std::string::npos);
  CHECK(both.find("\"timeline\": {\"step_ns\":") != std::string::npos);
}

TEST_CASE("search: prepared, watched, answered") {
  JsonSession session;
  auto question = session.prepare_search(
      R"({"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64, "set": ["pp=1"], "threads": 1})");
  REQUIRE(question);
  std::uint64_t all = 0;
  question->prepared().options.progress = [&all](const SearchProgress& now) { all = now.all; };
  const auto answer = session.answer(*question);
  REQUIRE(answer);
  CHECK(all > 0);
  CHECK(answer->find("\"best\"") != std::string::npos);
}

TEST_CASE("search: stopped before it began, it tells that it was") {
  JsonSession session;
  auto question = session.prepare_search(
      R"({"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 64, "global_batch": 512, "threads": 1})");
  REQUIRE(question);
  const std::atomic<bool> stop = true;
  question->prepared().options.stop = &stop;
  const auto answer = session.answer(*question);
  REQUIRE(answer);
  CHECK(answer->find("\"interrupted\": true") != std::string::npos);
}

TEST_CASE("a folder of presets is read once, before any request") {
  HeldFiles disk;
  disk.hold("mine/models/tiny.yaml",
            "hidden: 64\nlayers: 2\nheads: 2\nffn: 256\nmlp: gelu\nnorm: layernorm\npositions: "
            "rope\nvocab: 512\ntied: true\nbiases: true\n");
  disk.hold("mine/profiles/p/profile.yaml", "x");
  const auto held = folder_held(disk, "mine");
  REQUIRE(held);
  JsonSession session(*held, "mine");
  const auto answer = session.answer("list", R"({"kind": "models"})");
  REQUIRE(answer);
  CHECK(answer->find("\"tiny\"") != std::string::npos);
  CHECK(held->is_folder("mine/profiles/p"));
  CHECK_FALSE(held->is_folder("mine/prof"));
}

TEST_CASE("every verb declares keys of one name each, with a line on each") {
  for (const Verb& verb : verbs()) {
    HeldFiles files;
    RequestKeys keys(files);
    const auto request = verb.make();
    request->declare(keys);
    std::vector<std::string> names;
    for (const RequestKeys::Key& key : keys.all()) {
      CHECK(std::string_view(key.help).size() > 5);
      names.emplace_back(key.name);
    }
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
    CHECK_FALSE(names.empty());
  }
}

}  // namespace
}  // namespace foretrain
