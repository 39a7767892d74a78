"""Agents, and pairs of networks against each other, as people post them in threads and issues."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.random import Generator, default_rng
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional

from benchmarks.programs import faults
from benchmarks.programs.data import split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict

programs = ProgramList("calibration", "reinforcement learning")

TERMINAL = Fault("values beyond the end of an episode", ("improper_loss", "bad_targets"))


class Carts:
    """Several carts with a pole each. A cart starts anew when its pole falls."""

    def __init__(self, count: int, rng: Generator) -> None:
        self.rng = rng
        self.state = rng.uniform(-0.05, 0.05, (count, 4))

    def step(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Push the carts. Return what follows, and which poles fell."""
        _, speed, angle, turn = self.state.T
        push = np.where(right, 10.0, -10.0) + 0.05 * turn**2 * np.sin(angle)
        bend = 9.8 * np.sin(angle) - np.cos(angle) * push / 1.1
        bend = bend / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))
        gain = (push - 0.05 * bend * np.cos(angle)) / 1.1
        moves = np.stack([speed, gain, turn, bend], 1)
        follows = self.state + 0.02 * moves
        fell = (np.abs(follows[:, 0]) > 2.4) | (np.abs(follows[:, 2]) > 0.21)
        anew = self.rng.uniform(-0.05, 0.05, follows.shape)
        self.state = np.where(fell[:, None], anew, follows)
        return follows, fell


def balanced(network: nn.Module, seed: int, limit: int = 200) -> float:
    """Return how long poles stay up, as a share of `limit` steps."""
    carts = Carts(40, default_rng(1000 + seed))
    up, steps = np.ones(40, bool), 0
    for _ in range(limit):
        values = predict(network, torch.as_tensor(carts.state, dtype=torch.float32))
        up &= ~carts.step(values.argmax(1).numpy() == 1)[1]
        steps += int(up.sum())
    return steps / (40 * limit)


