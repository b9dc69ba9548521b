#include "samples/kineto_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "base/gzip.h"
#include "base/text.h"

namespace foretrain {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLevels = 64, kMostEvents = 20'000'000, kMostInputs = 64, kMostSizes = 16;
constexpr std::size_t kLongestWord = 4096;

// One event while it is read.
struct Event {
  std::string name, category, phase;
  double start = 0, us = 0;
  double thread = 0, stream = -1, device = -1, correlation = -1, external = -1;
  bool has_duration = false, has_sizes = false;
  OperatorInputs inputs;
};

std::int64_t whole(double number) {
  constexpr double kMost = 9e15;
  return std::isfinite(number) ? static_cast<std::int64_t>(std::clamp(number, -kMost, kMost)) : 0;
}

bool holds_word(std::string_view name, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::search(name.begin(), name.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lower(a) == b; }) != name.end();
}

// Inputs are kept of operators that may become samples and of the backwards around them.
bool keeps_inputs(std::string_view name) {
  return name.find("mm") != std::string_view::npos || name.find("attention") != std::string_view::npos ||
         name.find("norm") != std::string_view::npos || name.find("gelu") != std::string_view::npos ||
         name.find("embedding") != std::string_view::npos || name.find("Backward") != std::string_view::npos;
}

class Handler final : public Json::json_sax_t {
 public:
  KinetoEvents found;
  std::string why;           // it was refused
  std::size_t error_at = 0;  // byte of broken JSON
  bool has_events = false;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& value) override {
    text(value);
    return true;
  }
  bool key(string_t& value) override {
    levels_.back().key = value;
    return true;
  }
  bool start_object(std::size_t) override {
    if (event_level_ == 0 && is_array_of_events()) {
      event_level_ = levels_.size() + 1;
      event_ = {};
      has_events = true;
      if (++found.events > kMostEvents) {
        why = fmt::format("found more than {} events, expected fewer", kMostEvents);
        return false;
      }
    }
    return push(false);
  }
  bool end_object() override {
    if (levels_.size() == event_level_) {
      finish_event();
      event_level_ = 0;
    }
    levels_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    if (event_level_ == 0 && levels_.size() == 1 && levels_[0].key == "traceEvents") has_events = true;
    if (event_level_ > 0 && levels_.size() == event_level_ + 2 && argument() == "Input Dims") {
      event_.has_sizes = true;
      if (event_.inputs.shapes.size() < kMostInputs) event_.inputs.shapes.emplace_back();
    }
    return push(true);
  }
  bool end_array() override {
    levels_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    error_at = position;
    return false;
  }

 private:
  struct Level {
    bool is_array = false;
    std::string key;
  };

  bool push(bool is_array) {
    if (levels_.size() >= kMostLevels) {
      why = fmt::format("found more than {} levels, expected events", kMostLevels);
      return false;
    }
    levels_.push_back({is_array, {}});
    return true;
  }

  // Whether an object that begins here is an event.
  bool is_array_of_events() const {
    if (levels_.size() == 1) return levels_[0].is_array;
    return levels_.size() == 2 && levels_[1].is_array && levels_[0].key == "traceEvents";
  }

  // The key of args below which this value stands; empty where it stands elsewhere.
  std::string_view argument() const {
    if (event_level_ == 0 || levels_.size() < event_level_ + 1 || levels_[event_level_ - 1].key != "args")
      return {};
    return levels_[event_level_].key;
  }

  bool number(double value) {
    if (event_level_ == 0) {
      about_run(value);
    } else if (levels_.size() == event_level_) {
      const std::string& key = levels_.back().key;
      if (key == "ts") event_.start = value;
      if (key == "dur") event_.us = value, event_.has_duration = true;
      if (key == "tid") event_.thread = value;
    } else if (levels_.size() == event_level_ + 1) {
      const std::string_view key = argument();
      if (key == "stream") event_.stream = value;
      if (key == "device") event_.device = value;
      if (key == "correlation") event_.correlation = value;
      if (key == "External id" || key == "external id") event_.external = value;
    } else if (levels_.size() == event_level_ + 3 && argument() == "Input Dims") {
      auto& sizes = event_.inputs.shapes;
      if (!sizes.empty() && sizes.back().size() < kMostSizes) sizes.back().push_back(whole(value));
    }
    return true;
  }

  void text(const std::string& value) {
    if (event_level_ == 0) {
      about_run(value);
    } else if (levels_.size() == event_level_) {
      const std::string& key = levels_.back().key;
      if (key == "name") event_.name = value.substr(0, kLongestWord);
      if (key == "cat") event_.category = value.substr(0, kLongestWord);
      if (key == "ph") event_.phase = value.substr(0, kLongestWord);
      if (key == "tid")  // "stream 7"
        if (const std::size_t at = value.rfind(' '); at != std::string::npos)
          event_.thread = parse_number(std::string_view(value).substr(at + 1)).value_or(0);
    } else if (levels_.size() == event_level_ + 2) {
      const std::string_view key = argument();
      if (key == "Input type" && event_.inputs.types.size() < kMostInputs)
        event_.inputs.types.push_back(value.substr(0, kLongestWord));
      if (key == "Concrete Inputs" && event_.inputs.values.size() < kMostInputs)
        event_.inputs.values.push_back(value.substr(0, kLongestWord));
    } else if (levels_.size() == event_level_ + 3 && argument() == "Input Dims") {
      number(parse_number(value).value_or(0));
    }
  }

  void about_run(double value) {
    if (levels_.size() != 2 || levels_[0].key != "distributedInfo") return;
    if (levels_[1].key == "rank") found.rank = whole(value);
    if (levels_[1].key == "world_size") found.world = whole(value);
  }
  void about_run(const std::string& value) {
    if (levels_.size() == 2 && levels_[0].key == "distributedInfo" && levels_[1].key == "backend")
      found.backend = value.substr(0, kLongestWord);
    const bool is_device =
        levels_.size() == 3 && levels_[0].key == "deviceProperties" && levels_[2].key == "name";
    if (is_device && found.device.empty()) found.device = value.substr(0, kLongestWord);
  }

  std::int32_t name_number(const std::string& name) {
    const auto [at, is_new] = numbers_.emplace(name, static_cast<std::int32_t>(found.names.size()));
    if (is_new) found.names.push_back(name);
    return at->second;
  }

  void add_gpu_event(GpuWork work) {
    GpuEvent event;
    event.start_us = event_.start, event.us = event_.us;
    event.device = event_.device >= 0 ? whole(event_.device) : 0;
    event.stream = whole(event_.stream >= 0 ? event_.stream : event_.thread);
    event.correlation = whole(event_.correlation), event.external = whole(event_.external);
    event.work = work;
    if (work == GpuWork::kKernel && (holds_word(event_.name, "nccl") || holds_word(event_.name, "rccl")))
      event.work = GpuWork::kCollective;
    event.name = name_number(event_.name);
    found.gpu.push_back(event);
  }

  void add_operator() {
    found.with_inputs += event_.has_sizes;
    CpuOperator op;
    op.start_us = event_.start, op.us = event_.us;
    op.thread = whole(event_.thread), op.external = whole(event_.external);
    op.name = name_number(event_.name);
    if (event_.has_sizes && keeps_inputs(event_.name)) {
      op.inputs = static_cast<std::int32_t>(found.inputs.size());
      found.inputs.push_back(std::move(event_.inputs));
    }
    found.operators.push_back(op);
  }

  void finish_event() {
    if (event_.phase != "X" || !event_.has_duration || !std::isfinite(event_.start) || !(event_.us >= 0))
      return;
    if (!std::isfinite(event_.us) || std::abs(event_.start) > 1e18 || event_.us > 1e15) return;
    const std::string& category = event_.category;
    if (category == "kernel" || category == "Kernel") return add_gpu_event(GpuWork::kKernel);
    if (category == "gpu_memcpy" || category == "Memcpy") return add_gpu_event(GpuWork::kCopy);
    if (category == "gpu_memset" || category == "Memset") return add_gpu_event(GpuWork::kSet);
    if (category == "cpu_op" || category == "Operator") add_operator();
    const bool is_call = category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime";
    if (is_call && event_.correlation >= 0)
      found.launches.push_back({whole(event_.correlation), event_.start, whole(event_.thread)});
    if (event_.name.starts_with("ProfilerStep") && category != "gpu_user_annotation" &&
        step_names_.insert(event_.name).second)
      found.steps.push_back({event_.name, event_.start, event_.us});
  }

  std::vector<Level> levels_;
  std::size_t event_level_ = 0;  // levels when the event's own object is the last; 0: outside
  Event event_;
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::unordered_set<std::string> step_names_;
};

