"""Reinforcement learning in a small world: walk to the goal in a corridor."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import ProgramList, Watch

programs = ProgramList("calibration", "reinforcement learning")
WIDTH, LIMIT = 7, 20


class Corridors:
    """Many corridors at once. The goal is at a random place; right and left are the actions."""

    def __init__(self, count: int) -> None:
        self.place = torch.randint(0, WIDTH, (count,))
        self.goal = torch.randint(0, WIDTH, (count,))
        self.done = self.place == self.goal

    def look(self) -> Tensor:
        both = F.one_hot(self.place, WIDTH), F.one_hot(self.goal, WIDTH)
        return torch.cat(both, 1).float()

    def step(self, action: Tensor) -> Tensor:
        """Move, and return the rewards: 1 at the goal, a small cost elsewhere, 0 when done."""
        moved = (self.place + 2 * action - 1).clamp(0, WIDTH - 1)
        self.place = torch.where(self.done, self.place, moved)
        reward = torch.where(self.place == self.goal, 1.0, -0.05).where(~self.done, 0.0)
        self.done = self.done | (self.place == self.goal)
        return reward


@torch.no_grad()
def reached(policy: nn.Module) -> float:
    """Return the share of corridors in which the best action leads to the goal in time."""
    torch.manual_seed(1234)
    world = Corridors(300)
    for _ in range(WIDTH):
        world.step(policy(world.look()).argmax(1))
    return float(world.done.double().mean())


def make_policy() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2 * WIDTH, 64), nn.ReLU(), nn.Linear(64, 2))


def play(policy: nn.Module) -> tuple[Tensor, Tensor]:
    """Return the log probabilities of the actions and the returns, each (steps, corridors)."""
    world, logs, rewards = Corridors(16), [], []
    for _ in range(LIMIT):
        choice = Categorical(logits=policy(world.look()))
        action = choice.sample()
        logs.append(choice.log_prob(action))
        rewards.append(world.step(action))
    returns, after = list[Tensor](), torch.zeros(16)
    for reward in reversed(rewards):
        after = reward + 0.95 * after
        returns.insert(0, after)
    return torch.stack(logs), torch.stack(returns)


@programs.script(
    faults.POLICY_SIGN, "Q&A: REINFORCE gets worse with time; log_prob * return without a minus"
)
def reinforce_sign(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    policy = make_policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    doctor = watch(policy, optimizer)
    for _episode in range(200):
        logs, returns = play(policy)
        advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = (logs * advantage).mean()
        loss = -loss if fixed else loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return reached(policy)


@programs.script(faults.DETACHED, "forum: log probabilities kept as numbers, so nothing learns")
def reinforce_items(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    policy = make_policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    doctor = watch(policy, optimizer)
    for _episode in range(200):
        logs, returns = play(policy)
        if not fixed:
            logs = torch.tensor(logs.tolist(), requires_grad=True)  # rebuilt from a list
        advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = -(logs * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return reached(policy)


def remember(count: int = 4000) -> tuple[Tensor, ...]:
    """Return what random walks have seen: state, action, reward, next state and end."""
    world = Corridors(count)
    before, action = world.look(), torch.randint(0, 2, (count,))
    reward = world.step(action)
    return before, action, reward, world.look(), world.done.float()


def q_learning(watch: Watch, model: nn.Module, seed: int, column: bool, rate: float) -> float:
    """Train a network of action values. `column` keeps the chosen values as (N, 1)."""
    memory = remember()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    doctor = watch(model, optimizer)
    torch.manual_seed(seed)
    for _step in range(1500):
        rows = torch.randint(0, len(memory[0]), (64,))
        state, action, reward, following, end = (each[rows] for each in memory)
        with torch.no_grad():
            best = model(following).max(1).values
        target = reward + 0.9 * best * (1 - end)
        chosen = model(state).gather(1, action.unsqueeze(1))
        chosen = chosen if column else chosen.squeeze(1)
        loss = F.smooth_l1_loss(chosen, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return reached(model)


@programs.script(
    faults.BROADCAST, "issue: DQN does not learn; gather gives (N, 1), the targets are (N,)"
)
def q_values_broadcast(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    return q_learning(watch, make_policy(), seed, column=not fixed, rate=2e-3)


@programs.script(faults.HIGH_RATE, "Q&A: DQN values blow up with Adam(0.5)")
def q_values_high_rate(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    return q_learning(watch, make_policy(), seed, column=False, rate=2e-3 if fixed else 0.5)
