// foretrain schema: what an answer in JSON looks like, as a JSON Schema.
#include "base/did_you_mean.h"
#include "base/text.h"
#include "command.h"
#include "output.h"
#include "schema_files.h"

namespace foretrain {
namespace {

class Schema final : public Command {
 public:
  const char* name() const override { return "schema"; }
  const char* what() const override { return "The JSON Schema of an answer, or the names of all"; }
  const char* example() const override { return "foretrain schema predict > predict.schema.json"; }
  void declare(Options& options) override {
    options.argument("NAME", schema_, "The answer: predict, over, search, ...; without it, their names",
                     Takes::kSchema);
  }
  std::string word(std::string_view field) const override {
    return field == "schema" ? "schema" : Command::word(field);
  }
  Result<int> run(Session&, Team*) override {
    const std::vector<std::string> known = schema_names();
    if (schema_.empty()) return tell(join(known, "\n") + "\n");
    if (const auto text = schema_of(schema_)) return tell(*text);
    return fail_field("schema", "unknown name " + quoted(schema_) + suggestion(schema_, known));
  }

 private:
  std::string schema_;
};

}  // namespace

std::unique_ptr<Command> schema_command() { return std::make_unique<Schema>(); }

}  // namespace foretrain
