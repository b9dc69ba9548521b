// foretrain capture: runs the user's own launch as they would, with the launchers on PATH replaced by a recorder that
// trains nothing, and hands on the words that the training would have been started with.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "command.h"
#include "output.h"

namespace foretrain {
namespace {

constexpr std::string_view kLaunchers[] = {"torchrun", "python",     "python3",          "srun",    "sbatch",
                                           "mpirun",   "mpiexec",    "deepspeed",        "uv",      "nsys",
                                           "axolotl",  "accelerate", "llamafactory-cli", "composer"};

// Writes its words down and does nothing else; launchers of launchers start what they are given, which is then recorded. What
// a script asks python itself (-c, --version) is asked of the next python on PATH, but how many GPUs there are may be given.
constexpr std::string_view kRecorder = R"(#!/bin/sh
name=${0##*/}
case $name in
  python*)
    case $1 in
      -c)
        case $2 in *device_count*) if [ -n "$FORETRAIN_GPUS" ]; then echo "$FORETRAIN_GPUS"; exit 0; fi ;; esac
        PATH=${PATH#*:} exec "$name" "$@" ;;
      -V | --version) PATH=${PATH#*:} exec "$name" "$@" ;;
    esac ;;
  srun | mpirun | mpiexec | uv | nsys)
    for word in "$@"; do
      case $word in
        torchrun | python | python3 | deepspeed | accelerate | uv | nsys | bash | sh | */torchrun | */python | */python3)
          while [ "$1" != "$word" ]; do shift; done
          shift
          # A login shell would set PATH anew.
          case $word:$1 in bash:-lc | sh:-lc | bash:-cl | sh:-cl) shift; set -- -c "$@" ;; esac
          exec "${word##*/}" "$@" ;;
      esac
    done ;;
  sbatch) # runs what would be queued
    while [ $# -gt 0 ] && [ ! -f "$1" ]; do
      case $1 in
        --wrap=*) exec sh -c "${1#--wrap=}" ;;
        --wrap) exec sh -c "$2" ;;
      esac
      shift
    done
    exec bash "$@" ;;
esac
number=0
while ! mkdir "$FORETRAIN_RECORD/$number" 2>/dev/null; do
  number=$((number + 1))
  [ "$number" -lt 1000 ] || exit 1
done
printf '%s\0' "$name" "$@" > "$FORETRAIN_RECORD/$number/argv"
)";

// A folder of the system's for temporary files, gone afterwards with what this program put there.
class Folder {
 public:
  Result<void> make() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base == nullptr || *base == '\0' ? "/tmp" : base) + "/foretrain_capture_XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) return cannot("create", path_, errno);
    made_ = true;
    for (const std::string_view name : kLaunchers) {
      const std::string file = path_ + "/" + std::string(name);
      TRY(write_file(file, kRecorder));
      if (::chmod(file.c_str(), 0755) != 0) return cannot("make executable", file, errno);
    }
    if (::mkdir((path_ + "/record").c_str(), 0755) != 0) return cannot("create", path_ + "/record", errno);
    return {};
  }
  Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (!made_) return;
    for (const std::string& record : records()) {
      ::unlink((record + "/argv").c_str());
      ::rmdir(record.c_str());
    }
    ::rmdir((path_ + "/record").c_str());
    for (const std::string_view name : kLaunchers) ::unlink((path_ + "/" + std::string(name)).c_str());
    ::rmdir(path_.c_str());
  }
  std::vector<std::string> records() const {
    std::vector<std::string> paths;
    if (const auto names = disk().folders(path_ + "/record"))
      for (const std::string& name : *names) paths.push_back(path_ + "/record/" + name);
    return paths;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

class Recording final : public Command {
 public:
  const char* name() const override { return "capture"; }
  const char* what() const override {
    return "Run a launch script with a recorder in place of the launchers, and hand on what it would have "
           "started";
  }
  const char* example() const override {
    return "foretrain capture -- bash train.sh | foretrain predict - --cluster dgx-h100";
  }
  void declare(Options& options) override {
    options.option("--gpus-per-node", "N", gpus_,
                   "What a script is told that asks torch how many GPUs a node has");
    options.argument("COMMAND", command_, "The launch as it is typed, after --", Takes::kFile);
  }
  std::string word(std::string_view field) const override {
    return field == "command" ? "capture" : Command::word(field);
  }
  Result<int> run(Session&, Team*) override {
    if (command_.empty())
      return fail_field("command", "no command given: foretrain capture -- bash train.sh");
    Folder folder;
    TRY(folder.make());
    std::string words;
    for (const std::string& word : command_) words += " " + printable(word);
    std::fprintf(stderr,
                 "foretrain: runs%s now. On its PATH torchrun, python, srun, sbatch, mpirun, deepspeed, "
                 "accelerate, axolotl, llamafactory-cli, composer, uv and nsys are a recorder that trains "
                 "nothing; whatever else it does, it does (and a launcher called by its full path is "
                 "started)\n",
                 words.c_str());
    TRY_ASSIGN(const int status, start(folder));
    TRY_ASSIGN(const std::vector<std::string> argv, fullest(folder, status));
    JsonWriter w;
    w.begin_object().key("launcher").value(argv.front()).key("argv").begin_array();
    for (std::size_t i = 1; i < argv.size(); ++i) w.value(argv[i]);
    w.end_array().end_object();
    return tell(w.text());
  }

 private:
  // The command's exit status; -1 where a signal ended it.
  Result<int> start(const Folder& folder) const {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return fail("cannot start another process");
    if (child == 0) {
      const char* path = std::getenv("PATH");
      ::setenv("PATH", (folder.path() + ":" + (path == nullptr ? "/usr/bin:/bin" : path)).c_str(), 1);
      ::setenv("FORETRAIN_RECORD", (folder.path() + "/record").c_str(), 1);
      if (!gpus_.empty()) ::setenv("FORETRAIN_GPUS", gpus_.c_str(), 1);
      ::dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is the answer's
      std::vector<char*> words;
      for (const std::string& word : command_) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      ::execvp(words.front(), words.data());
      std::fprintf(stderr, "foretrain: cannot run %s\n", words.front());
      ::_exit(127);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
      if (errno != EINTR) return fail("the command's end cannot be waited for");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Of all that was started, what has the most words: the training.
  static Result<std::vector<std::string>> fullest(const Folder& folder, int status) {
    std::vector<std::string> best;
    for (const std::string& record : folder.records()) {
      constexpr std::size_t kMost = std::size_t{4} << 20;
      TRY_ASSIGN(const std::string text, read_file(record + "/argv", kMost));
      std::vector<std::string> words;
      for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
      if (!words.empty() && words.back().empty()) words.pop_back();  // behind the last mark
      if (words.size() > best.size()) best = std::move(words);
    }
    if (best.empty())
      return fail_field(
          "command",
          fmt::format("it started none of torchrun, python, srun, sbatch, mpirun, deepspeed, accelerate{}",
                      status == 0     ? ""
                      : status == 127 ? ": a command was not found (status 127)"
                                      : fmt::format(" (status {})", status)));
    // These take a file that says all.
    if (best.front() == "axolotl" || best.front() == "llamafactory-cli" || best.front() == "composer")
      for (const std::string& word : best)
        if (word.ends_with(".yaml") || word.ends_with(".yml"))
          return fail_field("command", fmt::format("it starts {} with {}: give that file instead",
                                                   best.front(), printable(word)));
    return best;
  }

  std::vector<std::string> command_;
  std::string gpus_;
};

}  // namespace

std::unique_ptr<Command> capture_command() { return std::make_unique<Recording>(); }

}  // namespace foretrain
