// Tasks in their order. A copy shares them until it is changed: chunks of many sizes are put together of the same few
// units, and most are never changed.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "workload/task.h"

namespace foretrain {

class TaskList {
 public:
  TaskList() = default;
  TaskList(std::vector<Task> tasks) : tasks_(std::make_shared<std::vector<Task>>(std::move(tasks))) {}
  TaskList(std::initializer_list<Task> tasks) : TaskList(std::vector<Task>(tasks)) {}

  std::size_t size() const { return tasks_ ? tasks_->size() : 0; }
  bool empty() const { return size() == 0; }
  const Task* begin() const { return tasks_ ? tasks_->data() : nullptr; }
  const Task* end() const { return begin() + size(); }
  const Task& operator[](std::size_t i) const { return (*tasks_)[i]; }
  const Task& front() const { return tasks_->front(); }
  const Task& back() const { return tasks_->back(); }

  // To be changed: its own from here on.
  std::vector<Task>& edit() {
    if (!tasks_)
      tasks_ = std::make_shared<std::vector<Task>>();
    else if (tasks_.use_count() > 1)
      tasks_ = std::make_shared<std::vector<Task>>(*tasks_);
    return *tasks_;
  }
  void push_back(Task task) { edit().push_back(std::move(task)); }

  bool operator==(const TaskList& other) const {
    return tasks_ == other.tasks_ || std::ranges::equal(*this, other);
  }

 private:
  std::shared_ptr<std::vector<Task>> tasks_;
};

}  // namespace foretrain
