// foretrain: reads the command line, calls one subcommand, returns its exit status. CLI11 and what it throws
// stay in this file; what is wrong with the words is told in our own form, one line on stderr.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

#include "base/check.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "commands.h"
#include "make_team.h"

namespace foretrain {
namespace {

struct CommandLine {
  std::string presets;
  PredictOptions predict;
  SearchCommandOptions search;
  ValidateOptions validate;
  CostOptions cost;
  FitCommandOptions fit;
  ImportOptions import;
  ListOptions list;
  ShowOptions show;
  bool version = false;
};

CLI::App& add_command(CLI::App& app, CommandLine& line, const char* name, const char* what,
                      const char* example) {
  CLI::App& command = *app.add_subcommand(name, what);
  command.footer(std::string("Example:\n  ") + example);
  command.allow_extras();
  command.add_option("--presets", line.presets, "A folder laid out like presets/, looked in first")
      ->type_name("FOLDER");
  return command;
}

void add_predict(CLI::App& app, CommandLine& line) {
  PredictOptions& o = line.predict;
  CLI::App& c = add_command(
      app, line, "predict", "Step time, memory and throughput of one run, or of several side by side",
      "foretrain predict --model llama-3-8b --cluster dgx-h100 --gpus 64 --global-batch 512 "
      "--plan tp=2,pp=2,zero=1,recompute=selective");
  c.add_option("RUN.yaml", o.run_files,
               "The run, or several to compare; without it and --model, a built-in example")
      ->type_name("");
  c.add_option("--model", o.model, "A name (foretrain list models) or a YAML file")->type_name("M");
  c.add_option("--cluster", o.cluster,
               "A name (foretrain list clusters), a YAML file, or a folder of fit --cluster")
      ->type_name("C");
  c.add_option("--gpus", o.gpus, "GPUs in all")->type_name("N");
  c.add_option("--plan", o.plan, "tp=4,pp=2,micro_batch=1,recompute=full,zero=1,...")->type_name("PLAN");
  c.add_option("--global-batch", o.global_batch, "Sequences a step")->type_name("B");
  c.add_option("--seq", o.seq, "Tokens a sequence")->type_name("S");
  c.add_option("--stack", o.stack, "A name (foretrain list stacks) or a YAML file")->type_name("K");
  c.add_option("--profile", o.profile,
               "Where operators' seconds come from: a profile, or analytic; without it, the GPU's own")
      ->type_name("P");
  c.add_option("--tokens", o.tokens, "Also what training on this many costs: 300e9, 300B, 1.5T")
      ->type_name("T");
  c.add_flag("--chart", o.chart,
             "Also the step as a chart, its critical path, and what each stage does and waits for")
      ->disable_flag_override();
  c.add_option("--trace", o.trace, "Also the step's events, for ui.perfetto.dev and chrome://tracing")
      ->type_name("F.json");
  c.add_option("--trace-stages", o.trace_stages, "Only these stages of the trace: 1-4,16")->type_name("S");
  c.add_option("--html", o.html, "Also one page with all of it, to look at and to pass on")
      ->type_name("F.html");
  c.add_flag("--json", o.json, "Answer in JSON")->disable_flag_override();
}

void add_search(CLI::App& app, CommandLine& line) {
  SearchCommandOptions& o = line.search;
  CLI::App& c = add_command(app, line, "search",
                            "The best plan out of all of them, what limits it, and why not another",
                            "foretrain search --model llama-3-70b --cluster dgx-h100 --gpus 256 "
                            "--global-batch 1024 --seq 8192");
  c.add_option("--model", o.model, "A name (foretrain list models) or a YAML file")->type_name("M");
  c.add_option("--cluster", o.cluster,
               "A name (foretrain list clusters), a YAML file, or a folder of fit --cluster")
      ->type_name("C");
  c.add_option("--gpus", o.gpus, "GPUs in all: 64, a list 64,128, or a range 64..512")->type_name("N");
  c.add_option("--global-batch", o.global_batch, "Sequences a step")->type_name("B");
  c.add_option("--seq", o.seq, "Tokens a sequence")->type_name("S");
  c.add_option("--stack", o.stack, "A name (foretrain list stacks) or a YAML file")->type_name("K");
  c.add_option("--profile", o.profile,
               "Where operators' seconds come from: a profile, or analytic; without it, the GPU's own")
      ->type_name("P");
  c.add_option("--set", o.set, "Only these values: tp=8, zero=1,2")
      ->type_name("K=V")
      ->expected(1)
      ->take_all();
  c.add_option("--range", o.range, "Only values from one to another: pp=1..16")
      ->type_name("K=A..B")
      ->expected(1)
      ->take_all();
  c.add_option("--forbid", o.forbid, "Not these values: schedule=gpipe")
      ->type_name("K=V")
      ->expected(1)
      ->take_all();
  c.add_option("--headroom", o.headroom, "Memory to leave free on every GPU: 10% or 8GiB")->type_name("H");
  c.add_option("--objective", o.objective, "time (without it), money, memory or energy")->type_name("O");
  c.add_option("--top", o.top, "How many plans to show: 10 without it, at most 1000")->type_name("K");
  c.add_option("--tokens", o.tokens, "Also what training on this many costs: 300e9, 300B, 1.5T")
      ->type_name("T");
  c.add_option("--deadline", o.deadline, "Only plans that train on these tokens in time: 30d, 12h")
      ->type_name("D");
  c.add_option("--budget", o.budget, "Only plans that do so for this money: 1.5M (USD)")->type_name("USD");
  c.add_option("--why", o.why, "Why this plan is not the best, cause by cause: tp=4,pp=2")
      ->type_name("PLAN")
      ->expected(1)
      ->take_all();
  c.add_option("--what-if", o.what_if, "The best with one thing changed: gpus=512, inter_gbps=800")
      ->type_name("K=V")
      ->expected(1)
      ->take_all();
  c.add_option("--threads", o.threads, "Threads; without it, as many as the machine has")->type_name("N");
  c.add_option("--csv", o.csv, "Also every plan that was evaluated")->type_name("F.csv");
  c.add_option("--html", o.html, "Also a page with a scatter and the Pareto front")->type_name("F.html");
  c.add_flag("--json", o.json, "Answer in JSON")->disable_flag_override();
}

void add_validate(CLI::App& app, CommandLine& line) {
  ValidateOptions& o = line.validate;
  CLI::App& c = add_command(app, line, "validate", "Predictions against measured runs",
                            "foretrain validate runs.csv --by source");
  c.add_option("FILE.csv|FOLDER", o.inputs, "Measured runs")->type_name("");
  c.add_option("--profile", o.profile,
               "Where operators' seconds come from: a profile, or analytic; without it, the GPU's own")
      ->type_name("P");
  c.add_option("--against", o.against, "Which measured step to compare with: fastest or median")
      ->type_name("A");
  c.add_option("--by", o.by, "Group by source, gpu, stack or cluster")->type_name("KEY");
  c.add_flag("--rows", o.rows, "Each row as well")->disable_flag_override();
  c.add_flag("--json", o.json, "Answer in JSON")->disable_flag_override();
}

void add_cost(CLI::App& app, CommandLine& line) {
  CostOptions& o = line.cost;
  CLI::App& c = add_command(app, line, "cost", "What operators take, one or a table of samples",
                            "foretrain cost linear m=8192 k=4096 n=11008 --gpu h200-141gb-sxm");
  c.add_option("OPERATOR key=value...|FILE.csv", o.words,
               "An operator and its sizes, or samples to compare with")
      ->type_name("");
  c.add_option("--impl", o.impl,
               "aten, fused, eager, ... (docs/formats/samples.md); without it, what the profile has")
      ->type_name("I");
  c.add_option("--pass", o.pass, "fwd, bwd, dgrad, wgrad or step; without it, all that there are")
      ->type_name("PASS");
  c.add_option("--dtype", o.dtype, "bf16 (without it), fp16, fp32, ...")->type_name("D");
  c.add_option("--gpu", o.gpu, "A name (foretrain list gpus) or a YAML file; without it, the profile's")
      ->type_name("G");
  c.add_option("--profile", o.profile,
               "Where seconds come from: a name (foretrain list profiles), a folder, or analytic")
      ->type_name("P");
  c.add_flag("--rows", o.rows, "Of a table, each row as well")->disable_flag_override();
  c.add_flag("--json", o.json, "Answer in JSON")->disable_flag_override();
}

void add_fit(CLI::App& app, CommandLine& line) {
  FitCommandOptions& o = line.fit;
  CLI::App& c = add_command(app, line, "fit",
                            "Samples of a GPU's operators become a profile, samples of a "
                            "fabric's collectives a cluster",
                            "foretrain fit samples --gpu a100-80gb-sxm -o my-profile");
  c.add_option("SAMPLES", o.samples, "A table of samples, or a folder of them")->type_name("");
  c.add_option("--gpu", o.gpu, "The GPU that was sampled: a name (foretrain list gpus) or a YAML file")
      ->type_name("G");
  c.add_option(
       "--cluster", o.cluster,
       "Instead: the cluster whose collectives were sampled, a name, a YAML file or a folder of this command")
      ->type_name("C");
  c.add_option("-o,--out", o.out, "The folder to write the profile or the cluster into")->type_name("FOLDER");
  c.add_option("--name", o.name, "The name of the profile or the cluster; without it, the folder's")
      ->type_name("N");
  c.add_option("--source", o.source, "Where the samples come from, in words")->type_name("TEXT");
  c.add_option("--derive-from", o.derive_from, "A profile for operators that this one lacks")->type_name("P");
  c.add_flag("--study", o.study, "Errors on samples held out in three ways")->disable_flag_override();
  c.add_flag("--learning-curve", o.learning_curve, "Errors by the number of samples")
      ->disable_flag_override();
  c.add_option("--html", o.html, "Also pictures: predicted against measured")->type_name("F.html");
  c.add_flag("--force", o.force, "Also where that folder holds a profile or a cluster")
      ->disable_flag_override();
  c.add_flag("--json", o.json, "Answer in JSON")->disable_flag_override();
}

void add_import(CLI::App& app, CommandLine& line) {
  ImportOptions& o = line.import;
  CLI::App& c =
      add_command(app, line, "import", "Samples that others took, and logs of nccl-tests, in our format",
                  "foretrain import nccl-tests *.log -o comm\n"
                  "  foretrain import published-samples Perlmutter -o samples");
  c.add_option(
       "FORMAT", o.what,
       "nccl-tests: collectives, from the text that NVIDIA's tests print; published-samples: operators and "
       "collectives in the layout of arXiv 2509.22832")
      ->type_name("");
  c.add_option("PATH", o.paths, "The logs; for published-samples the folder of one site")->type_name("");
  c.add_option("-o,--out", o.out, "The folder to write collectives.csv (and operators.csv) into")
      ->type_name("FOLDER");
  c.add_option("--collective", o.collective,
               "nccl-tests: what was timed, where neither a log nor its name says it")
      ->type_name("NAME");
  c.add_option("--ranks", o.ranks, "nccl-tests: how many took part, where a log has no lines of ranks")
      ->type_name("N");
  c.add_option("--ranks-per-node", o.ranks_per_node, "nccl-tests: how many of them share a node (all)")
      ->type_name("N");
  c.add_flag("--force", o.force, "Also where that folder exists")->disable_flag_override();
}

void add_list(CLI::App& app, CommandLine& line) {
  ListOptions& o = line.list;
  CLI::App& c = add_command(app, line, "list", "Names that other commands take", "foretrain list models");
  c.add_option("KIND", o.what, "models, gpus, clusters, stacks, schedules or profiles")->type_name("");
  c.add_flag("--json", o.json, "Answer in JSON")->disable_flag_override();
}

void add_show(CLI::App& app, CommandLine& line) {
  ShowOptions& o = line.show;
  CLI::App& c =
      add_command(app, line, "show", "A preset's YAML, with the origin of each figure; a profile's models",
                  "foretrain show cluster perlmutter");
  c.add_option("KIND", o.kind, "model, gpu, cluster, stack or profile")->type_name("");
  c.add_option("NAME", o.name, "A name (foretrain list ...), a YAML file, or a profile's folder")
      ->type_name("");
}

int run_command(const std::string& name, const CommandLine& line, Team* team) {
  if (name == "predict") return run_predict(line.predict, line.presets);
  if (name == "search") return run_search(line.search, line.presets, team);
  if (name == "validate") return run_validate(line.validate, line.presets);
  if (name == "cost") return run_cost(line.cost, line.presets);
  if (name == "fit")
    return line.fit.cluster.empty() ? run_fit(line.fit, line.presets)
                                    : run_fit_cluster(line.fit, line.presets);
  if (name == "import") return run_import(line.import);
  if (name == "list") return run_list(line.list, line.presets);
  return run_show(line.show, line.presets);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The first word that no option and no argument took.
Result<void> check_extras(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (word == "--") continue;
    if (word.starts_with('-') && word.size() > 1) {
      const std::string name = word.substr(0, word.find('='));
      return fail("unknown option " + foretrain::quoted(name) + suggestion(name, option_names(app)));
    }
    const std::vector<std::string> commands = command_names(app);
    if (commands.empty()) return fail(app.get_name() + ": unexpected argument " + foretrain::quoted(word));
    return fail("unknown subcommand " + foretrain::quoted(word) + suggestion(word, commands));
  }
  return {};
}

// CLI11 would take the next word for the missing value.
Result<void> check_empty_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return fail(printable(word.substr(0, word.size() - 1)) + ": found nothing after '=', expected a value");
    if (word.empty()) {
      const std::string_view before = argv[i - 1];
      const std::string option = before.starts_with("--") ? printable(before) + ": " : "";
      return fail(option + "found an empty word, expected a value");
    }
  }
  return {};
}