@programs.script(TERMINAL, "issue: a DQN that stays at ten steps; done is stored and never used")
def poles_in_parallel(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    network, target = (
        nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
        for _ in range(2)
    )
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    doctor = watch(network, optimizer)
    carts, memory = Carts(16, rng), torch.zeros(0, 10)
    for turn in range(1800):
        before = carts.state.astype(np.float32)
        with torch.no_grad():
            right = network(torch.from_numpy(before)).argmax(1).numpy() == 1
        random = rng.random(16) < max(0.05, 1 - turn / 400)
        right = np.where(random, rng.random(16) < 0.5, right)
        after, done = carts.step(right)
        rows = np.concatenate([before, right[:, None], after, done[:, None]], 1)
        memory = torch.cat([memory, torch.from_numpy(rows.astype(np.float32))])[-12_000:]
        if turn < 20:
            continue
        batch = memory[torch.from_numpy(rng.integers(0, len(memory), 128))]
        states, actions, following, over = batch.split([4, 1, 4, 1], 1)
        chosen = network(states).gather(1, actions.long())
        with torch.no_grad():
            best = network(following).argmax(1, keepdim=True)
            future = target(following).gather(1, best)
        if fixed:
            future = future * (1 - over)
        loss = functional.smooth_l1_loss(chosen, 1 + 0.98 * future)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        optimizer.step()
        doctor.step(loss)
        if turn % 20 == 0:
            target.load_state_dict(network.state_dict())
    return balanced(network, seed)


class ActorCritic(nn.Module):
    """A policy for three thrusts, and the value of a state."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 48), nn.Tanh())
        self.actor = nn.Sequential(nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 3))
        self.critic = nn.Sequential(nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits of the thrusts, and values in a column."""
        x = self.body(x)
        return self.actor(x), self.critic(x)


def fly(model: ActorCritic, starts: Tensor) -> tuple[Tensor, ...]:
    """Fly 25 steps. Return what was seen and done, and the rewards, by step and rover."""
    place, speed = starts.unbind(1)
    seen, done, rewards = [], [], []
    for step in range(25):
        state = torch.stack([place, speed, torch.full_like(place, step / 25)], 1)
        with torch.no_grad():
            logits = model(state)[0]
        thrust = Categorical(logits=logits).sample()
        speed = speed + 0.1 * (thrust - 1)
        place = place + 0.3 * speed
        seen.append(state)
        done.append(thrust)
        rewards.append(-place.abs() - 0.3 * speed.abs())
    return torch.stack(seen), torch.stack(done), torch.stack(rewards)


@programs.script(
    [faults.WRONG_TERM, faults.SCHEDULER.mildly()],
    "issue: an actor-critic stays nearly random: entropy weight of 0.3, decay meant for epochs",
)
def rover_to_the_dock(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    bonus = 0.01 if fixed else 0.3
    every = 40 if fixed else 1
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, every, gamma=0.97)
    doctor = watch(model, optimizer)
    for _ in range(120):
        starts = torch.randn(24, 2) * torch.tensor([1.0, 0.3])
        seen, done, rewards = fly(model, starts)
        returns = rewards.flip(0).cumsum(0).flip(0).flatten() / 10
        logits, values = model(seen.flatten(0, 1))
        policy = Categorical(logits=logits)
        advantage = returns - values.squeeze(1).detach()
        actor = -(policy.log_prob(done.flatten()) * advantage).mean()
        value = functional.mse_loss(values.squeeze(1), returns)
        loss = actor + 0.5 * value - bonus * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        doctor.step(loss)
    starts = torch.randn(200, 2) * torch.tensor([1.0, 0.3])
    end = fly(model, starts)[0][-4:]
    return float(((end[..., 0].abs() < 0.3) & (end[..., 1].abs() < 0.25)).double().mean())


@programs.supervised(
    faults.DEEP_SIGMOID.mildly(),
    "forum: values of actions from the log of a shop, the same action is best for everybody",
)
def banner_from_the_log(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    count = 4000
    age, spent = rng.normal(41, 14, count), rng.lognormal(5.5, 0.8, count)
    pages, minutes = rng.poisson(6, count), rng.exponential(9, count)
    young, rich = (38 - age) / 8, (np.log(spent) - 5.5) / 0.6
    worth = np.stack([young, rich - 0.2, -rich + 0.1 * (pages - 6), 0.5 - young - 0.3 * rich], 1)
    shown = rng.integers(0, 4, count)  # banners were shown at random
    earned = worth[np.arange(count), shown] + rng.normal(0, 0.7, count)
    columns = np.stack([age, np.log(spent), pages, minutes], 1).astype(np.float32)
    data = split(columns, worth.argmax(1), 1000).standardised()
    log = np.stack([shown, earned / earned.std()], 1).astype(np.float32)[:-1000]

    def one_step(values: Tensor, logged: Tensor) -> Tensor:
        chosen = values.gather(1, logged[:, :1].long()).squeeze(1)
        return functional.mse_loss(chosen, logged[:, 1])

    act, widths = (nn.ReLU if fixed else nn.Sigmoid), [4, 32, 32, 32, 32, 32]
    hidden = [(nn.Linear(a, b), act()) for a, b in pairwise(widths)]
    model = nn.Sequential(*(each for pair in hidden for each in pair), nn.Linear(32, 4))
    return Parts(
        model=model,
        data=(data.x, torch.from_numpy(log)),
        loss=one_step,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=20,
        batch_size=64,
    )


def likeness(made: Tensor, real: Tensor) -> float:
    """Return how alike two clouds of points are, seen from many sides: a constant has 0."""
    sides = functional.normalize(torch.randn(real.shape[1], 60), dim=0)
    ours, theirs = (made @ sides).sort(0).values, (real @ sides).sort(0).values
    distance = (ours - theirs).abs().mean()
    score = 1 - float(distance / (theirs - theirs.mean(0)).abs().mean())
    return max(-1.0, score) if np.isfinite(score) else -1.0


def dense(*widths: int) -> nn.Sequential:
    """Return layers with leaky ReLUs in between."""
    layers = [(nn.Linear(a, b), nn.LeakyReLU(0.2)) for a, b in pairwise(widths)]
    return nn.Sequential(*[each for pair in layers for each in pair][:-1])


@programs.script(
    faults.DETACHED, "forum: the generator's loss only rises; fake.detach() for both", kind="GAN"
)
def two_moons_faked(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    angle = torch.rand(3000) * torch.pi
    side = (torch.rand(3000) < 0.5).float() * 2 - 1
    moons = torch.stack([side * angle.cos() + side / 2, side * (angle.sin() - 0.25)], 1)
    moons = moons + 0.08 * torch.randn(3000, 2)
    real, held_out = moons[:2000], moons[2000:]
    generator, critic = dense(8, 64, 64, 2), dense(2, 64, 64, 1)
    for_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    for_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    yes, no = torch.full((64, 1), 0.9), torch.zeros(64, 1)
    doctor = watch(generator, for_g)
    for _ in range(1500):
        fake = generator(torch.randn(64, 8))
        for_c.zero_grad()
        batch = real[torch.randint(0, 2000, (64,))]
        (criterion(critic(batch), yes) + criterion(critic(fake.detach()), no)).backward()
        for_c.step()
        for_g.zero_grad()
        loss = criterion(critic(fake if fixed else fake.detach()), torch.ones(64, 1))
        loss.backward()
        for_g.step()
        doctor.step(loss)
    return likeness(predict(generator, torch.randn(1000, 8)), held_out)


def pulses(count: int) -> Tensor:
    """Return heart beats of 20 values: of two shapes, higher or lower, earlier or later."""
    time, late = torch.linspace(0, 1, 20), 0.45 + 0.15 * torch.rand(count, 1)
    second = 0.5 * (torch.rand(count, 1) < 0.4) * torch.exp(-(((time - late - 0.25) / 0.08) ** 2))
    beat = torch.exp(-(((time - late) / 0.07) ** 2)) - second
    return beat * (0.8 + 0.4 * torch.rand(count, 1)) + 0.03 * torch.randn(count, 20)


@programs.script(
    [faults.SIGMOID_TWICE, faults.NO_ZERO_GRAD],
    "issue: BCEWithLogitsLoss after a sigmoid, gradients of both steps add up in one network",
    kind="GAN",
)
def faked_heart_beats(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    real, held_out = pulses(2000), pulses(800)
    generator, judge = dense(10, 64, 64, 20), dense(20, 64, 64, 1)
    if not fixed:
        judge.append(nn.Sigmoid())
    clear = bool(fixed)
    for_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    for_j = torch.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    one, zero = torch.ones(64, 1), torch.zeros(64, 1)
    doctor = watch(judge, for_j)
    for _ in range(1800):
        if clear:
            judge.zero_grad()
        fake = generator(torch.randn(64, 10))
        answers = judge(real[torch.randint(0, 2000, (64,))])
        loss = criterion(answers, one) + criterion(judge(fake.detach()), zero)
        loss.backward()
        for_j.step()
        doctor.step(loss)
        generator.zero_grad()
        criterion(judge(fake), one).backward()
        for_g.step()
    return likeness(predict(generator, torch.randn(800, 10)), held_out)
