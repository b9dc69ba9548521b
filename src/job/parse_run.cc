#include "job/parse_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/field_mark.h"
#include "base/text.h"
#include "job/fine_tuning.h"
#include "job/run_check.h"
#include "spec/choice.h"
#include "spec/documents_text.h"
#include "spec/plan_text.h"
#include "spec/read_fields.h"

namespace foretrain {

namespace {

constexpr std::int64_t kMaxGpus = 10'000'000;
constexpr std::int64_t kMaxSeq = 100'000'000;
constexpr std::int64_t kMaxBatch = 1'000'000'000;
constexpr std::int64_t kMaxPauseSteps = 1'000'000'000;
constexpr double kMaxPauseSeconds = 1e7;

tl::unexpected<Error> not_given(const Node* node, std::string_view key) {
  Error error{
      fmt::format("no {}: give {} or '{}:' in the run file", key, marked(key), key), {}, std::string(key)};
  if (node != nullptr) error.at = node->at;
  return tl::unexpected(std::move(error));
}

const Node* field(const Node* node, std::string_view key) {
  return node != nullptr ? node->find(key) : nullptr;
}

// A count as people write it (128k); without a field 0.
Result<std::int64_t> stated_count(const Node* node, std::string_view key, std::int64_t most) {
  const Node* value = field(node, key);
  if (value == nullptr) return 0;
  Node number = *value;
  if (const auto stated = value->is_scalar() ? parse_count(value->scalar) : std::nullopt)
    number.scalar = fmt::format("{}", *stated);
  auto count = number.integer(1, most);
  if (!count) return named(key, std::move(count).error());
  return count;
}

Result<Documents> documents_of(const Node* node, const RunOptions& options) {
  if (!options.documents.empty()) return of_field("documents", parse_documents(options.documents));
  const Node* stated = field(node, "documents");
  if (stated == nullptr) return Documents();
  auto documents = parse_documents(*stated);
  if (!documents) return named("documents", std::move(documents).error());
  return documents;
}

// The option where it is given, else the file's field, else 0.
Result<std::int64_t> count_of(const Node* node, std::string_view key, std::int64_t given, std::int64_t most) {
  if (given != 0) {
    Node word;
    word.kind = Node::Kind::kScalar;
    word.scalar = fmt::format("{}", given);
    return of_field(key, word.integer(1, most));
  }
  return stated_count(node, key, most);
}

Result<void> read_specs(const Node* node, const RunOptions& options, const Catalog& catalog, Run& run) {
  const Node* model = field(node, "model");
  const Node* cluster = field(node, "cluster");
  const Node* stack = field(node, "stack");
  if (!options.model.empty()) {
    TRY_ASSIGN(run.model, of_field("model", catalog.model(options.model)));
  } else {
    if (model == nullptr) return not_given(node, "model");
    TRY_ASSIGN(run.model, catalog.model(*model));
  }
  if (!options.cluster.empty()) {
    TRY_ASSIGN(run.cluster, of_field("cluster", catalog.cluster(options.cluster)));
  } else {
    if (cluster == nullptr) return not_given(node, "cluster");
    TRY_ASSIGN(run.cluster, catalog.cluster(*cluster));
  }
  if (!options.stack.empty()) {
    TRY_ASSIGN(run.stack, of_field("stack", catalog.stack(options.stack)));
  } else if (stack != nullptr) {
    TRY_ASSIGN(run.stack, catalog.stack(*stack));
  } else {
    TRY_ASSIGN(run.stack, catalog.stack("generic"));
    run.assumed.push_back("stack: generic (none stated)");
  }
  for (const std::string& words : run.model.assumed) run.assumed.push_back("model: " + words);
  return {};
}

Result<void> read_seq(const Node* node, const RunOptions& options, Run& run) {
  if (options.seq != 0) {
    TRY_ASSIGN(run.seq, count_of(node, "seq", options.seq, kMaxSeq));
  } else {
    TRY_ASSIGN(run.seq, stated_count(node, "seq", kMaxSeq));
  }
  if (run.seq != 0) return {};
  if (run.model.default_seq == 0) return not_given(node, "seq");
  run.seq = run.model.default_seq;
  run.assumed.push_back(fmt::format("seq: {} (the model's own)", run.seq));
  return {};
}

// In sequences, or in tokens, of which these are made.
Result<void> read_batch(const Node* node, const RunOptions& options, Run& run) {
  constexpr std::string_view kKey = "global_batch";
  const Node* stated =
      options.global_batch == 0 && options.global_batch_tokens == 0 ? field(node, kKey) : nullptr;
  if (options.global_batch_tokens != 0) {
    TRY_ASSIGN(run.global_batch, of_field(kKey, sequences_of(options.global_batch_tokens, run.seq)));
  } else if (const auto tokens =
                 stated != nullptr && stated->is_scalar() ? batch_tokens(stated->scalar) : std::nullopt) {
    auto sequences = sequences_of(*tokens, run.seq);
    if (!sequences) {
      sequences.error().at = stated->at;
      return named(kKey, std::move(sequences).error());
    }
    run.global_batch = *sequences;
  } else {
    TRY_ASSIGN(run.global_batch, count_of(node, kKey, options.global_batch, kMaxBatch));
  }
  return {};
}

Result<void> read_counts(const Node* node, const RunOptions& options, Run& run) {
  TRY_ASSIGN(run.gpus, count_of(node, "gpus", options.gpus, kMaxGpus));
  if (run.gpus == 0) return not_given(node, "gpus");
  TRY(read_seq(node, options, run));
  return read_batch(node, options, run);
}

// Fine-tuning is asked for without a batch: then each data rank has one micro-batch a step.
Result<void> settle_batch(const Node* node, Run& run) {
  if (run.global_batch != 0) return {};
  if (task_of(run) == TrainingTask::kPretrain) return not_given(node, "global_batch");
  const Plan& plan = run.plan;
  run.global_batch = std::max<std::int64_t>(1, run.gpus / (plan.tp * plan.pp * plan.cp)) * plan.micro_batch;
  run.assumed.push_back(
      fmt::format("global_batch: {} (a micro-batch of each data rank a step)", run.global_batch));
  return {};
}

Result<void> read_task(const Node* node, const RunOptions& options, Run& run) {
  if (!options.task.empty()) {
    TRY_ASSIGN(run.task, of_field("task", parse_choice<TrainingTask>(options.task, kTaskNames, {})));
  } else if (const Node* task = field(node, "task")) {
    TRY_ASSIGN(run.task, parse_choice<TrainingTask>(*task, kTaskNames));
  }
  return {};
}

// A word only: what it leads to is the cost model's business.
Result<std::string> profile_of(const Node* node, const RunOptions& options) {
  const Node* profile = field(node, "profile");
  if (!options.profile.empty() || profile == nullptr) return options.profile;
  return profile->text();
}

// The value of the file that a rule's words are about: of "global_batch 7 is not a multiple of dp*micro_batch" the count
// that they begin with, else the first key of the plan that they name and the file states, else the plan.
const Node* named_in(std::string_view message, const Node& file, const Node* plan) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  bool is_first = true;
  for (std::size_t at = 0; at < message.size(); is_first = false) {
    const auto* end = std::find_if_not(message.begin() + at, message.end(), is_letter);
    const std::string_view word(message.data() + at, static_cast<std::size_t>(end - message.begin()) - at);
    const bool is_count = word == "gpus" || word == "global_batch" || word == "seq";
    if (is_first && is_count && file.find(word) != nullptr) return file.find(word);
    if (plan != nullptr && plan->is_map() && !word.empty())
      if (const Node* stated = plan->find(word)) return stated;
    const auto* next = std::find_if(end, message.end(), is_letter);
    at = static_cast<std::size_t>(next - message.begin());
  }
  return plan;
}

// What breaks a rule of check_run is the plan, or a count that does not go with it: the field where it
// states the plan, the file's own value where the file states all of them; else nothing in the file is at fault.
tl::unexpected<Error> blamed(Error error, const Node* file, const RunOptions& options) {
  if (!options.plan.empty()) return in_field("plan", std::move(error));
  const bool file_alone = options.gpus == 0 && options.global_batch == 0 && options.seq == 0;
  const Node* plan = field(file, "plan");
  if (file_alone && file != nullptr) {
    const Node* named = named_in(error.message, *file, plan);
    if (named != nullptr) error.at = named->at;
  }
  return tl::unexpected<Error>(std::move(error));
}

// All that stands beside model, cluster and stack.
Result<void> read_rest(const Node* node, const RunOptions& options, Run& run) {
  TRY(read_counts(node, options, run));
  TRY_ASSIGN(run.documents, documents_of(node, options));
  TRY_ASSIGN(run.profile, profile_of(node, options));
  if (node != nullptr) {
    TRY_ASSIGN(run.pauses, parse_pauses(*node));
  }
  const Node* plan = field(node, "plan");
  run.plan.lora = kRankNotStated;
  if (plan != nullptr) {
    TRY_ASSIGN(run.plan, parse_plan(*plan, run.plan));
  }
  TRY_ASSIGN(run.plan, of_field("plan", parse_plan(options.plan, run.plan)));
  TRY_ASSIGN(run.plan, parse_plan(options.plan_over, run.plan));
  TRY(read_task(node, options, run));
  if (auto applied = apply_task(run.task, run.plan, run.assumed); !applied) {
    if (!options.task.empty()) return in_field("task", std::move(applied).error());
    return blamed(std::move(applied).error(), node, options);
  }
  return settle_batch(node, run);
}

}  // namespace

