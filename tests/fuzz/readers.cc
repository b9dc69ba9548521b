#include "readers.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/csv.h"
#include "base/gzip.h"
#include "base/json_node.h"
#include "base/toml_node.h"
#include "base/yaml.h"
#include "cost/profile.h"
#include "formats/foreign_model.h"
#include "formats/foreign_run.h"
#include "formats/launch.h"
#include "formats/tree_formats.h"
#include "job/parse_run.h"
#include "one_line.h"
#include "samples/collective_sample.h"
#include "samples/kineto_trace.h"
#include "samples/nccl_tests.h"
#include "samples/sample.h"
#include "samples/topo.h"
#include "samples/training_log.h"
#include "server/border.h"
#include "server/http_reader.h"
#include "spec/catalog.h"
#include "spec/model_text.h"
#include "spec/plan_text.h"
#include "validate/measured_row.h"
#include "wire/request_keys.h"

namespace foretrain {
namespace {

void expect(bool fact, const std::string& what) {
  if (fact) return;
  std::fprintf(stderr, "expected: %s\n", what.c_str());
  std::abort();
}

// Refused in one line, or read.
template <class T>
bool good(const Result<T>& result) {
  if (result) return true;
  const std::string fault = fault_of(result.error());
  expect(fault.empty(), fault);
  return false;
}

const Catalog& catalog() {
  static const Catalog built_in;
  return built_in;
}

void take(const ForeignRun& run) {
  if (const Node* model = run.run.find("model"); model != nullptr && model->is_map())
    good(parse_model(*model));
}

void take(const Result<ForeignRun>& run) {
  if (good(run)) take(*run);
}

void take(const Result<std::optional<ForeignRun>>& run) {
  if (good(run) && *run) take(**run);
}

void take_tree(const Result<Node>& node) {
  if (good(node)) take(read_tree(*node));
}

void hf_config(const std::string& bytes) {
  const auto model = read_foreign_model(bytes, "config.json");
  if (good(model) && *model) good(parse_model((*model)->map));
}

void script(const std::string& bytes) { take(read_script(bytes, "launch.sh")); }
void argument_block(const std::string& bytes) { take(read_argument_block(bytes, "run.log")); }
void any_run(const std::string& bytes) { take(read_foreign_run(bytes, "run")); }
void yaml_tree(const std::string& bytes) { take_tree(parse_yaml(bytes, "config.yaml")); }
void toml(const std::string& bytes) { take_tree(parse_toml(bytes, "config.toml")); }
void json_tree(const std::string& bytes) { take_tree(parse_json(bytes, "config.json")); }

void run_yaml(const std::string& bytes) {
  const auto node = parse_yaml(bytes, "run.yaml");
  if (good(node)) good(parse_run(&*node, {}, catalog()));
}

void plan_words(const std::string& bytes) {
  const auto plan = parse_plan(bytes);
  if (good(plan)) expect(parse_plan(to_text(*plan)) == *plan, "a plan reads back as it is written");
}

void training_log(const std::string& bytes) {
  const auto log = parse_training_log(bytes, "run.log");
  if (!good(log)) return;
  expect(log->steps > 0 || log->steady.seconds > 0, "a step");
  expect(std::isfinite(log->steady.seconds) && log->steady.seconds >= 0, "seconds");
  expect(std::isfinite(log->steady.spread) && log->steady.spread >= 0, "a spread");
}

void kineto(const std::string& bytes) {
  const auto trace = read_kineto(bytes, "trace.json");
  if (!good(trace)) return;
  expect(trace->kernels > 0 && std::isfinite(trace->kernel_us) && trace->kernel_us >= 0, "kernels and time");
  if (!trace->samples.empty())
    expect(parse_samples(to_csv(trace->samples), "again.csv").has_value(), "what is written reads back");
}

// A packed trace; mutations of bytes seldom leave a whole archive, so text is packed here.
void packed_kineto(const std::string& bytes) {
  good(read_kineto(bytes, "trace.json.gz"));
  kineto(gzip(bytes));
}

void nccl_log(const std::string& bytes) {
  const auto imported = parse_nccl_tests(bytes, "all_reduce.log", {});
  if (good(imported) && !imported->samples.empty())
    expect(parse_collective_samples(to_csv(imported->samples), "again.csv").has_value(),
           "what is written reads back");
}

void topo(const std::string& bytes) {
  const auto topology = parse_topo(bytes, "topo.txt");
  if (!good(topology)) return;
  const auto yaml = parse_yaml(topo_cluster(*topology, usual_gpu(*topology), 450, true).yaml, "made.yaml");
  expect(yaml.has_value() && catalog().cluster(*yaml).has_value(), "a cluster");
}

void measured_runs(const std::string& bytes) {
  const auto table = CsvTable::parse(bytes, "runs.csv");
  if (good(table)) good(measured_rows(*table));
}

void samples(const std::string& bytes) {
  const auto read = parse_samples(bytes, "samples.csv");
  if (good(read)) expect(parse_samples(to_csv(*read), "again.csv").has_value(), "what is written reads back");
}

void collective_samples(const std::string& bytes) {
  const auto read = parse_collective_samples(bytes, "collectives.csv");
  if (good(read))
    expect(parse_collective_samples(to_csv(*read), "again.csv").has_value(), "what is written reads back");
}

void profile(const std::string& bytes) { good(ModelFile::open(bytes, "models.bin")); }

// Bytes of a connection, in two pieces wherever they are cut: the same requests come out of them.
void http(const std::string& bytes) {
  constexpr std::size_t kMostBody = 1 << 16;
  const auto requests = [&](std::size_t cut) {
    HttpReader reader;
    std::vector<std::string> out;
    for (const std::string& piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
      reader.take(piece);
      while (reader.advance([](const HttpRequest&) {
        return BodyLimit{kMostBody, kMostBody};
      }) == HttpReader::State::kDone) {
        const HttpRequest request = reader.next();
        expect(request.path.starts_with('/') && request.body.size() <= kMostBody,
               "a path and a body that is bounded");
        check_border(request, Hosts("127.0.0.1"));
        out.push_back(request.method + " " + request.path + "\n" + request.body);
      }
    }
    if (reader.state() == HttpReader::State::kRefused) out.push_back(std::to_string(reader.refused().status));
    return out;
  };
  const auto whole = requests(bytes.size());
  expect(requests(bytes.size() / 2) == whole, "the same requests, however bytes arrive");
}

// A request of every kind of key.
void question(const std::string& bytes) {
  HeldFiles files;
  RequestKeys keys(files);
  std::string word, plan, spec;
  std::vector<std::string> words;
  bool flag = false, view = false;
  std::optional<Source> content, inlined;
  std::vector<Source> contents;
  keys.word("word", word, "");
  keys.words("words", words, "");
  keys.flag("flag", flag, "");
  keys.plan("plan", plan, "");
  keys.spec("spec", spec, "");
  keys.content("content", content, "");
  keys.content("run", inlined, "", true);
  keys.contents("contents", contents, "");
  keys.flags("views", {{"timeline", &view}}, "");
  if (!good(keys.read(bytes, 1 << 20))) return;
  if (inlined && inlined->name == "request")
    expect(parse_json(inlined->text, "run").has_value(), "an object in a request is JSON as it stands");
}

constexpr Reader kReaders[] = {
    {"hf_config", hf_config},
    {"script", script},
    {"argument_block", argument_block},
    {"any_run", any_run},
    {"yaml_tree", yaml_tree},
    {"toml", toml},
    {"json_tree", json_tree},
    {"run_yaml", run_yaml},
    {"plan_words", plan_words},
    {"training_log", training_log},
    {"kineto", kineto},
    {"packed_kineto", packed_kineto},
    {"nccl_log", nccl_log},
    {"topo", topo},
    {"measured_runs", measured_runs},
    {"samples", samples},
    {"collective_samples", collective_samples},
    {"profile", profile},
    {"http", http},
    {"question", question},
};

}  // namespace

std::span<const Reader> readers() { return kReaders; }

const Reader* find_reader(std::string_view name) {
  for (const Reader& reader : kReaders)
    if (reader.name == name) return &reader;
  return nullptr;
}

}  // namespace foretrain
