"""FedAvg with BlazeFL: its process pool of two, models through shared memory, a client's data in a file of its own."""

import sys
import tempfile
from enum import StrEnum
from pathlib import Path

import torch
from blazefl.contrib import FedAvgBaseServerHandler, FedAvgProcessPoolClientTrainer
from blazefl.contrib.fedavg import FedAvgPartitionType
from blazefl.core import IPCMode
from task import Task, accuracy_of, loader, one_thread


class Name(StrEnum):
    MLP = "mlp"


class Selector:
    """The one model there is."""

    def __init__(self, arguments):
        self.arguments = arguments

    def select_model(self, model_name):
        return Task(self.arguments).first_model()


class Clients:
    """Files of tensors: what goes to a worker is a path, and not the examples."""

    def __init__(self, folder, task):
        self.folder = folder
        for client in range(task.clients):
            torch.save(task.train(client), folder / f"{client}.pt")

    def get_dataset(self, type_, cid):
        return torch.load(self.folder / f"{cid}.pt")

    def set_dataset(self, type_, cid, dataset):
        """Nothing changes."""

    def get_dataloader(self, type_, cid, batch_size=None, generator=None):
        assert type_ == FedAvgPartitionType.TRAIN
        return loader(*self.get_dataset(type_, cid), batch_size, generator=generator)


def main():
    task = Task()
    one_thread()
    test = task.test()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        selector = Selector(sys.argv[1:4])
        clients = Clients(folder, task)
        handler = FedAvgBaseServerHandler(
            model_selector=selector,
            model_name=Name.MLP,
            dataset=clients,
            global_round=task.rounds,
            num_clients=task.clients,
            sample_ratio=task.chosen / task.clients,
            device="cpu",
            batch_size=task.batch,
            seed=task.seed,
        )
        trainer = FedAvgProcessPoolClientTrainer(
            model_selector=selector,
            model_name=Name.MLP,
            share_dir=folder / "share",
            state_dir=folder / "state",
            dataset=clients,
            device="cpu",
            num_clients=task.clients,
            epochs=task.epochs,
            batch_size=task.batch,
            lr=task.lr,
            seed=task.seed,
            num_parallels=task.workers,
            ipc_mode=IPCMode.SHARED_MEMORY,
        )
        # Its pool is forked anew in every round. Without this, every worker of every round would load torch's compiler,
        # as the first optimiser of a process does: two seconds of processor time each.
        torch.optim.SGD(handler.model.parameters(), lr=task.lr)
        while not handler.if_stop():
            chosen = handler.sample_clients()
            trainer.local_process(handler.downlink_package(), chosen)
            for package in trainer.uplink_package():
                handler.load(package)
            task.write_round(handler.round, accuracy_of(handler.model, *test))


if __name__ == "__main__":
    main()
