// The subcommands: main.cc reads the words of the command line, each run_* answers one subcommand and
// returns the exit status (0 answered, 2 bad input or a limit of the machine, 1 a fault of ours). Options
// arrive as the words that were given; an empty word: not given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretrain {

struct PredictOptions {
  std::vector<std::string> run_files;
  std::string model, cluster, gpus, plan, global_batch, seq, stack, profile, tokens;
  std::string trace, trace_stages, html;
  bool chart = false;
  bool json = false;
};
int run_predict(const PredictOptions& options, const std::string& presets_folder);

struct SearchCommandOptions {
  std::string model, cluster, gpus, global_batch, seq, stack, profile;
  std::vector<std::string> set, range, forbid, why, what_if;
  std::string top, objective, tokens, deadline, budget, headroom, threads, csv, html;
  bool json = false;
};
class Team;
// `team`: the ranks that search together, of which the first answers; null: this process alone.
int run_search(const SearchCommandOptions& options, const std::string& presets_folder, Team* team = nullptr);

struct ListOptions {
  std::string what;
  bool json = false;
};
int run_list(const ListOptions& options, const std::string& presets_folder);

struct ShowOptions {
  std::string kind;
  std::string name;
};
int run_show(const ShowOptions& options, const std::string& presets_folder);

struct ValidateOptions {
  std::vector<std::string> inputs;
  std::string profile, against, by;
  bool rows = false;
  bool json = false;
};
int run_validate(const ValidateOptions& options, const std::string& presets_folder);

struct ImportOptions {
  std::string what, out, collective;
  std::vector<std::string> paths;  // a folder, or logs
  std::int64_t ranks = 0, ranks_per_node = 0;
  bool force = false;
};
int run_import(const ImportOptions& options);

struct FitCommandOptions {
  std::string samples, gpu, cluster, out, name, source, derive_from, html;
  bool study = false, learning_curve = false, force = false, json = false;
};
int run_fit(const FitCommandOptions& options, const std::string& presets_folder);
int run_fit_cluster(const FitCommandOptions& options, const std::string& presets_folder);  // with --cluster

struct CostOptions {
  std::vector<std::string> words;  // a table of samples, or an operator and its sizes
  std::string impl, pass, dtype, gpu, profile;
  bool rows = false;
  bool json = false;
};
int run_cost(const CostOptions& options, const std::string& presets_folder);

// Writes an answer to stdout. 0, also where the reader went away early (`foretrain list models | head -1`);
// 2, with a line on stderr, where it cannot be written.
int answer(std::string_view text);

// The option of a request's field: "--global-batch" of global_batch.
std::string option_word(std::string_view field);

// Writes the error's one line to stderr; 2.
int refuse(const Error& error);

// The error of what an option named, after the option: "--gpu: unknown gpu ...". What is wrong inside a file
// keeps its place.
tl::unexpected<Error> at_option(std::string_view option, Error error);

}  // namespace foretrain
