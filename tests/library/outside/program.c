/* Scores plans as a scheduler would: the fastest that fits, of those with every tensor and pipeline degree. */
#include <foretrain/foretrain.h>
#include <stdio.h>

enum { PLANS = 9 };

int main(void) {
  if (foretrain_version_number() != FORETRAIN_VERSION_NUMBER) return fprintf(stderr, "another version\n"), 1;
  foretrain_session* session = foretrain_session_open(NULL);
  foretrain_run* run =
      foretrain_run_open(session,
                         "{\"model\": \"llama-3-8b\", \"cluster\": \"dgx-h100\", \"gpus\": 64,"
                         " \"global_batch\": 512, \"plan\": {\"zero\": 1}}");
  if (run == NULL) return fprintf(stderr, "%s", foretrain_last_error()), 1;

  int64_t tp[PLANS], pp[PLANS];
  for (int i = 0; i < PLANS; ++i) tp[i] = 1 << i % 3, pp[i] = 1 << i / 3;
  const foretrain_column columns[] = {{"tp", tp, NULL, NULL, 0}, {"pp", pp, NULL, NULL, 0}};
  double step[PLANS];
  int32_t verdict[PLANS];
  const foretrain_scores scores = {.step_s = step, .verdict = verdict};
  if (foretrain_run_score_plans(run, PLANS, columns, 2, &scores) < 0)
    return fprintf(stderr, "%s", foretrain_last_error()), 1;
  int best = -1;
  for (int i = 0; i < PLANS; ++i)
    if (verdict[i] == FORETRAIN_FITS && (best < 0 || step[i] < step[best])) best = i;
  if (best < 0) return fprintf(stderr, "nothing fits\n"), 1;
  printf("tp=%d,pp=%d: %.3g s\n", (int)tp[best], (int)pp[best], step[best]);

  if (foretrain_answer(session, "predict", "{\"model\": \"nobody\"}") != NULL) return 1;
  fprintf(stderr, "%s", foretrain_last_error());
  foretrain_run_close(run);
  foretrain_session_close(session);
  return 0;
}
