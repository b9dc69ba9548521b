// foretrain.hpp: foretrain.h for C++17 and later: handles that close themselves, failures as exceptions, texts as
// strings. All of it is inline, over the C functions alone, so that any compiler's program can use the library.
//
//   foretrain::Session session;
//   foretrain::Run run = session.run(R"({"model": "llama-3-8b", "cluster": "dgx-h100", "gpus": 64, "global_batch": 512})");
//   for (const char* plan : {"tp=2,zero=1", "tp=4,zero=1"}) std::cout << run.score(plan).step_s << "\n";
#ifndef FORETRAIN_FORETRAIN_HPP_
#define FORETRAIN_FORETRAIN_HPP_

#include <foretrain/foretrain.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace foretrain {
inline namespace api {

// What a call was refused for; what() is the JSON of foretrain_last_error().
class Error : public std::runtime_error {
 public:
  Error() : std::runtime_error(foretrain_last_error()) {}
};

namespace detail {

struct Free {
  void operator()(char* text) const { foretrain_free(text); }
};
inline std::string taken(char* text) {
  if (text == nullptr) throw Error();
  const std::unique_ptr<char, Free> held(text);
  return held.get();
}

template <class Handle, void (*close)(Handle*)>
class Owner {
 public:
  explicit Owner(Handle* handle) : handle_(handle) {
    if (handle == nullptr) throw Error();
  }
  Handle* get() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(Handle* handle) const { close(handle); }
  };
  std::unique_ptr<Handle, Close> handle_;
};

}  // namespace detail

// Plans, a column for each key. Columns keep copies of what they are given.
class Plans {
 public:
  explicit Plans(std::size_t plans) : plans_(plans) {}

  Plans& whole(std::string key, std::vector<std::int64_t> values) {
    check(key, values.size());
    columns_.push_back({std::move(key), std::move(values), {}, {}});
    return *this;
  }
  Plans& real(std::string key, std::vector<double> values) {
    check(key, values.size());
    columns_.push_back({std::move(key), {}, std::move(values), {}});
    return *this;
  }
  // Codes of `words`, from 0.
  Plans& words(std::string key, std::vector<std::int64_t> codes, std::vector<std::string> words) {
    check(key, codes.size());
    columns_.push_back({std::move(key), std::move(codes), {}, std::move(words)});
    return *this;
  }
  std::size_t size() const { return plans_; }

 private:
  friend class Run;
  struct Column {
    std::string key;
    std::vector<std::int64_t> whole;
    std::vector<double> real;
    std::vector<std::string> words;
  };
  // As the C functions take them; they refer to this.
  struct View {
    std::vector<std::vector<const char*>> words;
    std::vector<foretrain_column> columns;
  };
  View view() const {
    View out;
    out.words.reserve(columns_.size());
    for (const Column& column : columns_) {
      std::vector<const char*>& words = out.words.emplace_back();
      for (const std::string& word : column.words) words.push_back(word.c_str());
      out.columns.push_back({column.key.c_str(), column.real.empty() ? column.whole.data() : nullptr,
                             column.real.empty() ? nullptr : column.real.data(),
                             words.empty() ? nullptr : words.data(), words.size()});
    }
    return out;
  }
  void check(const std::string& key, std::size_t values) const {
    if (values != plans_) throw std::invalid_argument(key + ": expected a value for each plan");
  }

  std::size_t plans_;
  std::vector<Column> columns_;
};

class Run {
 public:
  explicit Run(foretrain_run* run) : run_(run) {}

  std::string predict(const std::string& plan = "") {
    return detail::taken(foretrain_run_predict(run_.get(), plan.c_str()));
  }
  foretrain_score score(const std::string& plan = "") {
    foretrain_score score;
    if (foretrain_run_score(run_.get(), plan.c_str(), &score) < 0) throw Error();
    return score;
  }
  // A plan that no run can have has a step of NaN; refusal() says why.
  std::vector<foretrain_score> score(const Plans& plans) {
    const std::size_t n = plans.size();
    std::vector<double> figures(5 * n);
    std::vector<std::int32_t> verdicts(n);
    const foretrain_scores out = {figures.data(),
                                  figures.data() + n,
                                  figures.data() + 2 * n,
                                  figures.data() + 3 * n,
                                  figures.data() + 4 * n,
                                  verdicts.data(),
                                  nullptr};
    const Plans::View view = plans.view();
    if (foretrain_run_score_plans(run_.get(), n, view.columns.data(), view.columns.size(), &out) < 0)
      throw Error();
    std::vector<foretrain_score> scores(n);
    for (std::size_t i = 0; i < n; ++i)
      scores[i] = {
          figures[i], figures[n + i], figures[2 * n + i], figures[3 * n + i], figures[4 * n + i], verdicts[i],
          0};
    return scores;
  }
  // Nothing where the plan can be.
  std::optional<std::string> refusal(const Plans& plans, std::size_t i) {
    const Plans::View view = plans.view();
    char* why = nullptr;
    if (foretrain_run_refusal(run_.get(), plans.size(), view.columns.data(), view.columns.size(), i, &why) <
        0)
      throw Error();
    return why == nullptr ? std::nullopt : std::optional(detail::taken(why));
  }

 private:
  detail::Owner<foretrain_run, foretrain_run_close> run_;
};

class Search {
 public:
  explicit Search(foretrain_search* search) : search_(search) {}

  std::string progress() { return detail::taken(foretrain_search_progress(search_.get())); }
  // Whether it has ended by then.
  bool wait(double seconds) {
    const int ended = foretrain_search_wait(search_.get(), seconds);
    if (ended < 0) throw Error();
    return ended == 1;
  }
  void cancel() { foretrain_search_cancel(search_.get()); }
  std::string answer() { return detail::taken(foretrain_search_answer(search_.get())); }

 private:
  detail::Owner<foretrain_search, foretrain_search_close> search_;
};

class Session {
 public:
  explicit Session(const std::string& options = "{}") : session_(foretrain_session_open(options.c_str())) {}

  std::string answer(const std::string& verb, const std::string& request) {
    return detail::taken(foretrain_answer(session_.get(), verb.c_str(), request.c_str()));
  }
  Run run(const std::string& request) { return Run(foretrain_run_open(session_.get(), request.c_str())); }
  Search search(const std::string& request) {
    return Search(foretrain_search_start(session_.get(), request.c_str()));
  }

 private:
  detail::Owner<foretrain_session, foretrain_session_close> session_;
};

}  // namespace api
}  // namespace foretrain

#endif  // FORETRAIN_FORETRAIN_HPP_
