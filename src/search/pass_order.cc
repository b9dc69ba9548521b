#include "search/pass_order.h"

#include <algorithm>
#include <array>

#include "spec/plan_fields.h"

namespace foretrain {

PassOrder::PassOrder() {
  const std::array<std::string_view, 5> others = {"gpus", plan_field<&Plan::pp>.key,
                                                  plan_field<&Plan::dp>.key, plan_field<&Plan::schedule>.key,
                                                  plan_field<&Plan::vpp>.key};
  for (std::size_t i = 0; i < outer_count(); ++i)
    if (std::find(others.begin(), others.end(), dimensions()[i].name) == others.end())
      dimensions_.push_back(i);
}

bool PassOrder::operator()(const Item& a, const Item& b) const {
  for (const std::size_t i : dimensions_)
    if (const Value of_a = a.family.value(i), of_b = b.family.value(i); of_a != of_b) return of_a < of_b;
  return b.after(a);
}

}  // namespace foretrain
