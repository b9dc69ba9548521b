#include "samples/topo.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/files.h"
#include "base/text.h"
#include "samples/log_line.h"

namespace foretrain {
namespace {

constexpr std::size_t kMostDevices = 1024, kLongestLine = 1 << 16;
constexpr double kPcieGbytes = 25;  // what PCIe 4 x16 reaches of its 31.5

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "GPU0", and no more digits than any machine has.
bool is_gpu(std::string_view word) {
  return word.starts_with("GPU") && word.size() < 8 && is_number(word.substr(3));
}
bool is_link(std::string_view word) {
  constexpr std::string_view kLinks[] = {"X", "SYS", "NODE", "PHB", "PXB", "PIX", "PSB", "SOC"};
  if (word.starts_with("NV") && is_number(word.substr(2))) return true;
  return std::find(std::begin(kLinks), std::end(kLinks), word) != std::end(kLinks);
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  const std::string plain = without_colours(line);
  std::string_view rest = trim(plain);
  if (rest.starts_with('>')) rest.remove_prefix(1);  // a quotation of Markdown
  while (true) {
    const std::size_t at = rest.find_first_not_of(" \t");
    if (at == std::string_view::npos) return words;
    const std::size_t end = std::min(rest.find_first_of(" \t", at), rest.size());
    words.emplace_back(rest.substr(at, end - at));
    rest = rest.substr(end);
  }
}

// The devices that a header names, up to its columns about the CPU; none where it is no header.
std::vector<std::string> devices_of(const std::vector<std::string>& words) {
  std::vector<std::string> devices;
  if (words.empty() || !is_gpu(words[0])) return devices;
  for (const std::string& word : words) {
    if (word == "CPU" || word == "NUMA" || is_link(word)) break;
    devices.push_back(word);
  }
  const bool is_header =
      words.size() == devices.size() || words[devices.size()] == "CPU" || words[devices.size()] == "NUMA";
  return is_header ? devices : std::vector<std::string>();
}

struct Table {
  std::vector<std::string> devices;
  std::map<std::string, std::vector<std::string>> rows;  // links of a device, in order of devices
  std::set<std::string> numa;
  int header = 0;
};

Result<void> read_row(const std::vector<std::string>& words, const Position& at, Table& table) {
  const auto is_device =
      std::find(table.devices.begin(), table.devices.end(), words[0]) != table.devices.end();
  if (!is_device) return {};
  std::vector<std::string> links;
  for (std::size_t i = 1; i < words.size() && links.size() < table.devices.size() && is_link(words[i]); ++i)
    links.push_back(words[i]);
  if (links.size() != table.devices.size()) {
    if (!is_gpu(words[0])) return {};  // the last line of what was cut
    return fail(fmt::format("found {} links of {}, expected {} as in the header of line {}", links.size(),
                            printable(words[0]), table.devices.size(), table.header),
                at);
  }
  if (!table.rows.emplace(words[0], links).second)
    return fail(fmt::format("found {} twice, expected one table", quoted(words[0])), at);
  // CPU affinity, then the NUMA node: "1", or "0,2-17" where GPUs' memory is nodes too.
  const std::size_t numa = links.size() + 2;
  if (is_gpu(words[0]) && numa < words.size() && is_number(words[numa].substr(0, 1)))
    table.numa.insert(words[numa]);
  return {};
}

// A line of each GPU was read: what follows as a table is another (topo -p2p, the next node).
bool is_complete(const Table& table) {
  return std::all_of(table.devices.begin(), table.devices.end(), [&](const std::string& device) {
    return !is_gpu(device) || table.rows.contains(device);
  });
}

Result<Table> read_table(std::string_view text, const std::string& file) {
  Table table;
  int line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++line_number;
    const auto words = words_of(text.substr(begin, std::min(end - begin, kLongestLine)));
    begin = end + 1;
    if (words.empty()) continue;
    if (table.devices.empty()) {
      table.devices = devices_of(words);
      table.header = line_number;
      if (table.devices.size() > kMostDevices)
        return fail(fmt::format("found {} devices, expected at most {}", table.devices.size(), kMostDevices),
                    Position{file, line_number, 1});
    } else if (is_complete(table) && !devices_of(words).empty()) {
      break;
    } else {
      TRY(read_row(words, {file, line_number, 1}, table));
    }
  }
  if (table.devices.empty())
    return fail("found no header of GPUs ('GPU0 GPU1 ...'), expected the output of nvidia-smi topo -m",
                Position{file, 1, 1});
  for (const std::string& device : table.devices)
    if (is_gpu(device) && !table.rows.contains(device))
      return fail(fmt::format("found no line of {}, expected one for every GPU of the header", device),
                  Position{file, table.header, 1});
  return table;
}

// GPUs of the largest group that NVLink joins.
std::int64_t largest_domain(const Table& table, const std::vector<std::size_t>& gpus) {
  std::vector<std::size_t> group(table.devices.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (const std::size_t a : gpus)
    for (const std::size_t b : gpus)
      if (table.rows.at(table.devices[a])[b].starts_with("NV"))
        for (const std::size_t c : gpus)
          if (c != a && group[c] == group[b] && group[b] != group[a]) group[c] = group[a];
  std::int64_t largest = 1;
  for (const std::size_t a : gpus)
    largest = std::max<std::int64_t>(largest, std::count_if(gpus.begin(), gpus.end(), [&](std::size_t b) {
                                       return group[b] == group[a];
                                     }));
  return largest;
}

}  // namespace

Result<Topology> parse_topo(std::string_view text, const std::string& file_name) {
  TRY_ASSIGN(const Table table, read_table(text, file_name));
  Topology found;
  found.file = file_name;
  std::vector<std::size_t> gpus;
  for (std::size_t i = 0; i < table.devices.size(); ++i)
    if (is_gpu(table.devices[i])) gpus.push_back(i);
  found.gpus = static_cast<std::int64_t>(gpus.size());
  found.nics = static_cast<std::int64_t>(table.devices.size() - gpus.size());
  found.numa_nodes = static_cast<std::int64_t>(table.numa.size());
  for (const auto& [device, links] : table.rows)
    for (const std::string& link : links)
      if (link != "X") found.links.insert(link);
  std::set<std::string> between;
  for (const std::size_t a : gpus)
    for (const std::size_t b : gpus)
      if (a != b) between.insert(table.rows.at(table.devices[a])[b]);
  if (between.size() == 1 && between.begin()->starts_with("NV"))
    found.nvlinks = parse_integer(std::string_view(*between.begin()).substr(2)).value_or(0);
  found.nvlink_domain = largest_domain(table, gpus);
  for (std::size_t nic = 0; nic < table.devices.size(); ++nic) {
    if (is_gpu(table.devices[nic])) continue;
    found.near_nics += std::any_of(gpus.begin(), gpus.end(), [&](std::size_t gpu) {
      const std::string& link = table.rows.at(table.devices[gpu])[nic];
      return link == "PIX" || link == "PXB";
    });
  }
  if (found.nvlinks > 1000)
    return fail("found more than 1000 NVLinks, expected fewer", Position{file_name, 1, 1});
  return found;
}

namespace {

// Each pair has its own links where they add up to what a GPU has; a switch gives every pair all of them.
bool is_switched(const Topology& topology) {
  constexpr std::int64_t kMostLinks = 18;
  return topology.gpus > 2 && topology.nvlinks * (topology.gpus - 1) > kMostLinks;
}
std::int64_t links_of_gpu(const Topology& topology) {
  return is_switched(topology) ? topology.nvlinks : topology.nvlinks * (topology.gpus - 1);
}

}  // namespace

std::string usual_gpu(const Topology& topology) {
  switch (links_of_gpu(topology)) {
    case 18:
      return "h100-80gb-sxm";
    case 12:
      return "a100-80gb-sxm";
    case 8:
      return "a800-80gb-sxm";
    default:
      return "l40s";
  }
}

TopoCluster topo_cluster(const Topology& topology, const std::string& gpu, double nvlink_gbytes,
                         bool gpu_is_assumed) {
  TopoCluster made;
  std::string& yaml = made.yaml;
  const auto assume = [&](const std::string& what) {
    made.assumed.push_back(what);
    return "  # assumed: " + what;
  };
  yaml = fmt::format("# From nvidia-smi topo -m: {} GPUs, {} NICs ({} of them beside a GPU)", topology.gpus,
                     topology.nics, topology.near_nics);
  if (topology.numa_nodes > 0) yaml += fmt::format(", {} NUMA nodes", topology.numa_nodes);
  yaml += "; links";
  for (const std::string& link : topology.links) yaml += ' ' + link;
  yaml += "\nname: from-topo\nsource: \"nvidia-smi topo -m\"\ngpu: " + gpu;
  if (gpu_is_assumed)
    yaml += assume(topology.nvlinks > 0 ? fmt::format("{} NVLinks a GPU", links_of_gpu(topology))
                                        : "a card without NVLink; the table names none");
  yaml += fmt::format("\ngpus_per_node: {}\nintra:\n", topology.gpus);
  if (topology.nvlinks > 0 || topology.gpus == 1) {
    constexpr double kLinkGbytes = 25;  // NVLink 2 to 4, each way
    const double own = kLinkGbytes * static_cast<double>(std::max<std::int64_t>(1, links_of_gpu(topology)));
    const double rate = nvlink_gbytes > 0 && links_of_gpu(topology) >= 8 ? nvlink_gbytes : own;
    yaml += fmt::format("  gbytes: {:g}  # {} NVLinks a GPU, each way\n", rate, links_of_gpu(topology));
    if (topology.gpus > 2 && !is_switched(topology))
      yaml += fmt::format("  pair_gbytes: {:g}  # NV{} between two GPUs, no switch\n",
                          rate / static_cast<double>(topology.gpus - 1), topology.nvlinks);
    yaml += "  latency_us: 3.4" + assume("NCCL's tuning.cc: a step of a ring over NVLink") + "\n";
  } else {
    const std::string of_groups = topology.nvlink_domain > 1
                                      ? fmt::format("; NVLink joins {} of {} GPUs, others share PCIe",
                                                    topology.nvlink_domain, topology.gpus)
                                      : "";
    yaml += fmt::format("  gbytes: {:g}", kPcieGbytes) + assume("PCIe 4 x16" + of_groups) + "\n";
    yaml += "  latency_us: 5.7" + assume("NCCL's tuning.cc: a step of a ring over PCIe") + "\n";
  }
  if (topology.nics > 0) {
    const std::int64_t nics = topology.near_nics > 0 ? topology.near_nics : topology.nics;
    const std::int64_t gbps = links_of_gpu(topology) >= 18 ? 400 : 200;
    yaml += fmt::format("inter:\n  gbps: {}", nics * gbps) +
            assume(fmt::format("{} Gbit/s a NIC; the table tells no rates", gbps)) + "\n";
    yaml += fmt::format("  nics: {}", nics) + (topology.near_nics > 0
                                                   ? "  # beside a GPU, by PCIe switches alone\n"
                                                   : assume("all take part") + "\n");
    yaml += "  latency_us: 14" + assume("NCCL's tuning.cc: a step of a ring over a network") +
            "\n  assumed: true\n";
  }
  yaml += "host_launch_us: 6" + assume("a server of EPYC or Xeon, PyTorch eager") + "\n";
  return made;
}

}  // namespace foretrain
