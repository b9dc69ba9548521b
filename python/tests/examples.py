"""What several tests ask about."""
import threading

RUN = {"model": "gpt2", "cluster": "dgx-a100", "gpus": 8, "global_batch": 64, "stack": "megatron"}


def run_threads(works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
