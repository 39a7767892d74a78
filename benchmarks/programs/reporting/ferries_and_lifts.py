"""Agents that steer a ferry, a lift and a battery."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, ProgramList, Watch

programs = ProgramList("reporting", "reinforcement learning")


# --- a ferry --------------------------------------------------------------------------------------

PAST_RETURNS = Fault("returns add up the past", ("bad_targets", "improper_loss"), ("not_learning",))
LONG, WIDE = 10, 5


class Ferries:
    """Many ferries that cross a river with a current. They must reach the quay in the middle."""

    def __init__(self, count: int) -> None:
        self.step = 0
        self.place = torch.randint(0, WIDE, (count,))

    def seen(self) -> Tensor:
        ahead = torch.full((len(self.place),), self.step)
        return torch.cat([F.one_hot(self.place, WIDE), F.one_hot(ahead, LONG)], 1).float()

    def steer(self, helm: Tensor) -> Tensor:
        """Steer up, straight or down. Return what each ferry earned."""
        drift = (torch.rand(len(helm)) < 0.3).long()
        self.place = (self.place + helm - 1 - drift).clamp(0, WIDE - 1)
        self.step += 1
        fuel = -0.05 * (helm != 1).float()
        return fuel + (self.place == WIDE // 2).float() * float(self.step == LONG)


def sailed(policy: nn.Module) -> float:
    """Return the share of ferries that reach the quay."""
    ferries = Ferries(400)
    for _ in range(LONG):
        with torch.no_grad():
            reward = ferries.steer(policy(ferries.seen()).argmax(1))
    return float((reward > 0.5).double().mean())


@programs.script(
    PAST_RETURNS,
    "Q&A: REINFORCE saves fuel and never arrives; returns = np.cumsum(rewards)",
)
def ferry_to_the_quay(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    policy = nn.Sequential(nn.Linear(WIDE + LONG, 32), nn.Tanh(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    doctor = watch(policy, optimizer)
    for _round in range(150):
        ferries = Ferries(64)
        chances, rewards = list[Tensor](), list[Tensor]()
        for _ in range(LONG):
            helm = Categorical(logits=policy(ferries.seen()))
            move = helm.sample()
            chances.append(helm.log_prob(move))
            rewards.append(ferries.steer(move))
        earned = torch.stack(rewards)
        returns = earned.flip(0).cumsum(0).flip(0) if fixed else earned.cumsum(0)
        returns = returns - returns.mean(1, keepdim=True)
        loss = -(torch.stack(chances) * returns).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return sailed(policy)


# --- a lift ---------------------------------------------------------------------------------------

BEST_FOR_TAKEN = Fault(
    "the value of the best move stands for that of the move made",
    ("improper_loss", "bad_targets"),
    ("constant_prediction",),
)
FLOORS = 7


def lift(place: Tensor, wanted: Tensor, move: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Go down, open the doors or go up. Return the floor, the reward and whether it is over."""
    after = (place + move - 1).clamp(0, FLOORS - 1)
    opened = move == 1
    reward = torch.where(opened, torch.where(place == wanted, 1.0, -1.0), -0.05)
    return after, reward, opened


def floors(place: Tensor, wanted: Tensor) -> Tensor:
    return torch.cat([F.one_hot(place, FLOORS), F.one_hot(wanted, FLOORS)], 1).float()


def brought(values: nn.Module) -> float:
    """Return the share of people who get out where they wanted to."""
    pairs = torch.cartesian_prod(torch.arange(FLOORS), torch.arange(FLOORS))
    place, wanted = pairs.unbind(1)
    over, right = torch.zeros(len(place), dtype=torch.bool), torch.zeros(len(place))
    for _ in range(FLOORS + 1):
        with torch.no_grad():
            place, reward, ends = lift(place, wanted, values(floors(place, wanted)).argmax(1))
        right += ((reward > 0.5) & ~over).float()
        over |= ends
    return float(right.mean())


@programs.script(
    [BEST_FOR_TAKEN, faults.LOW_RATE],
    "issue: a DQN for a lift; Adam(5e-5), and the loss compares q.max(1) with the target",
)
def lift_that_opens(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    online = nn.Sequential(nn.Linear(2 * FLOORS, 64), nn.ReLU(), nn.Linear(64, 3))
    target = nn.Sequential(nn.Linear(2 * FLOORS, 64), nn.ReLU(), nn.Linear(64, 3))
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=2e-3 if fixed else 5e-5)
    doctor = watch(online, optimizer)
    for step in range(1100):
        place, wanted = torch.randint(0, FLOORS, (2, 64))
        move = torch.randint(0, 3, (64,))
        after, reward, over = lift(place, wanted, move)
        with torch.no_grad():
            later = target(floors(after, wanted)).amax(1) * (~over).float()
        q = online(floors(place, wanted))
        value = q.gather(1, move[:, None])[:, 0] if fixed else q.amax(1)
        loss = F.mse_loss(value, reward + 0.95 * later)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
        if step % 30 == 29:
            target.load_state_dict(online.state_dict())
    return brought(online)


# --- a battery ------------------------------------------------------------------------------------

RAW_REWARDS = Fault(
    "the value of raw rewards drowns the policy",
    ("unscaled_targets", "improper_loss"),
    (*faults.TOO_HIGH, *faults.UNSTABLE, *faults.DEAD, "learning_rate_too_low"),
)


class Trader(nn.Module):
    """One body for what to do and for what it is worth."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
        self.policy, self.value = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(state)
        return self.policy(hidden), self.value(hidden)[:, 0]


def market(count: int) -> tuple[Tensor, Tensor]:
    """Return states of a market, and what selling, waiting and buying earn in euros."""
    state = torch.randn(count, 6)
    price, charge, wind = state[:, 0], state[:, 1], state[:, 2]
    sell = 900 * price + 700 * charge - 500 * wind
    buy = -900 * price - 700 * charge - 600 * wind * price
    return state, 2500 + torch.stack([sell, 300 * wind, buy], 1)


@programs.script(
    RAW_REWARDS,
    "Q&A: A2C for a battery earns like a coin; rewards in euros, and clip_grad_norm_(0.5) on all",
)
def battery_in_euros(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    net = Trader()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    doctor = watch(net, optimizer)
    for _round in range(700):
        state, earns = market(64)
        logits, value = net(state)
        choice = Categorical(logits=logits)
        move = choice.sample()
        reward = earns.gather(1, move[:, None])[:, 0]
        if fixed:
            reward = (reward - 2500) / 1000
        advantage = reward - value
        loss = (
            -(choice.log_prob(move) * advantage.detach()).mean() + 0.5 * advantage.square().mean()
        )
        loss = loss - 0.01 * choice.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        doctor.step(loss)
    state, earns = market(2000)
    with torch.no_grad():
        return float((net(state)[0].argmax(1) == earns.argmax(1)).double().mean())
