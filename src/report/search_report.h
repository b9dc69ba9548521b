// What a search found, as people read it, as scripts read it, and as a page.
//
//   llama-3-8b (8.03 B parameters) on dgx-h100: 8 x h100-80gb-sxm, stack megatron, profile h100-80gb-sxm
//   64 x 8192 tokens a step; best by time; up to 79.2 GiB a GPU
//   69,215 plans: 2,117 evaluated, 38,010 do not fit, 29,088 cannot be better
//
//           step      80 % interval    memory    fits    MFU  GPU-h/Btok  plan
//       1  6.75 s  5.653 to 8.052 s  57.2 GiB  > 99 %  50.6 %        28.6  tp=2,sp=1,dp=4,zero=1,...
//          41 plans, the last +2.3 %: = overlap_param_gather=0 +0.2 %; sp=0 +0.6 %, +4.4 GiB; ...
//   ...
//
// One row a way to split model and data, with what its other plans change; or every plan by itself.
//
// The rows of the CSV are every plan that was timed, in the order of the search.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "calibrate/calibration.h"
#include "search/answer.h"

namespace foretrain {

class JsonWriter;
struct WholeLaunch;

enum class SearchList : unsigned char { kFamilies, kAll };

std::string search_text(const SearchAnswer& answer, SearchList list = SearchList::kFamilies);
// What was searched, under which limits and with which counts; of several batches or lengths, all of these.
std::string search_head_text(const SearchAnswer& answer, const BatchPoints* over = nullptr);
// `launch`: of its best plan, where one was asked for.
std::string search_json(const SearchAnswer& answer, const WholeLaunch* launch = nullptr,
                        const Standing* standing = nullptr);
// Keys of the JSON that searches have in common; of several batches or lengths, all of these.
void put_search_counts(JsonWriter& writer, const SearchAnswer& answer);
void put_problem(JsonWriter& writer, const SearchAnswer& answer, const BatchPoints* over = nullptr);
// `dots` are plans for the scatter besides those kept.
std::string search_html(const SearchAnswer& answer, std::span<const ScoredPlan> dots,
                        SearchList list = SearchList::kFamilies);

std::string search_csv_header();
// `launched_by`: frameworks that run it, where the search was for any.
std::string search_csv_row(const Problem& problem, const ScoredPlan& scored, const Candidate& candidate,
                           std::span<const std::string> launched_by = {});

// What a plan costs: GPU-hours for 10^9 tokens; and USD, where its cluster states a price.
double gpu_hours_per_billion(const RankedPlan& plan);
std::optional<double> usd_per_billion(const RankedPlan& plan);

// What a variant makes of its family's best: "+0.6 %, +4.4 GiB", by what is best.
std::string variant_figures(const SearchAnswer& answer, const ListFamily& family,
                            const FamilyVariant& variant);
// How much more the objective's figure is than the best's, in percent.
double percent_more(const SearchAnswer& answer, const ScoredPlan& plan, const ScoredPlan& best);

// Where there is no best: whether it is memory that some plan has enough of.
bool some_plan_fits(const SearchAnswer& answer);

}  // namespace foretrain
