#include "samples/training_log.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "samples/log_line.h"

using namespace foretrain;

namespace {

TrainingLog read(const std::string& text) {
  const auto log = parse_training_log(text, "x.log");
  REQUIRE_MESSAGE(log.has_value(), (log ? "" : log.error().text()));
  return *log;
}

std::string megatron(int step, double ms, double loss = 2.5, int batch = 8, int total = 100) {
  return fmt::format(
      " iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): {:.1f} | learning "
      "rate: "
      "1.5E-04 | global batch size: {:5} | lm loss: {:.6E} | loss scale: 1.0 |\n",
      step, total, step * batch, ms, batch, loss + step);
}

std::string argument(const TrainingLog& log, std::string_view key) {
  for (const auto& [name, value] : log.run)
    if (name == key) return value;
  return "none";
}

}  // namespace

TEST_CASE("numbers as trainers print them") {
  const auto number = [](std::string_view text) { return number_after(text, "key").value().value; };
  CHECK(number("key: 1,234,567 tokens") == 1234567);
  CHECK(number("key=11.5K | other") == 11500);
  CHECK(number("'key': '2.5e-3'}") == 2.5e-3);
  CHECK(number("a_key: 1 | key:=2") == 2);
  CHECK(number("key: -3") == -3);
  CHECK(number("key 7, 8") == 7);
  CHECK(number_after("time: 561.94ms", "time").value().unit == "ms");
  CHECK(number_after("memory: 49.66GiB(52%)", "memory").value().unit == "GiB");
  CHECK(!number_after("key: none", "key"));
  CHECK(!number_after("keys: 3", "key"));
  CHECK(without_colours("\x1b[36mstep: 1\x1b[0m [32mloss: 2 [GC] x") == "step: 1 loss: 2 [GC] x");
  CHECK(time_stamp("2025-06-16 22:30:50,250 x").value() -
            time_stamp("[r0] 2025-06-16 22:30:48,750").value() ==
        doctest::Approx(1.5));
  CHECK(!time_stamp("2025-16-16 22:30:50"));
}

