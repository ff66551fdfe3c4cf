"""FedAvg with FedLab: a server, and two processes that train half of the clients each, over its network layer.

FedLab calls this its cross-process mode; `fedavg_fedlab_standalone.py` is its other one.
"""

import without_vision  # noqa: F401, I001  # before anything that imports torchvision

import logging
import multiprocessing
import random
import socket
import sys

import torch
from fedlab.contrib.algorithm.fedavg import FedAvgSerialClientTrainer, FedAvgServerHandler
from fedlab.core.client.manager import PassiveClientManager
from fedlab.core.network import DistNetwork
from fedlab.core.server.manager import SynchronousServerManager
from task import Task, accuracy_of, loader, one_thread


class Half:
    """The data of some clients, as FedLab's trainers ask for them."""

    def __init__(self, task, clients):
        self.held = [task.train(client) for client in clients]

    def get_dataloader(self, client, batch_size):
        return loader(*self.held[client], batch_size)


class Server(FedAvgServerHandler):
    """FedAvg's server, evaluated after every round."""

    def __init__(self, task):
        super().__init__(task.first_model(), task.rounds, task.chosen / task.clients)
        self.task, self.test = task, task.test()

    def load(self, payload):
        done = super().load(payload)
        if done:
            self.task.write_round(self.round, accuracy_of(self.model, *self.test))
        return done


def network(port, rank, task):
    """One end of the network."""
    return DistNetwork(("127.0.0.1", str(port)), world_size=task.workers + 1, rank=rank)


def clients(arguments, port, rank):
    """A process that trains the clients of its rank, one after another."""
    task = Task(arguments)
    one_thread()
    torch.manual_seed(task.seed + rank)
    share = task.clients // task.workers
    trainer = FedAvgSerialClientTrainer(task.model(), share)
    trainer.setup_dataset(Half(task, range((rank - 1) * share, rank * share)))
    trainer.setup_optim(task.epochs, task.batch, task.lr)
    PassiveClientManager(network(port, rank, task), trainer).run()


def main():
    task = Task()
    one_thread()
    logging.disable(logging.INFO)
    random.seed(task.seed)  # it chooses clients by this
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    workers = [
        multiprocessing.get_context("spawn").Process(target=clients, args=(sys.argv[1:4], port, rank))
        for rank in range(1, task.workers + 1)
    ]
    for worker in workers:
        worker.start()
    SynchronousServerManager(network(port, 0, task), Server(task)).run()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
