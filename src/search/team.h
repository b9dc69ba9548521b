// Those who search together: one process, or the ranks of an MPI job (apps/foretrain_mpi/mpi_team.cc). Each does
// its share of a round, then all learn what all have found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

class Team {
 public:
  virtual ~Team() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // What each rank gave, in the order of ranks; the same on all of them.
  virtual std::vector<std::string> all_gather(std::string_view mine) = 0;
  // This rank cannot go on, and the others must not wait for it: ends all of them with this exit status,
  // where it can.
  virtual void give_up(int /*status*/) {}
};

}  // namespace foretrain