TEST_CASE("each framework's line of a step") {
  struct Case {
    const char *format, *line;
    double seconds, tokens, samples;
  };
  const Case cases[] = {
      {"torchtune", "Step 3 | loss:1.51 lr:2e-05 tokens_per_second_per_gpu:6221.1 peak_memory_alloc:40.1", 0,
       6221.1, 0},
      {"megatron", " iteration  5/ 10 | elapsed time per iteration (s): 2.50 | lm loss: 3.1E+00 |", 2.5, 0,
       0},
      {"megatron",
       "[2025-01-01 00:00:00] iteration  5/ 10 | elapsed time per iteration (ms): 500.0/700.0 | x", 0.5, 0,
       0},
      {"neox",
       " samples/sec: 32.000 | iteration  5/ 10 | elapsed time per iteration (ms): 250.0 | lm_loss: 3 |",
       0.25, 0, 32},
      {"nanotron",
       "[INFO|DP=0]: iteration: 5 / 10 | elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec_per_gpu: 1.5K "
       "|",
       11.5, 1500, 0},
      {"nanotron", "iteration: 5 / 10 | time_per_iteration_ms: 250 | lm_loss: 3 |", 0.25, 0, 0},
      {"nemo",
       "Epoch 0: :  5%|x | 5/100 [00:10<03:00, reduced_train_loss=3.1, global_step=4.000, "
       "train_step_timing in s=2.50]",
       2.5, 0, 0},
      {"nemo", "Training epoch 0, iteration 5/9 | lr: 1e-4 | train_step_timing in s: 0.5", 0.5, 0, 0},
      {"torchtitan", "[36mstep:  5  [32mloss:  3.1  [33mmemory: 20.50GiB(25%)  [34mtps: 7,865  [35mmfu: 4%",
       0, 7865, 0},
      {"torchtitan", "step:  5  loss:  3.1  wps: 865  mfu: 4%", 0, 865, 0},
      {"maxtext",
       "completed step: 5, seconds: 2.500, TFLOP/s/device: 100.1, Tokens/s/device: 3276.8, loss: 9.1", 2.5,
       3276.8, 0},
      {"nanogpt", "iter 5: loss 3.1, time 250.00ms, mfu 30.1%", 0.25, 0, 0},
      {"build-nanogpt", "step    5 | loss: 3.1 | lr 6.0e-04 | norm: 0.5 | dt: 250.00ms | tok/sec: 1.5e6",
       0.25, 0, 0},
      {"picotron", "[rank 0] Step: 5 | Loss: 3.1 | Tokens/s: 48.1K | Tokens/s/GPU: 6.0K | MFU: 48.1%", 0,
       6000, 0},
      {"litgpt", "Epoch 1 | iter 5 step 5 | loss train: 3.1, val: n/a | iter time: 250.00 ms (step)", 0.25, 0,
       0},
      {"modded-nanogpt", "step:5/100 train_loss:3.1 train_time:1250ms step_avg:250.00ms", 0.25, 0, 0},
      {"deepspeed", "steps: 5 loss: 3.1 iter time (s): 2.500 samples/sec: 12.8", 2.5, 0, 12.8},
      {"internevo", "INFO train.py - tflops=100.1,step=5,loss=3.1,tgs (tokens/gpu/second)=3000.5,lr=1e-5", 0,
       3000.5, 0},
      {"composer", "[trace]: Train throughput/batches_per_sec: 0.4000", 2.5, 0, 0},
      {"olmo", "    throughput/device/batches_per_second=0.4000", 2.5, 0, 0},
      {"swift", "{'loss': 3.1, 'global_step/max_steps': '5/10', 'train_speed(iter/s)': 0.4}", 2.5, 0, 0},
      {"progress-bar", " 50%|xxx   | 5/10 [00:12<00:12,  2.50s/it]", 2.5, 0, 0},
      {"progress-bar", " 50%|xxx   | 5/10 [00:12<00:12,  4.00it/s]", 0.25, 0, 0}};
  for (const Case& c : cases) {
    CAPTURE(c.line);
    const TrainingLog log = read(std::string("noise\n") + c.line + "\nnoise: 7 | 8\n");
    CHECK(log.format == c.format);
    CHECK(log.steps == 1);
    CHECK(log.steady.seconds == doctest::Approx(c.seconds));
    CHECK(log.steady.tokens == doctest::Approx(c.tokens));
    CHECK(log.steady.samples == doctest::Approx(c.samples));
  }
}

