// Who may ask what: the checks that every request passes before anybody looks at what it asks.
//
// A browser sends any page's requests to this machine. A page of another origin is known by its Origin, and may do
// nothing; a name that somebody else's DNS leads here (DNS rebinding) is known by its Host, and is nobody's. What changes
// something or costs time is a POST of application/json or a DELETE, which a browser does not send across origins unasked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/message.h"

namespace foretrain {

// Names by which this server is called, without a port: a tunnel may lead here from another one.
class Hosts {
 public:
  // localhost, 127.0.0.1 and [::1]; the address that is listened at; where that is all of them, every address that is
  // stated in numbers, and `machine`, the name of this one.
  explicit Hosts(const std::string& listens_at = {}, const std::string& machine = {});

  bool holds(std::string_view host) const;  // "localhost:8080", "[::1]"

 private:
  std::vector<std::string> names_;
  bool all_numbers_ = false;
};

bool is_loopback(std::string_view address);

// What is wrong with a request, whatever it asks; none: nothing is.
std::optional<HttpResponse> check_border(const HttpRequest& request, const Hosts& hosts);

}  // namespace foretrain
