#include "spec/documents_text.h"

#include <doctest/doctest.h>

using namespace foretrain;

TEST_CASE("a number alone is a mean, several are the documents of a sequence") {
  CHECK(parse_documents(std::string("512")).value().mean == 512);
  CHECK(parse_documents(std::string("4k")).value().mean == 4096);
  CHECK(parse_documents(std::string("4096+2048+2048")).value().lengths ==
        std::vector<std::int64_t>{4096, 2048, 2048});
  CHECK(parse_documents(std::string("1kx3")).value().lengths == std::vector<std::int64_t>{1024, 1024, 1024});
  CHECK(parse_documents(std::string("8192x1")).value().lengths == std::vector<std::int64_t>{8192});
}

TEST_CASE("text leads back to the same documents") {
  for (const char* word : {"512", "4096+2048x2", "1024x8", "8192x1", "1+2+1"}) {
    CHECK(to_text(parse_documents(std::string(word)).value()) == word);
    CHECK(parse_documents(to_text(parse_documents(std::string(word)).value())).value() ==
          parse_documents(std::string(word)).value());
  }
}

TEST_CASE("what is no length is refused in words") {
  for (const char* word : {"", "0", "-5", "many", "512+", "512x0", "512x", "x8", "1e3", "200000000"})
    CHECK(parse_documents(std::string(word)).error().message.find("expected a mean length such as 512") !=
          std::string::npos);
  CHECK(parse_documents(std::string("1x100001")).error().message.find("at most 100000 documents") !=
        std::string::npos);
}
