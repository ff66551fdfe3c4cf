"""CFL's language experiment: AG-News, one topic for each of 20 clients, a two-layer LSTM that says the next word.

FEDCLADE_DATA must hold AG-News, or a part of it. The truth is read here, to judge, and by nothing else.

    python benchmarks/cfl_news.py [--texts 200] [--vocabulary 1002] [--rounds 60] [--set rule=paper]
"""

import argparse
import tempfile
from collections import Counter
from time import perf_counter

from cfl_groups import cut, number

import fedclade as fc
from fedclade.methods import method_named
from fedclade.store.events import EvaluationEvent, RoundEvent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--vocabulary", type=int, default=1002)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--set", action="append", default=[], help="a setting of CFL: name=value")
    asked = parser.parse_args()
    federation = cut(fc.data.build(source="ag-news", world="topics", clients=20, seed=asked.seed), asked.texts)
    settings = {
        "predicts": "next-word",
        "vocabulary": asked.vocabulary,
        "embedding": asked.width,
        "hidden": asked.width,
    }
    cfl = method_named("cfl", {name: number(value) for name, value in (each.split("=") for each in asked.set)})
    assert federation.truth is not None
    topics = federation.truth.labels
    with tempfile.TemporaryDirectory() as folder:
        for method in (cfl, fc.FedAvg()):
            begin = perf_counter()
            run = fc.train(
                federation,
                method,
                net="lstm",
                net_settings=settings,
                rounds=asked.rounds,
                participation=1.0,
                epochs=asked.epochs,
                batch=asked.batch,
                lr=asked.lr,
                seed=asked.seed,
                workers=0,
                evaluate_every=10,
                out=f"{folder}/{type(method).__name__}",
            )
            for event in run.folder.events():
                if isinstance(event, EvaluationEvent):
                    print(f"  round {event.round}: perplexity {event.perplexity:.1f}", flush=True)
                elif isinstance(event, RoundEvent) and method is cfl:
                    facts = event.facts
                    for split in facts["splits"]:
                        parts = [dict(Counter(topics[client] for client in part)) for part in split["parts"]]
                        print(f"  round {event.round}: split into {parts}", flush=True)
                    if event.round % 10 == 0:
                        shown = {name: round(value, 3) for name, value in facts["clusters"][0].items()}
                        print(f"  round {event.round}: {shown}, gap {facts['separation_gaps'][0]:.3f}", flush=True)
            print(
                f"{type(method).__name__}: perplexity {float(str(run.result['perplexity'])):.1f}, "
                f"ARI {run.result['ari']}, {len(run.groups)} groups, {perf_counter() - begin:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
