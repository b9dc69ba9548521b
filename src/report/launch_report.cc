#include "report/launch_report.h"

#include "base/json.h"

namespace foretrain {

namespace {

void put_launch(JsonWriter& w, const WholeLaunch& whole) {
  const Launch& launch = whole.launch;
  w.key("framework").value(launch.framework);
  w.key("argv").begin_array();
  for (const std::string& word : launch.argv()) w.value(word);
  w.end_array().key("env").begin_object();
  for (const auto& [name, value] : launch.env) w.key(name).value(value);
  w.end_object().key("files").begin_array();
  for (const Launch::File& file : launch.files)
    w.begin_object().key("name").value(file.name).key("text").value(file.text).end_object();
  w.end_array();
  w.key("nodes").value(whole.run.nodes()).key("gpus_per_node").value(whole.run.processes());
  w.key("beyond").begin_array();
  for (const Launch::Blank& blank : launch.beyond) {
    w.begin_object().key("name").value(blank.name).key("what").value(blank.what).key("usual");
    if (blank.usual.empty())
      w.null();
    else
      w.value(blank.usual);
    w.end_object();
  }
  w.end_array().key("notes").begin_array();
  for (const std::string& line : whole.about) w.value(line);
  for (const std::string& line : launch.notes) w.value(line);
  w.end_array();
}

}  // namespace

void write_launch(JsonWriter& w, const WholeLaunch& whole) {
  put_launch(w.begin_object(), whole);
  w.end_object();
}

std::string launch_json(const WholeLaunch& whole) {
  JsonWriter w;
  put_launch(w.begin_answer(), whole);
  w.end_object();
  return w.text();
}

}  // namespace foretrain
