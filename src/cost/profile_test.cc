#include "cost/profile.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/yaml.h"
#include "cost/testing.h"
#include "spec/embedded.h"

using namespace foretrain;

TEST_CASE("models read back as written, and the same models give the same bytes") {
  const Forest forest = step_forest();
  const std::vector<OperatorModelView> models = {linear_model(forest, PassKind::kForward),
                                                 linear_model(forest, PassKind::kInput)};
  const std::string bytes = to_bytes(models);
  CHECK(bytes == to_bytes(models));
  const auto file = ModelFile::open(bytes, "models.bin");
  REQUIRE(file.has_value());
  REQUIRE(file->models().size() == 2);
  CHECK(file->models()[1].key == models[1].key);
  CHECK(file->models()[1].facts == models[1].facts);
  CHECK(file->models()[1].coefficients == models[1].coefficients);
  std::vector<float> x(static_cast<std::size_t>(forest.features), 0.0f);
  x[0] = 20.0f;
  CHECK(file->models()[0].residual.predict(x) == forest.leaf[0]);
  x[0] = 40.0f;
  CHECK(file->models()[0].residual.predict(x) == forest.leaf[1]);
  CHECK(to_bytes(file->models()) == bytes);
}

TEST_CASE("a damaged file is refused, wherever a byte changed or the end is missing") {
  const Forest forest = step_forest();
  const std::string bytes = to_bytes({linear_model(forest, PassKind::kForward)});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    CHECK_FALSE(ModelFile::open(damaged, "models.bin").has_value());
  }
  for (std::size_t n = 0; n < bytes.size(); n += 7)
    CHECK_FALSE(ModelFile::open(bytes.substr(0, n), "models.bin").has_value());
}

TEST_CASE(
    "the models in the program pass the whole check, which is not made again when they are used in place") {
  int files = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.ends_with("/models.bin")) continue;
    CAPTURE(file.path);
    const auto whole = ModelFile::open(std::string(file.content), std::string(file.path));
    REQUIRE(whole.has_value());
    const auto in_place = ModelFile::in_program(file.content, std::string(file.path));
    REQUIRE(in_place.has_value());
    CHECK(in_place->bytes() == file.content.size());
    CHECK(to_bytes(in_place->models()) == file.content);
    CHECK(to_bytes(whole->models()) == file.content);
    ++files;
  }
  CHECK(files > 0);
}

TEST_CASE("what power does to the clock is read and written with a profile") {
  ProfileInfo info{"p", "h200-141gb-sxm", "made up", ""};
  info.power = PowerModel{100, 75e-12, 2.5e-12, 3.25, 1980};
  const auto read = parse_profile_info(parse_yaml(to_yaml(info), "profile.yaml").value());
  REQUIRE_MESSAGE(read.has_value(), (read ? "" : read.error().text()));
  CHECK(read->power->joules_per_flop == doctest::Approx(2.5e-12));
  CHECK(read->power->exponent == doctest::Approx(3.25));
  const auto bad =
      parse_profile_info(parse_yaml("name: p\ngpu: g\npower: {static_w: 1}\n", "p.yaml").value());
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().message == "missing key 'pj_per_byte'");
  CHECK(can_be_stated(*info.power));
  info.power->joules_per_flop = 2e-6;
  CHECK_FALSE(can_be_stated(*info.power));
  CHECK_FALSE(parse_profile_info(parse_yaml(to_yaml(info), "profile.yaml").value()));
  info.power->joules_per_flop = NAN;
  CHECK_FALSE(can_be_stated(*info.power));
}