std::optional<std::int64_t> batch_tokens(std::string_view word) {
  constexpr std::string_view kUnit = "tok";
  if (!word.ends_with(kUnit)) return std::nullopt;
  const auto count = parse_count(word.substr(0, word.size() - kUnit.size()));
  return count && *count > 0 ? count : std::nullopt;
}

Result<std::int64_t> sequences_of(std::int64_t tokens, std::int64_t seq) {
  if (tokens % seq == 0 && tokens / seq <= kMaxBatch) return tokens / seq;
  const std::int64_t below = tokens / seq;
  if (below >= kMaxBatch)
    return fail(fmt::format("found {} tokens, expected at most {} sequences of {}", tokens, kMaxBatch, seq));
  return fail(fmt::format("found {} tokens, expected a multiple of seq {}, such as {} ({} sequences)", tokens,
                          seq, (below + 1) * seq, below + 1));
}

Result<Run> parse_run(const Node* node, const RunOptions& options, const Catalog& catalog) {
  TRY_ASSIGN(Run specs, parse_specs(node, options, catalog));
  return parse_run(node, options, std::move(specs));
}

Result<void> check_run_keys(const Node& node) {
  return only_fields(node, "a run",
                     {"model", "cluster", "gpus", "seq", "global_batch", "documents", "stack", "profile",
                      "task", "pauses", "plan"});
}

