#include "report/json_csv.h"

#include <doctest/doctest.h>

#include "base/json.h"

namespace foretrain {
namespace {

TEST_CASE("the objects of a list are rows, and what only one of them has is a column of all") {
  JsonWriter w;
  w.begin_answer().key("gpu").value("h100").key("rows").begin_array();
  w.begin_object().key("operator").value("linear").key("us").value(1.5).end_object();
  w.begin_object()
      .key("operator")
      .value("a,\"b\"")
      .key("peak")
      .begin_object()
      .key("when")
      .value("now")
      .end_object();
  w.key("sizes").begin_array().value(1).value(2).end_array().key("us").null().end_object();
  w.end_array().key("summary").begin_array().begin_object().key("us").value(7).end_object().end_array();
  w.end_object();
  CHECK(csv_of(w.text(), "rows") == "operator,us,peak.when,sizes\nlinear,1.5,,\n\"a,\"\"b\"\"\",,now,1 2\n");
}

TEST_CASE("an answer is one row, several are several; lists of objects are left out") {
  const auto put = [](JsonWriter& w, double step) {
    w.begin_answer().key("step_s").value(step).key("stages").begin_array();
    w.begin_object().key("layers").value(3).end_object().end_array().end_object();
  };
  JsonWriter one;
  put(one, 1.5);
  CHECK(csv_of(one.text(), "") == "version,step_s\n1,1.5\n");
  JsonWriter two;
  two.begin_array();
  put(two, 1.5);
  put(two, 2.5);
  two.end_array();
  CHECK(csv_of(two.text(), "") == "version,step_s\n1,1.5\n1,2.5\n");
}

TEST_CASE("a list without objects has no rows") {
  JsonWriter w;
  w.begin_answer().key("rows").begin_array().end_array().end_object();
  CHECK(csv_of(w.text(), "rows").empty());
}

}  // namespace
}  // namespace foretrain
