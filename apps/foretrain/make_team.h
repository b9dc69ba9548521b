// The ranks that were started together: none in the program itself (no_team.cc), those of an MPI job in
// foretrain-mpi (mpi_team.cc).
#pragma once

#include <memory>

#include "search/team.h"

namespace foretrain {

std::unique_ptr<Team> make_team(int& argc, char**& argv);  // null: this process alone

}  // namespace foretrain
