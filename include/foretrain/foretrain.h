/* foretrain.h: what a training step of a large language model takes on a cluster, what memory it needs and which plan
 * is best, asked from a program. Requests and answers are texts in JSON; tables of plans are arrays.
 *
 *   foretrain_session* session = foretrain_session_open(NULL);
 *   char* answer = foretrain_answer(session, "predict",
 *       "{\"model\": \"llama-3-8b\", \"cluster\": \"dgx-h100\", \"gpus\": 64, \"global_batch\": 512,"
 *       " \"plan\": {\"tp\": 2, \"zero\": 1}}");
 *   if (answer == NULL) fputs(foretrain_last_error(), stderr); else puts(answer);
 *   foretrain_free(answer);
 *   foretrain_session_close(session);
 *
 * Compile and link with CMake (find_package(foretrain), foretrain::foretrain) or pkg-config (foretrain). docs/library.md
 * is its manual; docs/formats/ says what stands in requests and answers.
 *
 * Texts. What goes in is UTF-8 and ends with a zero; it is not kept. A char* that comes out is the caller's, who
 * gives it back to foretrain_free; a const char* is not.
 *
 * Failures. A function that gives a handle or a text gives NULL where it failed, one that gives an int gives a negative
 * number; foretrain_last_error() then says why. No C++ exception comes out, no signal is raised, nothing is printed, and
 * the process is never ended.
 *
 * Threads. Every function may be called from any thread at any time, on the same handle too. Calls on one session or
 * run go on beside each other: each works on memos of its own, which are kept for the next. progress, wait and cancel
 * of a search never wait for the search's own work. The last error belongs to the thread. Two things are the caller's
 * to keep: a handle is closed once, when no other call on it is under way; and arrays that a call reads or fills are
 * nobody else's meanwhile. A fork()ed child may open handles of its own, and leaves the parent's alone.
 *
 * Handles keep what they need: a session may be closed before the runs and searches that were opened by it.
 *
 * "REQUIRES" says what a caller has to see to. What can be tested cheaply is tested all the same, and refused.
 */
#ifndef FORETRAIN_FORETRAIN_H_
#define FORETRAIN_FORETRAIN_H_

#include <stddef.h>
#include <stdint.h>

/* Of this header. While the first is 0, a new second number may change what functions mean; then the shared library's
 * name changes too (libforetrain.so.0.1). */
#define FORETRAIN_VERSION_MAJOR 0
#define FORETRAIN_VERSION_MINOR 1
#define FORETRAIN_VERSION_PATCH 0
#define FORETRAIN_VERSION_NUMBER \
  (FORETRAIN_VERSION_MAJOR * 10000 + FORETRAIN_VERSION_MINOR * 100 + FORETRAIN_VERSION_PATCH)

#if defined(__GNUC__)
#define FORETRAIN_API __attribute__((visibility("default")))
#else
#define FORETRAIN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of the library that runs: FORETRAIN_VERSION_NUMBER of its header, and "0.1.0". */
FORETRAIN_API int foretrain_version_number(void);
FORETRAIN_API const char* foretrain_version(void);

/* Why the last call that failed on this thread did, in JSON:
 *   {"error": {"message": ..., "field": ..., "file": ..., "line": ..., "column": ..., "kind": ...}}
 * `field` is the key of the request at fault, or null; `kind` is "input", "machine" (out of memory, threads or disk) or
 * "fault" (ours). Good until the next call that fails on this thread; "{}" where none has. */
FORETRAIN_API const char* foretrain_last_error(void);

/* Gives a text back. NULL is fine. */
FORETRAIN_API void foretrain_free(char* text);

/* ---- Sessions: where names lead, and what is worth keeping from one question to the next ---- */

typedef struct foretrain_session foretrain_session;

/* `options` in JSON, or NULL:
 *   presets  a folder laid out like presets/, looked in before what is built in
 *   files    whether words of requests that are paths may be opened; true unless it says false, as it should where
 *            requests are a stranger's
 * Nothing is read before it is asked for. Files that requests name are read again for each; a profile stays as it was when
 * it was first read. */
FORETRAIN_API foretrain_session* foretrain_session_open(const char* options);
FORETRAIN_API void foretrain_session_close(foretrain_session* session);

/* The answer to a request: `verb` is a subcommand's name (predict, compare, convert, list, show, cost, validate,
 * diagnose, ...), `request` its words and contents (docs/formats/api.md), NULL for {}. What it gives is what the command
 * line prints with --json.
 * REQUIRES: session and verb are not NULL */
FORETRAIN_API char* foretrain_answer(foretrain_session* session, const char* verb, const char* request);

/* ---- Runs: one model, cluster, stack, batch and number of GPUs, asked about plan after plan ---- */

typedef struct foretrain_run foretrain_run;

/* `request` as of predict, without a calibration, which is asked of predict and of searches. Its plan is where others start
 * from; whether a run can have it is known when it is asked about, so it need not be one that can. */