TEST_CASE("warm-up, pauses and outliers are told apart from the steady step") {
  std::string text = megatron(1, 60'000) + megatron(2, 1500);
  for (int step = 3; step <= 20; ++step) {
    if (step == 10) text += " validation loss at iteration 9 | lm loss value: 2\n";
    if (step == 15) text += "saving checkpoint at iteration 14 to x\n";
    text += megatron(step, step == 10 ? 3000 : step == 15 ? 1200 : step == 18 ? 1700 : 999 + step % 3);
  }
  const TrainingLog log = read(text);
  CHECK(log.steps == 20);
  CHECK(log.total_steps == 100);
  CHECK(log.global_batch == 8);
  CHECK(log.steady.warmup == 2);
  CHECK(log.steady.pauses == std::map<std::string, std::size_t>{{"checkpoint", 1}, {"evaluation", 1}});
  CHECK(log.steady.outliers == 1);
  CHECK(log.steady.used == 15);
  CHECK(log.steady.seconds == doctest::Approx(1.0));
  CHECK(log.steady.spread == doctest::Approx(0.0008).epsilon(0.1));
}

TEST_CASE("several ranks say a step once; another loss or another total is another run") {
  std::string text;
  for (int step = 1; step <= 4; ++step)
    for (int rank = 0; rank < 3; ++rank) text += fmt::format("{}: ", rank) + megatron(step, 1000 + rank);
  CHECK(read(text).steps == 4);
  CHECK(read(text).lines == 12);
  CHECK(read(text).runs == 1);
  const TrainingLog two = read(text + megatron(3, 500, 7.5) + megatron(4, 500, 7.5));
  CHECK(two.runs == 2);
  CHECK(two.steps == 6);
  CHECK(two.steady.seconds == doctest::Approx(1.0));  // of the longer
  CHECK(read(megatron(5, 10) + megatron(1, 500, 2.5, 8, 7) + megatron(2, 500, 2.5, 8, 7)).total_steps == 7);
}

TEST_CASE("while the batch grows, lines of its last size count alone") {
  std::string text;
  for (int step = 1; step <= 10; ++step)
    text += megatron(step, step <= 4 ? 300 : 1000, 2.5, step <= 4 ? 4 : 16);
  const TrainingLog log = read(text);
  CHECK(log.steady.ramp == 4);
  CHECK(log.steady.seconds == doctest::Approx(1.0));
}

TEST_CASE("without seconds the stamps tell them") {
  std::string text;
  for (int step = 10; step <= 50; step += 10)
    text +=
        fmt::format("[rank0] 2025-06-16 22:{:02}:00,500 - root - INFO - step: {}  loss: 3.{}  tps: 1,000\n",
                    step / 10, step, step);
  const TrainingLog log = read(text);
  CHECK(log.steady.seconds == doctest::Approx(6.0));  // ten steps a minute
  CHECK(log.steady.tokens == 1000);
}

TEST_CASE("the run that a log states, and its memory") {
  const TrainingLog log = read(
      "[default0]:------------------------ arguments ------------------------\n"
      "[default0]:  num_layers ...................................... 64\n"
      "  rope_scaling .................................... {'a': 1}\n"
      "  hidden_size ..................................... 9216........................updated\n"
      "  data_path ....................................... \n"
      "-------------------- end of arguments ---------------------\n"
      "  padding ......................................... no argument\n" +
      megatron(1, 1000) +
      "[Rank 1] (after 1 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 | reserved: 3.0 | max "
      "reserved: 20480.0\n[Rank 0] (after 1 iterations) memory (MB) | max reserved: 10240.0\n");
  CHECK(log.run.size() == 4);
  CHECK(argument(log, "num_layers") == "64");
  CHECK(argument(log, "hidden_size") == "9216");
  CHECK(argument(log, "data_path").empty());
  CHECK(log.memory_gib == 20);
  CHECK(log.memory_counter == "max reserved");
  const TrainingLog titan = read(
      "Trainer is initialized with local batch size 1, global batch size 8, gradient accumulation steps 1, "
      "sequence "
      "length 8192, total steps 1000 (warmup 200)\nConfig param base_emb_dim: 2048\n"
      "step:  1  loss: 3.1  memory: 20.50GiB(25%)  tps: 7,865\n");
  CHECK(argument(titan, "seq_len") == "8192");
  CHECK(argument(titan, "base_emb_dim") == "2048");
  CHECK(titan.memory_gib == 20.5);
}

TEST_CASE("Hugging Face's Trainer: losses, bars, a summary") {
  std::string bars;
  for (int step = 1; step <= 6; ++step)
    bars += fmt::format("\r {}%|x | {}/10 [00:{:02}<01:00,  {}s/it]{{'loss': 2.{}, 'epoch': 0.{}}}",
                        10 * step, step, 2 * step, step == 1 ? 9.0 : 2.0, step, step);
  const TrainingLog log = read(bars +
                               "\n{'train_runtime': 20.0, 'train_samples_per_second': 4.0, "
                               "'train_steps_per_second': 0.4, 'train_loss': 2.1, 'epoch': 1.0}\n");
  CHECK(log.format == "hf-trainer");
  CHECK(log.steps == 6);
  CHECK(log.steady.seconds == doctest::Approx(2.0));
  const TrainingLog summary =
      read("{'loss': 2.1, 'epoch': 0.5}\n{'train_runtime': 20.0, 'train_steps_per_second': 0.4}");
  CHECK(summary.steady.seconds == doctest::Approx(2.5));
  CHECK(parse_training_log("{'loss': 2.1, 'epoch': 0.5}\n", "x.log").error().text() ==
        "x.log:1:1: error: found losses and no times, expected progress bars or the summary 'train_runtime'");
}

TEST_CASE("MLPerf: tracked statistics, else stamps of losses; keys state the run") {
  const auto line = [](int ms, const std::string& key, const std::string& value,
                       const std::string& metadata) {
    return fmt::format(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", \"key\": "
        "\"{}\", \"value\": {}, \"metadata\": {{\"lineno\": 3{}}}}}\n",
        1'000'000 + ms, key, value, metadata);
  };
  std::string text = line(0, "global_batch_size", "8", "") + line(0, "submission_org", "\"X, Y\"", "");
  for (int i = 0; i < 4; ++i)
    text += line(10'000 * i, "train_loss", "2.1", fmt::format(", \"samples_count\": {}", 80 * i));
  text +=
      line(30'000, "eval_start", "null", "") + line(50'000, "train_loss", "2.1", ", \"samples_count\": 320");
  const TrainingLog stamped = read(text);
  CHECK(stamped.format == "mlperf");
  CHECK(stamped.steady.seconds == doctest::Approx(1.0));  // 10 s for 80 samples in batches of 8
  CHECK(stamped.steady.pauses.at("evaluation") == 1);
  CHECK(argument(stamped, "submission_org") == "X, Y");
  const TrainingLog tracked =
      read(text + line(60'000, "tracked_stats",
                       "{\"throughput\": 4.0, \"train_step_time\": 2.0, \"max_memory_usage\": 100.5}", ""));
  CHECK(tracked.steady.seconds == 2);
  CHECK(tracked.steady.samples == 4);
  CHECK(tracked.memory_gib == 100.5);
}

TEST_CASE("a file that tells of no step is refused") {
  CHECK(parse_training_log("hello\n", "x.log")
            .error()
            .text()
            .starts_with(
                "x.log:1:1: error: found no line that tells of a step, expected the log of a training run"));
}

TEST_CASE("what stalls, pauses and drifts cost is told apart from the steady step") {
  // Every fourth line takes 22 s where the others take 10: the mean is 13.
  std::string text = megatron(1, 40'000);
  for (int step = 2; step <= 41; ++step) text += megatron(step, step % 4 == 0 ? 22'000 : 10'000);
  const SteadySteps stalled = read(text).steady;
  CHECK(stalled.seconds == 10);
  CHECK(stalled.stalls == 10);
  CHECK(stalled.with_stalls == doctest::Approx(1.3));
  CHECK(stalled.with_pauses == doctest::Approx(1.3));
  CHECK_FALSE(stalled.is_warming);

  text.clear();
  for (int step = 1; step <= 40; ++step) text += megatron(step, step <= 30 ? 30'000 - 600 * step : 10'000);
  CHECK(read(text).steady.is_warming);

  text.clear();
  for (int step = 1; step <= 31; ++step) text += megatron(step, step <= 21 ? 10'000 : 11'000);
  CHECK(read(text).steady.drift == doctest::Approx(0.1));

  // From 1 s to 3 s without an end: most lines are far from any middle, and yet the growth is told. Medians of the thirds of
  // lines 2 to 31, less the warm-up's first: steps of 1.3 s and 2.6 s.
  text.clear();
  for (int step = 1; step <= 31; ++step) text += megatron(step, 1000 + 2000 * (step - 1) / 30);
  const SteadySteps growing = read(text).steady;
  CHECK(growing.drift == doctest::Approx(2.667 / 1.333 - 1).epsilon(0.03));
  CHECK(growing.outliers > growing.used / 2);
}
