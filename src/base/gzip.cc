#include "base/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"

namespace foretrain {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for gzip
constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();

// Ends the stream whatever happens.
struct Inflation {
  z_stream stream{};
  bool is_ready = inflateInit2(&stream, kGzipWindow) == Z_OK;
  Inflation() = default;
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  ~Inflation() {
    if (is_ready) inflateEnd(&stream);
  }
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes, const std::string& file_name) {
  const Position at{file_name, 0, 0};
  Inflation inflation;
  if (!inflation.is_ready) return fail("cannot unpack: too little memory", at);
  z_stream& stream = inflation.stream;
  std::string text;
  std::array<char, 1 << 16> buffer{};
  bool has_ended = false;
  while (!bytes.empty() || !has_ended) {
    if (has_ended) {
      if (!is_gzip(bytes)) break;  // what follows the last member is padding
      inflateReset(&stream);
      has_ended = false;
    }
    const std::size_t given = std::min(bytes.size(), kMostAtOnce);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(given - stream.avail_in);
    text.append(buffer.data(), buffer.size() - stream.avail_out);
    if (text.size() > max_bytes)
      return fail(fmt::format("found more than {} MiB unpacked, expected at most that", max_bytes >> 20), at);
    if (status == Z_STREAM_END) {
      has_ended = true;
    } else if (status == Z_BUF_ERROR && bytes.empty()) {
      return fail("found compressed data that is cut short, expected all of it", at);
    } else if (status != Z_OK) {
      return fail("found compressed data that is broken, expected gzip", at);
    }
  }
  return text;
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  CHECK_THAT(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) ==
             Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  CHECK_THAT(status == Z_STREAM_END);
  return packed;
}

}  // namespace foretrain
