"""Agents: a cart on a floor, a shop's stock, a valve, a battery and a driver."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict, r_squared

programs = ProgramList("calibration", "reinforcement learning")

MOVES = torch.tensor([[0.15, 0.0], [-0.15, 0.0], [0.0, 0.15], [0.0, -0.15]])


class Policy(nn.Module):
    """What an action is worth trying, with or without a softmax of its own."""

    def __init__(self, softmax: bool) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 48)
        self.fc2 = nn.Linear(48, 48)
        self.fc3 = nn.Linear(48, 4)
        self.softmax = softmax

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        x = self.fc3(x)
        return x.softmax(-1) if self.softmax else x


def roll(policy: Policy, carts: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Let carts look for their goals. Return states, actions, rewards and the last distances."""
    place, goal = 2 * torch.rand(carts, 2) - 1, 2 * torch.rand(carts, 2) - 1
    states, actions, rewards = [], [], []
    for _ in range(14):
        states.append(torch.cat([place, goal - place], 1))
        with torch.no_grad():
            action = Categorical(logits=policy(states[-1])).sample()
        before = (goal - place).norm(dim=1)
        place = (place + MOVES[action]).clamp(-1, 1)
        actions.append(action)
        rewards.append((before - (goal - place).norm(dim=1)) / 0.15)
    far = (goal - place).norm(dim=1)
    return torch.stack(states), torch.stack(actions), torch.stack(rewards), far


