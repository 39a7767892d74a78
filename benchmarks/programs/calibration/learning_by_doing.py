"""A tank kept level, a forklift that copies its driver, and a GAN that imitates drinkers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import ProgramList, Watch

programs = ProgramList("calibration", "reinforcement learning")


class Tanks:
    """Many tanks with an inflow of their own. One may drain, wait or fill."""

    def __init__(self, count: int) -> None:
        self.level = 2 * torch.rand(count) - 1
        self.inflow = 0.3 * (2 * torch.rand(count) - 1)

    def look(self) -> Tensor:
        return torch.stack([self.level, self.inflow / 0.2], 1)

    def step(self, action: Tensor) -> Tensor:
        """Let the water run, and return the rewards: the nearer to the middle, the better."""
        self.level = (self.level + self.inflow + 0.4 * (action - 1)).clamp(-2, 2)
        return -self.level.abs()


@torch.no_grad()
def kept(policy: nn.Module) -> float:
    """Return the share of the time that tanks are near the middle with the best actions."""
    torch.manual_seed(4321)
    tanks, within = Tanks(400), []
    for step in range(20):
        tanks.step(policy(tanks.look()).argmax(1))
        if step >= 8:
            within.append(tanks.level.abs() < 0.4)
    return float(torch.stack(within).double().mean())


@programs.script(
    faults.POLICY_SIGN,
    "issue: actor and critic; the advantage is value minus return, and the tanks run over",
)
def tank_keeper(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))
    critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
    doctor = watch(policy, optimizer)
    for _episode in range(300):
        tanks, states, logs, rewards = Tanks(32), [], [], []
        for _ in range(10):
            states.append(tanks.look())
            choice = Categorical(logits=policy(states[-1]))
            action = choice.sample()
            logs.append(choice.log_prob(action))
            rewards.append(tanks.step(action))
        returns, after = list[Tensor](), torch.zeros(32)
        for reward in reversed(rewards):
            after = reward + 0.7 * after
            returns.insert(0, after)
        total, value = torch.stack(returns), critic(torch.stack(states)).squeeze(2)
        critic_optimizer.zero_grad()
        F.mse_loss(value, total).backward()
        critic_optimizer.step()
        value = value.detach()
        advantage = total - value if fixed else value - total
        loss = -(torch.stack(logs) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return kept(policy)


def drives(count: int) -> tuple[Tensor, Tensor]:
    """Return what a driver sees (a goal, a shelf, the speed) and one of four moves."""
    seen = torch.randn(count, 5)
    ahead, aside, shelf = seen[:, 0], seen[:, 1], seen[:, 2]
    move = torch.where(aside.abs() > ahead.abs(), torch.where(aside > 0, 1, 2), 0)
    move = torch.where((shelf > 0.8) & (move == 0), 3, move)
    return seen, move


@programs.script(
    faults.ARGMAX,
    "Q&A: learning from a driver, the move with the highest score is compared with the driver's",
)
def forklift_driver(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    seen, move = drives(6000)
    policy = nn.Sequential(
        nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4)
    )
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    doctor = watch(policy, optimizer)
    for _epoch in range(15):
        for rows in torch.randperm(5000).split(50):
            scores = policy(seen[rows])
            if fixed:
                loss = F.cross_entropy(scores, move[rows])
            else:
                guess = scores.argmax(1).float().requires_grad_()
                loss = F.mse_loss(guess, move[rows].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    with torch.no_grad():
        return float((policy(seen[5000:]).argmax(1) == move[5000:]).double().mean())


def drinkers(count: int) -> Tensor:
    """Return how warm and how sweet people take their tea: three habits, standardised."""
    habit = torch.randint(0, 3, (count,))
    middle = torch.tensor([[-1.2, -0.9], [0.1, 1.2], [1.2, -0.4]])
    return middle[habit] + 0.2 * torch.randn(count, 2)


@torch.no_grad()
def resemblance(generator: nn.Module) -> float:
    """Return 1 if made drinkers are spread as real ones are, and less the more they differ."""
    made, real = generator(torch.randn(800, 6)), drinkers(800)
    within = torch.cdist(real, real).mean()
    energy = 2 * torch.cdist(made, real).mean() - within - torch.cdist(made, made).mean()
    return float(1 - (5 * energy / within).clamp(0, 2).nan_to_num(2.0))


@programs.script(
    faults.DEEP_SIGMOID,
    "forum: a generator of six sigmoid layers makes the same drinker again and again",
    kind="GAN",
)
def tea_drinkers(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for width in (6, *[48] * (1 if fixed else 5)):
        layers += [nn.Linear(width, 48), nn.ReLU() if fixed else nn.Sigmoid()]
    generator = nn.Sequential(*layers, nn.Linear(48, 2))
    discriminator = nn.Sequential(
        nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1)
    )
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    doctor = watch(generator, g_optimizer)
    for _step in range(1500):
        real, fake = drinkers(64), generator(torch.randn(64, 6))
        d_loss = F.softplus(-discriminator(real)) + F.softplus(discriminator(fake.detach()))
        d_optimizer.zero_grad()
        d_loss.mean().backward()
        d_optimizer.step()
        g_loss = F.softplus(-discriminator(fake)).mean()
        g_optimizer.zero_grad()
        g_loss.backward()
        g_optimizer.step()
        doctor.step(g_loss)
    return resemblance(generator)
