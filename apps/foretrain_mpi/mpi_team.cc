// The ranks of an MPI job. All ranks come to the same exchanges in the same order; messages are bytes of one
// machine's kind.
#include <mpi.h>

#include <vector>

#include "make_team.h"

namespace foretrain {
namespace {

class MpiTeam final : public Team {
 public:
  MpiTeam(int& argc, char**& argv) {
    // Threads search, one of them speaks.
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiTeam() override { MPI_Finalize(); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void give_up(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

  std::vector<std::string> all_gather(std::string_view mine) override {
    // One after another tells the rest: lengths may be beyond what a gather of ints counts.
    std::vector<std::string> all(static_cast<std::size_t>(size_));
    for (int r = 0; r < size_; ++r) {
      std::string& text = all[static_cast<std::size_t>(r)];
      unsigned long long length = mine.size();
      MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, r, MPI_COMM_WORLD);
      if (r == rank_)
        text = mine;
      else
        text.resize(length);
      constexpr std::size_t kMost = 1u << 30;
      for (std::size_t at = 0; at < length; at += kMost)
        MPI_Bcast(text.data() + at, static_cast<int>(std::min<std::size_t>(kMost, length - at)), MPI_BYTE, r,
                  MPI_COMM_WORLD);
    }
    return all;
  }

 private:
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::unique_ptr<Team> make_team(int& argc, char**& argv) { return std::make_unique<MpiTeam>(argc, argv); }

}  // namespace foretrain