@programs.script(
    faults.SOFTMAX_TWICE,
    "forum: REINFORCE learns a little and stays noisy; probabilities go to Categorical(logits=...)",
)
def cart_on_a_floor(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    policy = Policy(softmax=not fixed)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    doctor = watch(policy, optimizer)
    for _ in range(150):
        states, actions, rewards, _ = roll(policy, 40)
        # What is earned within three steps, less what is usual at that step.
        returns = rewards + F.pad(rewards[1:], (0, 0, 0, 1)) + F.pad(rewards[2:], (0, 0, 0, 2))
        gain = returns - returns.mean(1, keepdim=True)
        chosen = Categorical(logits=policy(states)).log_prob(actions)
        loss = -(chosen * gain / (gain.std() + 1e-6)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return float((roll(policy, 500)[3] < 0.25).double().mean())


class Shop:
    """Shops that order goods: too many cost rent, too few cost sales."""

    def __init__(self, shops: int) -> None:
        self.stock = torch.rand(shops) * 20
        self.day = torch.randint(0, 7, (shops,))

    def state(self) -> Tensor:
        turn = 2 * torch.pi * self.day / 7
        return torch.stack([self.stock / 10 - 1, turn.sin(), turn.cos()], 1)

    def step(self, order: Tensor) -> Tensor:
        wanted = torch.poisson(4 + 6 * (self.day >= 5).float())
        self.stock = (self.stock + 5.0 * order).clamp(max=30)
        sold = torch.minimum(self.stock, wanted)
        self.stock = self.stock - sold
        self.day = (self.day + 1) % 7
        return (sold - 0.25 * self.stock - 0.5 * order) / 4


class Keeper(nn.Module):
    """Logits of no, one, two or three crates, and the value of a state."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 4))
        self.critic = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.actor(x), self.critic(x)


@programs.script(
    [faults.BROADCAST, faults.LOW_RATE.mildly()],
    "issue: an actor-critic orders at random; returns (n,) less values (n, 1), and a rate of 1e-4",
)
def stock_of_a_shop(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    model = Keeper()
    squeeze = bool(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3 if fixed else 1e-4)
    doctor = watch(model, optimizer)
    shop = Shop(24)
    for _ in range(250):
        states, orders, rewards = [], [], []
        for _ in range(8):
            states.append(shop.state())
            with torch.no_grad():
                orders.append(Categorical(logits=model(states[-1])[0]).sample())
            rewards.append(shop.step(orders[-1].float()))
        with torch.no_grad():
            earned = model(shop.state())[1].squeeze(1)
        returns: list[Tensor] = []
        for reward in reversed(rewards):
            earned = reward + 0.8 * earned
            returns.insert(0, earned)
        logits, values = model(torch.cat(states))
        if squeeze:
            values = values.squeeze(1)
        advantage = torch.cat(returns) - values
        policy = Categorical(logits=logits)
        actor = -(policy.log_prob(torch.cat(orders)) * advantage.detach()).mean()
        loss = actor + 0.5 * advantage.square().mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        doctor.step(loss)
    shop, sold = Shop(300), 0.0
    for _ in range(21):
        with torch.no_grad():
            sold += float(shop.step(model(shop.state())[0].argmax(1).float()).mean())
    return sold / 21 / 1.2  # about what could be earned


def fields(count: int) -> tuple[Tensor, Tensor]:
    """Return wetness, warmth, air pressure and last rain of fields, and how to set the valve."""
    wet, warm = 60 * torch.rand(count), 22 + 7 * torch.randn(count)
    air, dry = 1013 + 9 * torch.randn(count), 14 * torch.rand(count)
    need = 1.2 - wet / 25 + 0.06 * (warm - 22) + 0.02 * (air - 1013) + 0.05 * (dry - 7)
    return torch.stack([wet, warm, air, dry], 1), torch.tanh(need)[:, None]


@programs.script(
    faults.RAW_INPUTS, "issue: DDPG's actor is at -1 or 1 after a few steps; wetness and hPa go in"
)
def valve_of_a_field(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    raw, best = fields(3000)
    mean, spread = raw.mean(0), raw.std(0)
    state = (raw - mean) / spread if fixed else raw
    actor = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 1), nn.Tanh())
    critic = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    critic.append(nn.Linear(64, 1))
    for_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
    for_critic = torch.optim.Adam(critic.parameters(), lr=3e-3)
    doctor = watch(actor, for_actor)
    for step in range(1500):
        rows = torch.randint(0, 2000, (64,))
        with torch.no_grad():
            tried = actor(state[rows]) + 0.4 * torch.randn(64, 1)
            tried = torch.where(torch.rand(64, 1) < 0.3, 2 * torch.rand(64, 1) - 1, tried)
            reward = 1 - 2 * (tried - best[rows]).abs() + 0.1 * torch.randn(64, 1)
        for_critic.zero_grad()
        F.mse_loss(critic(torch.cat([state[rows], tried], 1)), reward).backward()
        for_critic.step()
        if step % 2:
            loss = -critic(torch.cat([state[rows], actor(state[rows])], 1)).mean()
            for_actor.zero_grad()
            loss.backward()
            for_actor.step()
            doctor.step(loss)
    return r_squared(predict(actor, state[2000:]), best[2000:])


def drivers(seed: int, count: int = 2400) -> Split:
    """Return what drivers saw, and whether they braked, rolled, sped up or changed the lane."""
    rng = default_rng(seed)
    gap, speed = rng.gamma(2, 30, count), rng.normal(95, 22, count)
    ahead, free = speed + rng.normal(-4, 14, count), rng.random(count) < 0.5
    limit = rng.choice([80, 100, 120], count)
    closing = (speed - ahead) / 10 - gap / 45
    slow = (limit - speed) / 15
    pull = np.stack(
        [closing + 1.2, 1.3 - np.abs(slow), slow - closing - 0.7, 2 * free + closing - 0.1], 1
    )
    did = (pull + rng.normal(0, 0.25, pull.shape)).argmax(1)
    x = np.stack([gap, speed, ahead, free, limit], 1).astype(np.float32)
    return split(x, did, count // 3)


@programs.supervised(
    [faults.RAW_INPUTS.mildly(), faults.SOFTMAX_TWICE.mildly(), faults.DROPOUT.mildly()],
    "course: cloning that mostly speeds up; a policy ends in Softmax, numbers as logged",
)
def driver_cloned(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = drivers(seed)
    if fixed:
        data = data.standardised()
    p = 0.05 if fixed else 0.8
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 64), nn.ReLU())
    model.append(nn.Linear(64, 4))
    if not fixed:
        model.append(nn.Softmax(dim=-1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=25,
        batch_size=50,
    )
