#include "samples/topo.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace foretrain;

namespace {

// Every pair of GPUs by `link`; a NIC beside each, and one more that is far from all.
std::string table(int gpus, const std::string& link, bool has_nics) {
  std::string text = "\t";
  for (int i = 0; i < gpus; ++i) text += fmt::format("\x1b[4mGPU{}\t", i);
  if (has_nics)
    for (int i = 0; i <= gpus; ++i) text += fmt::format("mlx5_{}\t", i);
  text += "CPU Affinity\tNUMA Affinity\x1b[0m\n";
  for (int i = 0; i < gpus; ++i) {
    text += fmt::format("GPU{}", i);
    for (int j = 0; j < gpus; ++j) text += i == j ? "\t X " : "\t" + link;
    if (has_nics)
      for (int j = 0; j <= gpus; ++j) text += i == j ? "\tPIX" : "\tSYS";
    text += fmt::format("\t0-15\t{}\n", i % 2);
  }
  return text + "\nLegend:\n\n  X    = Self\n";
}

Topology read(const std::string& text) {
  const auto topology = parse_topo(text, "t.txt");
  REQUIRE_MESSAGE(topology.has_value(), (topology ? "" : topology.error().text()));
  return *topology;
}

std::string error_of(const std::string& text) { return parse_topo(text, "t.txt").error().text(); }

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("eight GPUs behind a switch, a NIC each and one for management") {
  const Topology found = read(table(8, "NV18", true));
  CHECK(found.gpus == 8);
  CHECK(found.nics == 9);
  CHECK(found.near_nics == 8);
  CHECK(found.numa_nodes == 2);
  CHECK(found.nvlinks == 18);
  CHECK(found.nvlink_domain == 8);
  CHECK(found.links == std::set<std::string>{"NV18", "PIX", "SYS"});
  CHECK(usual_gpu(found) == "h100-80gb-sxm");
  const std::string yaml = topo_cluster(found, "h100-80gb-sxm", 450, true).yaml;
  CHECK(holds(yaml, "gpu: h100-80gb-sxm  # assumed: 18 NVLinks a GPU\n"));
  CHECK(holds(yaml, "  gbytes: 450  # 18 NVLinks a GPU, each way\n"));
  CHECK(!holds(yaml, "pair_gbytes"));
  CHECK(holds(yaml, "  gbps: 3200"));
  CHECK(holds(yaml, "  nics: 8  # beside a GPU"));
}

TEST_CASE("four GPUs joined pair by pair have three times the links of a pair") {
  const Topology found = read(table(4, "NV4", false));
  CHECK(usual_gpu(found) == "a100-80gb-sxm");
  const std::string yaml = topo_cluster(found, "a100-80gb-sxm", 300, true).yaml;
  CHECK(holds(yaml,
              "  gbytes: 300  # 12 NVLinks a GPU, each way\n  pair_gbytes: 100  # NV4 between two GPUs, no "
              "switch\n"));
  CHECK(!holds(yaml, "inter"));
}

TEST_CASE("without NVLink between all of them PCIe is what counts") {
  const Topology pairs = read(
      "        GPU0    GPU1    GPU2    GPU3    CPU Affinity\nGPU0     X      NV1     SYS     SYS     0-7\n"
      "GPU1    NV1      X      SYS     SYS     0-7\nGPU2    SYS     SYS      X      NV1     8-15\n"
      "GPU3    SYS     SYS     NV1      X      8-15\n");
  CHECK(pairs.nvlinks == 0);
  CHECK(pairs.nvlink_domain == 2);
  CHECK(pairs.numa_nodes == 0);
  const TopoCluster made = topo_cluster(pairs, "l40s", 0, true);
  CHECK(
      holds(made.yaml, "  gbytes: 25  # assumed: PCIe 4 x16; NVLink joins 2 of 4 GPUs, others share PCIe\n"));
  CHECK(made.assumed.size() == 4);
}

TEST_CASE("a table that follows is another, and a quotation is read") {
  const std::string one = table(2, "NV4", true);
  CHECK(read(one + "\n \tGPU0\tGPU1\t\n GPU0\tX\tGNS\t\n GPU1\tGNS\tX\t\n").nvlinks == 4);
  CHECK(read(one + "other node:\n" + one).gpus == 2);
  CHECK(read("> \tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n> GPU0\t X \tNV18\t0-71\t0,2-17\n"
             "> GPU1\tNV18\t X \t72-143\t1\n")
            .numa_nodes == 2);
}

TEST_CASE("a table cut below its GPUs is read, one cut inside them refused") {
  std::string text = table(2, "NV4", true);
  CHECK(read(text + "mlx5_0\tPIX\tSY").nics == 3);
  CHECK(error_of("\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\n") ==
        "t.txt:3:1: error: found 1 links of GPU1, expected 2 as in the header of line 1");
  CHECK(error_of("\tGPU0\tGPU1\nGPU0\tX\tNV4\n") ==
        "t.txt:1:1: error: found no line of GPU1, expected one for every GPU of the header");
  CHECK(error_of("GPU" + std::string(300, '1') + "\n") ==
        "t.txt:1:1: error: found no header of GPUs ('GPU0 GPU1 ...'), expected the output of nvidia-smi topo "
        "-m");
  CHECK(error_of("\tGPU0\nGPU0\tX\nGPU0\tX\n") == "t.txt:3:1: error: found 'GPU0' twice, expected one table");
  CHECK(error_of("hello\n") ==
        "t.txt:1:1: error: found no header of GPUs ('GPU0 GPU1 ...'), expected the output of nvidia-smi topo "
        "-m");
}
