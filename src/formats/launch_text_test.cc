#include "formats/launch_text.h"

#include <doctest/doctest.h>

#include "formats/launch_run.h"

using namespace foretrain;

TEST_CASE("bash fills in what is to be given in a file, and runs nothing that stands in it") {
  Launch launch;
  launch.launcher = {"torchrun"};
  launch.program = {"train.py"};
  launch.beyond = {{"LR", "learning rate", "3e-4"}};
  launch.files = {{"config.yaml", "lr: ${LR}\nname: \"a$(touch b)`touch c`$HOME\\$\"\n"}};
  const std::string script = launch_script(launch, LaunchRun{}, {});
  CHECK(script.find("<<EOF\nlr: ${LR}\nname: \"a\\$(touch b)\\`touch c\\`\\$HOME\\\\\\$\"\nEOF\n") !=
        std::string::npos);
}
