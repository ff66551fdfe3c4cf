"""Lets torchvision be imported beside a torch for which its compiled part was not built.

FedLab and fluke import torchvision for data sets and nets that are not used here. Its Python part then asks for two
operators that only the compiled part declares; this declares them, without an implementation. Nothing that is measured
touches them.
"""

import torch

for name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, name):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