Result<std::vector<Pause>> parse_pauses(const Node& node) {
  std::vector<Pause> pauses;
  if (field(&node, "pauses") == nullptr) return pauses;
  constexpr std::array<std::string_view, 2> kKinds = {"checkpoint", "evaluation"};
  TRY_ASSIGN(const Node* map, optional_section(node, "pauses", kKinds));
  for (const Node::Entry& entry : map->entries) {
    TRY(only_fields(entry.value, "a pause", {"every", "seconds"}));
    Pause pause;
    pause.what = entry.key;
    double seconds = 0;
    TRY(read_required(entry.value, "every", pause.every, WholeNumber{1, kMaxPauseSteps}));
    TRY(read_required(entry.value, "seconds", seconds, RealNumber{0.0, kMaxPauseSeconds}));
    pause.length = Seconds(seconds);
    pauses.push_back(std::move(pause));
  }
  return pauses;
}

Result<Run> parse_specs(const Node* node, const RunOptions& options, const Catalog& catalog) {
  if (node != nullptr) TRY(check_run_keys(*node));
  Run run;
  TRY(read_specs(node, options, catalog, run));
  return run;
}

Result<Run> parse_run(const Node* node, const RunOptions& options, Run run) {
  TRY(read_rest(node, options, run));
  if (auto checked = check_run(run); !checked) return blamed(std::move(checked).error(), node, options);
  return run;
}

Result<Run> read_run(const Node* node, const RunOptions& options, const Catalog& catalog) {
  TRY_ASSIGN(Run run, parse_specs(node, options, catalog));
  TRY(read_rest(node, options, run));
  return run;
}

}  // namespace foretrain