FORETRAIN_API foretrain_run* foretrain_run_open(foretrain_session* session, const char* request);
FORETRAIN_API void foretrain_run_close(foretrain_run* run);

/* The answer of predict, for the run's plan with these keys changed ("tp=4,recompute=full"; NULL or "": none). */
FORETRAIN_API char* foretrain_run_predict(foretrain_run* run, const char* plan);

enum { FORETRAIN_FITS = 0, FORETRAIN_MAY_NOT_FIT = 1, FORETRAIN_DOES_NOT_FIT = 2 };

typedef struct foretrain_score {
  double step_s;     /* seconds of a step */
  double step_low_s; /* its 80 % interval */
  double step_high_s;
  double needed_bytes;    /* on the GPU that needs the most */
  double fit_probability; /* that these fit */
  int32_t verdict;        /* FORETRAIN_FITS, _MAY_NOT_FIT or _DOES_NOT_FIT */
  int32_t reserved;
} foretrain_score;

/* The figures alone, many times as fast. 0: `score` is filled.
 * REQUIRES: score is not NULL */
FORETRAIN_API int foretrain_run_score(foretrain_run* run, const char* plan, foretrain_score* score);

/* A key of plans with a value for each plan. `whole` or `real` holds the values, the other is NULL.
 *   numbers, and 0 or 1        the value itself
 *   words                      a code. Without `words` it is that of the field's own (foretrain_plan_fields); otherwise
 *                              the place in `words`, from 0, which are read as the command line's --plan reads them
 * FORETRAIN_MISSING, NaN, or of words any negative code: the plan has what the run's plan says. */
#define FORETRAIN_MISSING INT64_MIN
typedef struct foretrain_column {
  const char* key;
  const int64_t* whole;
  const double* real;
  const char* const* words; /* NULL: none */
  size_t word_count;
} foretrain_column;

/* What is told of each plan, arrays of as many entries as plans; NULL: not wanted. */
enum { FORETRAIN_SCORED = 0, FORETRAIN_REFUSED = 1 };
typedef struct foretrain_scores {
  double* step_s; /* as of foretrain_score; NaN of a plan that is refused */
  double* step_low_s;
  double* step_high_s;
  double* needed_bytes;
  double* fit_probability;
  int32_t* verdict; /* -1 of a plan that is refused */
  int32_t* status; /* FORETRAIN_SCORED, or FORETRAIN_REFUSED: no run can have it, see foretrain_run_refusal */
} foretrain_scores;

/* Scores `plans` plans given by `columns` columns. 0, or a negative number where nothing was scored: columns that no plan
 * has, that stand twice, or whose values are of no use to anybody. A plan that cannot be is no failure of the call.
 * REQUIRES: column holds so many columns, each with so many values; likewise each array of scores */
FORETRAIN_API int foretrain_run_score_plans(foretrain_run* run, size_t plans, const foretrain_column* column,
                                            size_t columns, const foretrain_scores* scores);

/* Why one of these plans was refused: `why` is set to a text in the JSON of foretrain_last_error, the caller's, or to NULL
 * where it was not. 0, or a negative number as above.
 * REQUIRES: as above, i < plans, and why is not NULL */
FORETRAIN_API int foretrain_run_refusal(foretrain_run* run, size_t plans, const foretrain_column* column,
                                        size_t columns, size_t i, char** why);

/* The keys of a plan, in JSON: [{"key": "tp", "kind": "whole", "low": 1, "high": 1000000, "meaning": ...}, ...]. `kind` is
 * whole, real, flag (numbers), word (of `words`, whose codes are their places), words (some of them, joined by +) or text. */
FORETRAIN_API char* foretrain_plan_fields(void);

/* ---- Searches: the best plan of all, on threads of their own ---- */

typedef struct foretrain_search foretrain_search;

/* Refuses what is wrong with the request, otherwise starts. `request` as of `foretrain search` (docs/formats/api.md). */
FORETRAIN_API foretrain_search* foretrain_search_start(foretrain_session* session, const char* request);

/* How far it is, in JSON: {"decided": plans, "all": plans, "best_s": seconds of the best step so far, "gap": how much
 * better another plan can be at most, as a share of it, "point": of several searches which one, "points": how many};
 * what is not known is null. */
FORETRAIN_API char* foretrain_search_progress(foretrain_search* search);

/* Waits for its end, at most so many seconds. 1: it has ended, 0: not yet. */
FORETRAIN_API int foretrain_search_wait(foretrain_search* search, double seconds);

/* Asks it to stop soon; its answer then is the best so far, and says so ("interrupted"). */
FORETRAIN_API void foretrain_search_cancel(foretrain_search* search);

/* Waits for its end, and gives what the command line prints with --json. It may be asked again. */
FORETRAIN_API char* foretrain_search_answer(foretrain_search* search);

/* Cancels it and waits for its end. */
FORETRAIN_API void foretrain_search_close(foretrain_search* search);

#ifdef __cplusplus
}
#endif

#endif /* FORETRAIN_FORETRAIN_H_ */
