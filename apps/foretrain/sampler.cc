// foretrain sampler: the Python file that times operators on somebody's own GPU.
#include <algorithm>

#include "base/check.h"
#include "command.h"
#include "output.h"
#include "spec/embedded.h"

namespace foretrain {
namespace {

class Sampler final : public Command {
 public:
  const char* name() const override { return "sampler"; }
  const char* what() const override {
    return "The Python file that times operators and collectives on your GPU; it needs PyTorch alone";
  }
  const char* example() const override { return "foretrain sampler > foretrain_sample.py"; }
  void declare(Options&) override {}
  Result<int> run(Session&, Team*) override {
    const std::span<const EmbeddedFile> files = embedded_files();
    const auto found = std::find_if(files.begin(), files.end(), [](const EmbeddedFile& file) {
      return file.path == "sampler/foretrain_sample.py";
    });
    CHECK_THAT(found != files.end());
    return tell(found->content);
  }
};

}  // namespace

std::unique_ptr<Command> sampler_command() { return std::make_unique<Sampler>(); }

}  // namespace foretrain
