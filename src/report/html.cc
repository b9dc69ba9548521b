#include "report/html.h"

#include <fmt/format.h>

#include "base/text.h"

namespace foretrain {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2530; --soft: #667085; --line: #e3e7ee; --paper: #ffffff; --dot: #2563eb; --mark: #d9480f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #9aa4b5; --line: #2b3341; --paper: #12161d; --dot: #6ea8fe; --mark: #ff922b; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1320px; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; margin-bottom: 0.25rem; } h2 { font-size: 1.05rem; margin: 2.25rem 0 0.5rem; }
p { color: var(--soft); max-width: 75ch; margin: 0.25rem 0; } a { color: var(--dot); text-decoration: none; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.25rem 1.25rem 0.25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } .n { text-align: right; }
svg { max-width: 100%; height: auto; }
svg text { font-size: 11px; fill: var(--soft); } .frame { fill: none; stroke: var(--line); }
)";

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string html_plan(std::string_view text) {
  std::string out;
  for (const char c : html_escaped(text)) {
    out += c;
    if (c == ',') out += "<wbr>";
  }
  return out;
}

std::string html_lines(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) out += "<p class=\"run\">" + html_escaped(line) + "</p>\n";
  return out;
}

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{0}</title><style>{1}{2}</style></head><body>\n<h1>{0}</h1>\n{3}</body></html>\n",
      html_escaped(title), kStyle, style, body);
}

}  // namespace foretrain
