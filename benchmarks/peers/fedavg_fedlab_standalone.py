"""FedAvg with FedLab's standalone pipeline: one process trains clients in turn."""

import without_vision  # noqa: F401, I001  # before anything that imports torchvision

import random

from fedlab.contrib.algorithm.fedavg import FedAvgSerialClientTrainer, FedAvgServerHandler
from fedlab.core.standalone import StandalonePipeline
from task import Task, accuracy_of, loader, one_thread


class Clients:
    """The data as FedLab's trainers ask for them."""

    def __init__(self, task):
        self.held = [task.train(client) for client in range(task.clients)]

    def get_dataloader(self, client, batch_size):
        return loader(*self.held[client], batch_size)


class Pipeline(StandalonePipeline):
    """The standalone loop, evaluated after every round."""

    def __init__(self, handler, trainer, task):
        super().__init__(handler, trainer)
        self.task, self.test = task, task.test()

    def evaluate(self):
        self.task.write_round(self.handler.round, accuracy_of(self.handler.model, *self.test))


def main():
    task = Task()
    one_thread()
    random.seed(task.seed)  # it chooses clients by this
    model = task.first_model()
    handler = FedAvgServerHandler(model, task.rounds, task.chosen / task.clients)
    trainer = FedAvgSerialClientTrainer(model, task.clients)
    trainer.setup_dataset(Clients(task))
    trainer.setup_optim(task.epochs, task.batch, task.lr)
    Pipeline(handler, trainer, task).main()


if __name__ == "__main__":
    main()
