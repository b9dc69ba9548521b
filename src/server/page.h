// The files of the page and the schemas, which travel inside the program: each as it is, and packed where that is smaller.
// What is served is what was embedded, by its exact name; no path is looked up anywhere else.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/message.h"
#include "spec/embedded.h"

namespace foretrain {

std::span<const EmbeddedFile>
page_files();  // by cmake/embed.cmake: web/dist, and schemas as docs/schemas/NAME.json

class Page {
 public:
  explicit Page(std::span<const EmbeddedFile> files = page_files());

  // "" is index.html; 404 where there is none.
  HttpResponse file(std::string_view path, const HttpRequest& request) const;

  std::vector<std::string> schemas() const;
  HttpResponse schema(std::string_view name) const;

 private:
  struct Held {
    std::string_view content;
    std::string packed;  // empty: it would not be smaller
    std::string tag;     // of its content, for who has it already
  };
  std::map<std::string, Held, std::less<>> files_;
};

}  // namespace foretrain
