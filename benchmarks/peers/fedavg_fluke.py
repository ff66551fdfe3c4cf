"""FedAvg with fluke, in one process: its parallel server is for two graphics cards or more."""

import without_vision  # noqa: F401, I001  # before anything that imports torchvision

from fluke import DDict, FlukeENV
from fluke.algorithms.fedavg import FedAVG
from fluke.data import DataSplitter, DummyDataContainer, FastDataLoader
from fluke.evaluation import ClassificationEval
from fluke.utils import FederationObserver
from task import Task, one_thread
from torchmetrics import Accuracy


class RoundWriter(FederationObserver):
    """The end of a round, for fluke's observers."""

    def __init__(self, task):
        self.task = task
        self.accuracy = 0.0

    def server_evaluation(self, round, eval_type, evals, **_):
        self.accuracy = evals["accuracy"]

    def end_round(self, round):
        self.task.write_round(round, self.accuracy)


def main():
    task = Task()
    one_thread()
    environment = FlukeENV()
    environment.set_seed(task.seed)
    environment.set_device("cpu")
    environment.set_eval_cfg(server=True, locals=False, pre_fit=False, post_fit=False)
    environment.set_evaluator(ClassificationEval(1, 10, accuracy=Accuracy(task="multiclass", num_classes=10)))
    train = [
        FastDataLoader(*task.train(client), num_labels=10, batch_size=task.batch, shuffle=True)
        for client in range(task.clients)
    ]
    test = FastDataLoader(*task.test(), num_labels=10, batch_size=1000, shuffle=False)
    data = DummyDataContainer(train, [None] * task.clients, test, 10)
    settings = DDict(
        client=DDict(
            batch_size=task.batch,
            local_epochs=task.epochs,
            loss="CrossEntropyLoss",
            optimizer=DDict(name="SGD", lr=task.lr),
            scheduler=DDict(name="StepLR", step_size=1, gamma=1.0),
        ),
        server=DDict(weighted=True),
        model=task.first_model(),
    )
    algorithm = FedAVG(task.clients, DataSplitter(data), settings)
    algorithm.set_callbacks(RoundWriter(task))
    algorithm.run(task.rounds, task.chosen / task.clients)


if __name__ == "__main__":
    main()
