#include "server/border.h"

#include <algorithm>

#include "base/text.h"

namespace foretrain {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Without a port; none: it is no host.
std::optional<std::string> name_of(std::string_view host) {
  std::size_t end = host.find(':');
  if (host.starts_with('[')) {
    end = host.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    ++end;
  }
  const std::string_view rest = host.substr(std::min(end, host.size()));
  if (!rest.empty()) {
    const auto port = rest.starts_with(':') ? parse_integer(rest.substr(1)) : std::nullopt;
    if (!port || *port < 1 || *port > 65535) return std::nullopt;
  }
  return lower(host.substr(0, end));
}

// 192.168.1.7 or [fe80::1].
bool is_number(std::string_view name) {
  if (name.starts_with('[')) return true;
  const auto parts = split(name, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           const auto number = parse_integer(part);
           return part.size() <= 3 && number && *number >= 0 && *number <= 255;
         });
}

bool is_all(std::string_view address) { return address == "0.0.0.0" || address == "::"; }

std::string bracketed(const std::string& address) {
  return address.find(':') == std::string::npos ? lower(address) : "[" + lower(address) + "]";
}

}  // namespace

bool is_loopback(std::string_view address) {
  return address == "localhost" || address == "::1" || (address.starts_with("127.") && is_number(address));
}

Hosts::Hosts(const std::string& listens_at, const std::string& machine) {
  names_ = {"localhost", "127.0.0.1", "[::1]"};
  if (!listens_at.empty()) names_.push_back(bracketed(listens_at));
  all_numbers_ = is_all(listens_at);
  if (all_numbers_ && !machine.empty()) names_.push_back(lower(machine));
}

bool Hosts::holds(std::string_view host) const {
  const auto name = name_of(host);
  if (!name) return false;
  return std::find(names_.begin(), names_.end(), *name) != names_.end() || (all_numbers_ && is_number(*name));
}

std::optional<HttpResponse> check_border(const HttpRequest& request, const Hosts& hosts) {
  const std::string* host = request.header("host");
  if (host == nullptr || !hosts.holds(*host))
    return refusal(421, host == nullptr ? "found no Host, expected localhost"
                                        : "found the host " + quoted(*host) +
                                              ", expected localhost or the address that is listened at");
  const std::string* origin = request.header("origin");
  if (origin != nullptr && *origin != "http://" + *host && *origin != "https://" + *host)
    return refusal(403, "found a page of " + quoted(*origin) + ", expected one of this server");
  const std::string* site = request.header("sec-fetch-site");
  const bool changes = request.method != "GET" && request.method != "HEAD";
  if (site != nullptr && *site != "same-origin" && *site != "none" && changes)
    return refusal(403, "found a page of another site, expected one of this server");
  if (request.method != "POST") return std::nullopt;
  const std::string* type = request.header("content-type");
  const std::string stated = type == nullptr ? "" : lower(trim(type->substr(0, type->find(';'))));
  if (stated != "application/json")
    return refusal(415, stated.empty() ? "found no Content-Type, expected application/json"
                                       : "found " + quoted(stated) + ", expected application/json");
  return std::nullopt;
}

}  // namespace foretrain