// CLI11's own words begin with the option's name: "--gpus: 1 required N missing", "json was given a ...".
Error reworded(const CLI::App& app, const CLI::ParseError& error) {
  const std::string message = error.what();
  const std::string name = message.substr(0, message.find(':'));
  if (error.get_name() != "ArgumentMismatch") return {message, {}};
  if (name.size() == message.size())
    return {"--" + message.substr(0, message.find(' ')) + ": takes no value", {}};
  for (const CLI::App* command : app.get_subcommands({})) {
    const CLI::Option* option = command->parsed() ? command->get_option_no_throw(name) : nullptr;
    if (option != nullptr && option->count() > 1)
      return {name + ": given " + std::to_string(option->count()) + " times, expected once", {}};
  }
  return {name + ": found nothing, expected a value", {}};
}

int run(int argc, char** argv, Team* team) {
  CommandLine line;
  CLI::App app("Know before you train: predicts the step time and memory of distributed LLM training.",
               "foretrain");
  app.allow_extras();
  app.require_subcommand(0, 1);
  app.add_option("--presets", line.presets, "A folder laid out like presets/, looked in first")
      ->type_name("FOLDER");
  app.add_flag("--version", line.version, "Print the version")->disable_flag_override();
  app.footer(
      "Example:\n  foretrain predict --model gpt2-xl --cluster dgx-a100 --gpus 8 --global-batch 64\n"
      "'foretrain SUBCOMMAND --help' tells more.");
  add_predict(app, line);
  add_search(app, line);
  add_validate(app, line);
  add_cost(app, line);
  add_fit(app, line);
  add_import(app, line);
  add_list(app, line);
  add_show(app, line);

  if (const auto checked = check_empty_values(argc, argv); !checked) return refuse(checked.error());
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return answer(app.help());
  } catch (const CLI::ParseError& error) {
    return refuse(reworded(app, error));
  }
  if (const auto checked = check_extras(app); !checked) return refuse(checked.error());
  if (line.version) return answer("foretrain " FORETRAIN_VERSION "\n");
  const auto chosen = app.get_subcommands();
  if (chosen.empty())
    return refuse(
        {"no subcommand given" + suggestion("", command_names(app)) + " (foretrain --help tells more)", {}});
  if (const auto checked = check_extras(*chosen.front()); !checked) return refuse(checked.error());
  if (!line.presets.empty() && !is_folder(line.presets))
    return refuse({"--presets: " + foretrain::quoted(line.presets) + " is not a folder", {}});
  return run_command(chosen.front()->get_name(), line, team);
}

}  // namespace
}  // namespace foretrain

int main(int argc, char** argv) {
  // A reader that goes away and a file that may not grow are told by write(), not by a signal that ends us.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  try {
    const std::unique_ptr<foretrain::Team> team = foretrain::make_team(argc, argv);
    return foretrain::run(argc, argv, team.get());
  } catch (const foretrain::Fault& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
  } catch (const std::bad_alloc&) {
    std::fputs("foretrain: error: out of memory\n", stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "foretrain: internal error: %s\n", error.what());
  }
  return 1;
}
