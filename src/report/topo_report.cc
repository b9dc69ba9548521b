#include "report/topo_report.h"

#include "base/json.h"

namespace foretrain {

std::string topo_json(const Topology& topology, const TopoCluster& cluster) {
  JsonWriter writer;
  writer.begin_answer().key("file").value(topology.file).key("format").value("topo");
  writer.key("gpus").value(topology.gpus).key("nics").value(topology.nics);
  writer.key("nics_beside_gpus").value(topology.near_nics).key("numa_nodes").value(topology.numa_nodes);
  writer.key("nvlinks").value(topology.nvlinks).key("nvlink_domain").value(topology.nvlink_domain);
  writer.key("links").begin_array();
  for (const std::string& link : topology.links) writer.value(link);
  writer.end_array().key("cluster").value(cluster.yaml).key("assumed").begin_array();
  for (const std::string& what : cluster.assumed) writer.value(what);
  writer.end_array().end_object();
  return writer.text();
}

}  // namespace foretrain
