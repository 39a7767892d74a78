"""A module of the user's, with functions for `sickbay fit`."""

MODULE = """
import torch
from torch import nn
from sickbay.demo.flawed_models import circles, layers

def made(model, **more):
    print("made")
    return {
        "model": model,
        "data": circles(512),
        "validation": circles(256, seed=1),
        "loss": nn.BCEWithLogitsLoss(),
        "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3),
        "batch_size": 64,
        "epochs": 20,
        **more,
    }

def healthy(): return made(layers(2, 32, 32, 1, gain=2.4))
def sick(): return made(layers(2, *[32] * 9, 1, hidden=nn.Sigmoid))
def hopeless(): return {**sick(), "remedies": ["warm_up"], "epochs": 2, "target": 0.999}
def scheduled():
    parts = healthy()
    scheduler = torch.optim.lr_scheduler.StepLR(parts["optimizer"], 5)
    return {**parts, "scheduler": scheduler, "remedies": []}
def stopped(): return {**healthy(), "callbacks": [lambda ended: ended.epoch == 1]}
def slow():
    import time
    return {**healthy(), "callbacks": [lambda _: time.sleep(0.2)], "epochs": 30}
def typo(): return {**healthy(), "epoch": 3}
def partly(): return {"model": layers(2, 1)}
def number(): return 7
def raises(): raise KeyError("mine")
class Fragile(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x):
        if self.training and torch.is_grad_enabled(): raise IndexError("out of range")
        return self.layer(x)
def fragile(): return made(Fragile())
"""
