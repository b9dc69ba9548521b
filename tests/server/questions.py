"""Questions of every verb: a request in JSON, and the words of the command line that ask the same."""
import base64
import json
import pathlib

INPUTS = pathlib.Path(__file__).resolve().parents[1] / "golden" / "inputs"


def text(path):
    return (INPUTS / path).read_text()


def options(request):
    """The command line's options of a request's words."""
    words = []
    for key, value in request.items():
        if key == "plan" and isinstance(value, dict):
            value = ",".join(f"{k}={v}" for k, v in value.items())
        option = "--" + key.replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            words += [option, str(one)]
    return words


def runs():
    for model, cluster, gpus, batch, plan in [
            ("gpt2-xl", "dgx-a100", 8, 64, ""), ("gpt2-xl", "dgx-h100", 8, 64, "tp=1,zero=1"),
            ("llama-3-8b", "dgx-h100", 64, 512, "tp=2,pp=2,zero=1,recompute=selective"),
            ("llama-3-8b", "dgx-a100", 16, 128, {"tp": 4, "micro_batch": 2}),
            ("llama-3-70b", "dgx-h100", 256, 1024, {"tp": 8, "pp": 4, "zero": 1}),
            ("llama-3-70b", "dgx-b200", 64, 256, "tp=4,pp=2,precision=fp8"),
            ("mixtral-8x7b", "dgx-h100", 64, 256, {"tp": 2, "ep": 8, "zero": 1}),
            ("gpt-neox-20b", "perlmutter", 128, 512, "tp=4,pp=4"),
            ("bloom-176b", "dgx-a100", 384, 2048, "tp=4,pp=12,zero=1"),
            ("llama-3-8b", "dgx-h100", 8, 8, "tp=1,pp=8,schedule=gpipe"),
            ("llama-3-8b", "dgx-h100", 7, 64, ""), ("llama-3-8b", "dgx-h100", 8, 64, "tp=3")]:
        yield {"model": model, "cluster": cluster, "gpus": gpus, "global_batch": batch,
               **({"plan": plan} if plan else {})}


def questions():
    """(verb, request, words, file on stdin or None)"""
    small = {"model": "gpt2-xl", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64}
    llama = {"model": "llama-3-8b", "cluster": "dgx-h100", "gpus": 64, "global_batch": 512}
    for run in runs():
        yield "predict", run, ["predict", "--json", *options(run)]
    yield "predict", {}, ["predict", "--json"]
    for more in [{"seq": "8k"}, {"tokens": "300B"}, {"profile": "analytic"}, {"stack": "torchtitan"},
                 {"documents": 512, "seq": 4096}, {"task": "sft"}, {"task": "lora"}]:
        run = {**llama, **more}
        yield "predict", run, ["predict", "--json", *options(run)]
    yield "accuracy", {}, ["accuracy", "--json"]
    yield "accuracy", llama, ["accuracy", "--json", *options(llama)]
    run = text("good_run.yaml")
    yield "predict", {"run": run}, ["predict", "--json", str(INPUTS / "good_run.yaml")]
    yield "predict", {"run": text("pipeline_run.yaml"), "gpus": 16}, [
        "predict", "--json", str(INPUTS / "pipeline_run.yaml"), "--gpus", "16"]
    for over in ["tp=1,2,4,8", "inter_gbps=100..800", "seq=4k..16k/3,zero=0..3"]:
        request = {**llama, "over": over}
        yield "over", request, ["predict", "--json", *options(request)]
    yield "compare", {"runs": [{"name": "good_run.yaml", "text": run}, {"name": "pipeline_run.yaml",
                                                                      "text": text("pipeline_run.yaml")}]}, [
        "predict", "--json", "good_run.yaml", "pipeline_run.yaml"]
    yield "convert", {"run": {"name": "good_run.yaml", "text": run}}, ["convert", "--json", "good_run.yaml"]
    for to in ["megatron", "torchtitan"]:
        yield "convert", {"run": {"name": "good_run.yaml", "text": run}, "to": to}, [
            "convert", "--json", "good_run.yaml", "--to", to]
    for kind in ["models", "gpus", "clusters", "stacks", "recipes", "schedules", "profiles", "modles"]:
        yield "list", {"kind": kind}, ["list", kind, "--json"]
    for kind, name in [("model", "llama-3-8b"), ("cluster", "perlmutter"), ("gpu", "h200-141gb-sxm"),
                       ("stack", "torchtitan"), ("model", "lama-3-8b")]:
        yield "show", {"kind": kind, "name": name}, ["show", kind, name, "--json"]
    words = ["linear", "m=8192", "k=4096", "n=11008"]
    yield "cost", {"words": words, "gpu": "h200-141gb-sxm"}, ["cost", *words, "--gpu", "h200-141gb-sxm", "--json"]
    yield "cost", {"words": "gelu tokens=8192 width=4096", "gpu": "h200-141gb-sxm", "profile": "analytic"}, [
        "cost", "gelu", "tokens=8192", "width=4096", "--gpu", "h200-141gb-sxm", "--profile", "analytic", "--json"]
    for format_, file in [("log", "logs/megatron.log"), ("log", "logs/torchtitan.log"),
                          ("kineto", "traces/small.json")]:
        yield "import", {"format": format_, "logs": [{"name": file, "text": text(file)}]}, [
            "import", format_, file, "--json"]
    coded = base64.b64encode((INPUTS / "traces/small.json").read_bytes()).decode()
    yield "import", {"format": "kineto", "logs": [{"name": "traces/small.json", "base64": coded}]}, [
        "import", "kineto", "traces/small.json", "--json"]
    for more in [{}, {"by": "feature"}, {"rows": True}]:
        yield "validate", {"tables": [{"name": "scoreboard.csv", "text": text("scoreboard.csv")}],
                           "profile": "analytic", **more}, [
            "validate", "--json", "scoreboard.csv", "--profile", "analytic",
            *(["--rows"] if more.get("rows") else options(more))]
    yield "diagnose", {"measured": {"name": "diagnose/stalls.log", "text": text("diagnose/stalls.log")},
                       "cluster": "dgx-h100", "time": "0s"}, [
        "diagnose", "--json", "diagnose/stalls.log", "--cluster", "dgx-h100", "--time", "0s"]
    for more in [{}, {"set": ["pp=1", "zero=1,2"], "top": 3}, {"why": "tp=4,pp=2"}, {"launch": "megatron"},
                 {"global_batch": "64,128"}, {"what_if": ["gpus=16"]}]:
        request = {**small, **more}
        yield "search", request, ["search", "--json", *options(request)]


if __name__ == "__main__":
    print(json.dumps([q[1] for q in questions()], indent=1))
