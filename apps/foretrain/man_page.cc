#include "man_page.h"

#include <fmt/format.h>

#include "base/text.h"
#include "command_table.h"
#include "help_text.h"
#include "plan_keys.h"

namespace foretrain {
namespace {

// A text that troff takes as it is: no escape, no request at a line's beginning, and dashes that can be copied.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if ((c == '.') && (out.empty() || out.back() == '\n'))
      out += "\\&.";
    else
      out += c;
    if (c == '+' || c == '|') out += "\\:";  // a line may end there
  }
  return out;
}

std::string entry(std::string_view name, std::string_view words) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", troff(name), troff(words));
}

std::string options(const CommandTable& table, bool with_common) {
  std::string out;
  for (const std::string& group : groups_of(table)) {
    if (group == kEverywhere && !with_common) continue;
    if (!group.empty()) out += ".PP\n" + troff(group) + ":\n";
    for (const OptionRow& row : table.rows)
      if (row.group == group) out += entry(spelled(row), row.help);
  }
  return out;
}

std::string example(const CommandTable& table) {
  std::string out = ".PP\nExample:\n.PP\n.nf\n";
  for (const std::string_view line : split(table.example, '\n'))
    out += troff("  " + std::string(trim(line))) + "\n";
  return out + ".fi\n";
}

}  // namespace

std::string man_page() {
  const CommandTables tables;
  std::string out =
      ".TH FORETRAIN 1 \"\" \"foretrain " FORETRAIN_VERSION "\" \"User Commands\"\n.ad l\n.nh\n";
  out += ".SH NAME\nforetrain \\- predict the step time and memory of distributed LLM training\n";
  out += ".SH SYNOPSIS\n.B foretrain\nSUBCOMMAND [OPTIONS]\n";
  out +=
      ".SH DESCRIPTION\nForetrain says how long a training step takes, how much memory each GPU needs and "
      "which "
      "parallel plan is fastest: on a CPU, with an 80 % interval on every time.\n";
  out += ".SH SUBCOMMANDS\n";
  for (const CommandTable& table : tables.commands()) {
    out +=
        fmt::format(".SS {}\n{}.\n.PP\n\\fB{}\\fR\n", table.name, troff(table.what), troff(usage_of(table)));
    out += options(table, false) + example(table);
  }
  out += ".SH OPTIONS\nOf every subcommand:\n" + options(tables.program(), true);
  out += ".SH \"KEYS OF A PLAN\"\nOf \\fB\\-\\-plan\\fR, joined by commas:\n";
  for (const PlanKey& key : plan_keys())
    out += entry(fmt::format("{}={}", key.key, key.values),
                 key.besides.empty() ? key.meaning : key.meaning + " (" + key.besides + ")");
  out +=
      ".SH \"EXIT STATUS\"\n.TP\n0\nAn answer; that a plan does not fit is one.\n.TP\n1\nA fault of "
      "foretrain's "
      "own.\n.TP\n2\nBad input, told in one line, or a file that cannot be written.\n.TP\n3\nWith "
      "\\fB\\-\\-fail\\-if\\-not\\-fit\\fR: an answer, and a plan does not fit, or may not.\n.TP\n130\nA "
      "search that "
      "was "
      "interrupted; the best so far was told.\n";
  out +=
      ".SH ENVIRONMENT\n.TP\n\\fBCOLUMNS\\fR\nThe width of the terminal and of charts; without it, what the "
      "terminal says.\n.TP\n\\fBNO_COLOR\\fR\nWhere it is set to anything, nothing is coloured.\n.TP\n"
      "\\fBTERM\\fR\ndumb: nothing is coloured.\n";
  return out;
}

}  // namespace foretrain