Position position_of(std::string_view text, std::size_t byte, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  constexpr std::int64_t kMost = 2'000'000'000;
  return {
      file, static_cast<int>(std::min<std::int64_t>(line, kMost)),
      static_cast<int>(std::min<std::int64_t>(static_cast<std::int64_t>(before.size() - begin) + 1, kMost))};
}

}  // namespace

Result<KinetoEvents> parse_kineto(std::string_view bytes, const std::string& file_name) {
  std::string unpacked;
  if (is_gzip(bytes)) {
    TRY_ASSIGN(unpacked, gunzip(bytes, kMaxUnpackedBytes, file_name));
    bytes = unpacked;
  }
  if (bytes.substr(0, 512).find('\0') != std::string_view::npos)
    return fail(
        "found a binary file, expected the JSON of PyTorch's profiler: execution traces of Chakra (.et) and "
        "archives are not read",
        Position{file_name, 1, 1});
  Handler handler;
  bool is_read = false;
  try {
    is_read = Json::sax_parse(bytes.begin(), bytes.end(), &handler);
  } catch (const Json::exception&) {
    handler.why = "found JSON that cannot be read, expected a trace";
  }
  if (!handler.why.empty()) return fail(handler.why, Position{file_name, 1, 1});
  if (!is_read)
    return fail("found broken JSON, expected a trace of PyTorch's profiler",
                position_of(bytes, handler.error_at, file_name));
  if (!handler.has_events)
    return fail("found JSON without traceEvents, expected a trace of PyTorch's profiler",
                Position{file_name, 1, 1});
  std::sort(handler.found.steps.begin(), handler.found.steps.end(),
            [](const StepEvent& a, const StepEvent& b) { return a.start_us < b.start_us; });
  return std::move(handler.found);
}

}  // namespace foretrain
