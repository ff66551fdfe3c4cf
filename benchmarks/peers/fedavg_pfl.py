"""FedAvg with pfl: its simulated backend in two processes under torchrun, evaluated centrally by both."""

import os

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.callback.central_evaluation import CentralEvaluationCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics, StringMetricName, Weighted, get_overall_value
from pfl.model.pytorch import PyTorchModel
from task import Task, one_thread
from torch.nn.functional import cross_entropy


class Perceptron(torch.nn.Module):
    """The model with the two functions that pfl asks for."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def loss(self, inputs, labels):
        self.train()
        return cross_entropy(self.layers(inputs), labels)

    @torch.no_grad()
    def metrics(self, inputs, labels):
        self.eval()
        right = (self.layers(inputs).argmax(dim=1) == labels).sum().item()
        return {"accuracy": Weighted(right, len(labels))}


class RoundWriter(TrainingProcessCallback):
    """The end of a round."""

    def __init__(self, task):
        self.task = task

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        found = get_overall_value(aggregate_metrics[StringMetricName("Central val | accuracy")])
        if int(os.environ.get("RANK", "0")) == 0:
            self.task.write_round(central_iteration + 1, found)
        return False, Metrics()


def client_data(task):
    """Each client's examples in an order that changes whenever it takes part, as pfl itself never shuffles."""
    held = {client: task.train(client) for client in range(task.clients)}

    def make_dataset(client):
        inputs, labels = held[client]
        order = torch.randperm(len(labels))
        return PyTorchTensorDataset((inputs[order], labels[order]), user_id=str(client))

    return FederatedDataset(make_dataset, get_user_sampler("minimize_reuse", list(range(task.clients))))


def main():
    task = Task()
    one_thread()
    np.random.seed(task.seed)  # noqa: NPY002  # what pfl draws from, the same in both processes
    model = Perceptron(task.first_model())
    central = torch.optim.SGD(model.parameters(), lr=1.0)  # with it the new model is the mean
    clients = client_data(task)
    test = PyTorchTensorDataset(task.test())
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=task.rounds,
            evaluation_frequency=task.rounds + 1,
            train_cohort_size=task.chosen,
            val_cohort_size=0,
        ),
        backend=SimulatedBackend(training_data=clients, val_data=clients),
        model=PyTorchModel(model, torch.optim.SGD, central),
        model_train_params=NNTrainHyperParams(
            local_num_epochs=task.epochs, local_learning_rate=task.lr, local_batch_size=task.batch
        ),
        model_eval_params=NNEvalHyperParams(local_batch_size=None),
        callbacks=[
            CentralEvaluationCallback(test, model_eval_params=NNEvalHyperParams(local_batch_size=None)),
            RoundWriter(task),
        ],
    )


if __name__ == "__main__":
    main()
