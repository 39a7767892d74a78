"""Reinforcement learning: a bandit, a grid with a pit, a pole on a cart, and cloned pilots."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, ProgramList, Watch

programs = ProgramList("calibration", "reinforcement learning")

NO_END = Fault(
    "values continue after the end of an episode",
    ("bad_targets", "improper_loss"),
    ("unscaled_targets", *faults.UNSTABLE),
)


@programs.script(
    faults.POLICY_SIGN,
    "forum: a contextual bandit for banners prefers the worst one; minus in the wrong place",
)
def bandit_prefers_the_worst(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    wishes = torch.randn(6, 5)  # how much each kind of visitor likes each banner
    best = wishes.argmax(1)
    policy = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 5))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    doctor = watch(policy, optimizer)
    baseline = 0.0
    for _round in range(500):
        visitor = torch.randint(0, 6, (64,))
        choice = Categorical(logits=policy(F.one_hot(visitor, 6).float()))
        banner = choice.sample()
        reward = wishes[visitor, banner] + 0.3 * torch.randn(64)
        advantage = reward - baseline
        baseline = 0.9 * baseline + 0.1 * float(reward.mean())
        chance = choice.log_prob(banner)
        loss = (-chance if fixed else chance) * advantage
        loss = loss.mean() - 0.02 * choice.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    with torch.no_grad():
        return float((policy(torch.eye(6)).softmax(1)[range(6), best]).mean())


SIDE = 5
MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])
GOAL, PIT = torch.tensor([4, 4]), torch.tensor([2, 2])


def seen(place: Tensor) -> Tensor:
    """Return a place of the grid as one of 25."""
    return F.one_hot(SIDE * place[:, 0] + place[:, 1], SIDE * SIDE).float()


def walk(place: Tensor, move: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return where the move leads, the reward and whether it ends there."""
    after = (place + MOVES[move]).clamp(0, SIDE - 1)
    goal, pit = (after == GOAL).all(1), (after == PIT).all(1)
    reward = goal.float() - pit.float() - 0.04 * (~(goal | pit)).float()
    return after, reward, goal | pit


def starts() -> Tensor:
    places = torch.cartesian_prod(torch.arange(SIDE), torch.arange(SIDE))
    return places[~((places == GOAL).all(1) | (places == PIT).all(1))]


@torch.no_grad()
def arrived(values: nn.Module) -> float:
    """Return the share of starts from which the best moves lead to the goal in time."""
    place = starts()
    done, won = torch.zeros(len(place), dtype=torch.bool), torch.zeros(len(place))
    for _ in range(2 * SIDE - 2):
        after, reward, end = walk(place, values(seen(place)).argmax(1))
        won += ((reward > 0) & ~done).float()
        done |= end
        place = torch.where(done[:, None], place, after)
    return float(won.mean())


@programs.script(
    [NO_END, faults.HIGH_RATE],
    "issue: DQN on a grid walks into the pit; no (1 - done), and RMSprop(lr=0.1)",
)
def grid_without_end(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    online = nn.Sequential(nn.Linear(SIDE * SIDE, 48), nn.ReLU(), nn.Linear(48, 4))
    target = nn.Sequential(nn.Linear(SIDE * SIDE, 48), nn.ReLU(), nn.Linear(48, 4))
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.RMSprop(online.parameters(), lr=1e-3 if fixed else 0.1)
    doctor = watch(online, optimizer)
    places = starts()
    for step in range(1200):
        place = places[torch.randint(0, len(places), (48,))]
        move = torch.randint(0, 4, (48,))
        after, reward, end = walk(place, move)
        with torch.no_grad():
            later = 0.95 * target(seen(after)).max(1).values
        goal = reward + (later * (~end).float() if fixed else later)
        value = online(seen(place)).gather(1, move[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(value, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
        if step % 40 == 39:
            target.load_state_dict(online.state_dict())
    return arrived(online)


class Poles:
    """Many poles on carts. The state is place, speed, angle and turn; pushes are left or right."""

    def __init__(self, count: int) -> None:
        self.state = 0.1 * torch.rand(count, 4) - 0.05
        self.up = torch.ones(count, dtype=torch.bool)

    def push(self, right: Tensor) -> Tensor:
        """Push each cart for 0.02 seconds. Return 1 for each pole that was still up."""
        x, speed, angle, turn = self.state.unbind(1)
        force = torch.where(right == 1, 10.0, -10.0)
        sine, cosine = angle.sin(), angle.cos()
        drive = (force + 0.05 * turn**2 * sine) / 1.1
        bend = (9.8 * sine - cosine * drive) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        pull = drive - 0.05 * bend * cosine / 1.1
        change = torch.stack([speed, pull, turn, bend], 1)
        self.state = torch.where(self.up[:, None], self.state + 0.02 * change, self.state)
        reward = self.up.float()
        self.up = self.up & (angle.abs() < 0.21) & (x.abs() < 2.4)
        return reward


SCALE = torch.tensor([1.0, 1.0, 0.1, 1.0])


class ActorCritic(nn.Module):
    """One trunk for the policy and the value."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 48), nn.Tanh())
        self.actor = nn.Linear(48, 2)
        self.critic = nn.Linear(48, 1)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.trunk(state / SCALE)
        return self.actor(hidden), self.critic(hidden).squeeze(-1)


@torch.no_grad()
def share_up(model: ActorCritic, steps: int = 120) -> float:
    """Return the share of the steps that a pole stays up."""
    poles, total = Poles(100), 0.0
    for _ in range(steps):
        push = Categorical(logits=model(poles.state)[0]).sample()
        total += float(poles.push(push).mean())
    return total / steps


@programs.script(
    faults.WRONG_TERM,
    "Q&A: actor-critic keeps pushing at random; the bonus for entropy weighs more than the rest",
)
def pole_entropy_drowns_policy(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer)
    for _round in range(70):
        poles = Poles(24)
        states, pushes, rewards = list[Tensor](), list[Tensor](), list[Tensor]()
        with torch.no_grad():
            while poles.up.any() and len(states) < 120:
                states.append(poles.state)
                pushes.append(Categorical(logits=model(poles.state)[0]).sample())
                rewards.append(poles.push(pushes[-1]))
        returns, after = list[Tensor](), torch.zeros(24)
        for reward in reversed(rewards):
            after = reward * (1.0 + 0.97 * after)
            returns.insert(0, after)
        alive, goal = torch.stack(rewards) > 0, torch.stack(returns)
        goal = goal / 33  # at most 1, as 1 / (1 - 0.97) is 33
        logits, value = model(torch.stack(states))
        error = (goal - value)[alive]
        advantage = error.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        choice = Categorical(logits=logits)
        chance = choice.log_prob(torch.stack(pushes))[alive]
        loss = -(chance * advantage).mean() + 0.5 * error.pow(2).mean()
        loss = loss - (0.01 if fixed else 2.0) * choice.entropy()[alive].mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        doctor.step(loss)
    return share_up(model)
