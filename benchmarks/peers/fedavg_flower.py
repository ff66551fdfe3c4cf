"""FedAvg with Flower's simulation: a ServerApp, a ClientApp, the FedAvg strategy, two Ray actors with a core each.

The common model is evaluated by the server, which is cheaper than asking clients. Flower starts its actors in processes
of their own, so everything they need must be in a module that they can import: this one.
"""

import sys

import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from task import Task, accuracy_of, loader, one_thread
from torch.nn.functional import cross_entropy

client_app = ClientApp()
server_app = ServerApp()


@client_app.train()
def train(message, context):
    """One client's epoch."""
    one_thread()
    config = message.content["config"]
    task = Task([config["data"], config["settings"], config["out"]])
    model = task.model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    inputs, labels = task.train(int(context.node_config["partition-id"]))
    optimiser = torch.optim.SGD(model.parameters(), lr=task.lr)
    for _ in range(task.epochs):
        for some, wanted in loader(inputs, labels, task.batch):
            optimiser.zero_grad()
            cross_entropy(model(some), wanted).backward()
            optimiser.step()
    reply = {"arrays": ArrayRecord(model.state_dict()), "metrics": MetricRecord({"num-examples": len(labels)})}
    return Message(content=RecordDict(reply), reply_to=message)


@server_app.main()
def main(grid, context):
    """All rounds."""
    task = Task()
    inputs, labels = task.test()

    def evaluate(number, arrays):
        model = task.model()
        model.load_state_dict(arrays.to_torch_state_dict())
        accuracy = accuracy_of(model, inputs, labels)
        if number > 0:
            task.write_round(number, accuracy)
        return MetricRecord({"accuracy": accuracy})

    strategy = FedAvg(
        fraction_train=task.chosen / task.clients,
        fraction_evaluate=0.0,
        min_train_nodes=task.chosen,
        min_available_nodes=task.clients,
    )
    data, settings, out = sys.argv[1:4]
    strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(task.first_model().state_dict()),
        num_rounds=task.rounds,
        train_config=ConfigRecord({"data": data, "settings": settings, "out": out}),
        evaluate_fn=evaluate,
    )


def simulate():
    """Two actors, one core each."""
    task = Task()
    run_simulation(
        server_app=server_app,
        client_app=client_app,
        num_supernodes=task.clients,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": task.workers, "include_dashboard": False, "_node_ip_address": "127.0.0.1"},
        },
    )


if __name__ == "__main__":
    import fedavg_flower

    one_thread()
    fedavg_flower.simulate()
