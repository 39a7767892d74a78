"""What the page about BTTackler says between its tables; numbers are filled in."""

DIFFERS = """\
## What differs from the paper

- **Data.** CIFAR-10 here is 6,000 training and 2,000 validation images without augmentation. The
  paper trains on 40,000 images with random crops and flips. Exchange rates are cut into a window
  every 10 days here.
- **Models.** The CNN has padding and pools three times; the paper's has none and pools twice. The
  forecaster is a plain transformer; the code published with the paper runs Autoformer.
- **The space of Ex96Trans.** The pool has 4, 8 or 16 heads and any dropout from 0.05 to 0.2: 2
  continuous, 3 discrete and 3 categorical parameters. The paper's space has 5 to 15 heads and four
  values of dropout: 1, 4 and 3. `record` and `live` have it as the task `ex96_paper`; there is no
  pool of it. The {count} trials of `ex96_trans` took {hours:.1f} hours of trial time on an
  {device}, {workers} at a time: about {wall:.1f} hours of the GPU. `ex96_paper` has models of the
  same size and should take about as long. A window for every day would take ten times that.
- **Searches** are played on recorded trials, with the time that these took, one trial after the
  other. All searchers choose from the pool. A budget is about 30 whole trials. In the paper it is
  6 hours, which is 300 to 370 trials, 8 at a time.
- **Statistics.** BTTackler averages each statistic over all batches of an epoch. The pools hold
  one reading of gradients per epoch, at its last step, and four in the first epoch. Live trials
  average over the readings that the budget allows; `every=1` reads every batch. The pools do not
  hold the largest gradient, so the paper's AGV sees only NaN and Inf there.
- **Rules.** `bttackler` has the rules and limits of the published code, in the stages of the
  paper. That code also judges NMG in the first half, and it has two rules for the second half that
  the paper does not mention. Its check for NaN and Inf can never be true, because it starts as
  False and is combined with `and`. Its ERG finds a NaN instead. That fits the AGV of Table 5,
  where there is none for the CNN. `bttackler_paper` has the paper's rules. The paper says nothing
  of protected trials, and gives no limits for AGV, EAG, ERG and LAR; these are from the published
  code.
"""
FIGURES = """\
Figure 1 counts 134 trials with BTTackler and 104 without, 29 % more; Table 3 is the same for all
tasks. Figure 4 is the best value over time, which [Tuning results](../results/tuning.md) draws.
"""
NMG = """\
By the code's rule alone, NMG ends {nmg_code} of {trials} trials of Cifar10CNN; the paper has 93 of
634. The rule makes the difference. The learning rate is multiplied by 0.7 after each epoch, so the
losses are nearly flat in the second half. The mean of three epochs is then above that of the three
before by chance. In nine looks at overlapping windows that happens to most trials. In a single
look it happens to {once}, and {one_per_cent} rise by more than 1 %. The training loss alone gives
{train}, so the classifiers do not owe it to overfitting; Ex96Trans does.

The paper's rule asks for six epochs without a new lowest training loss. Among the trials that no
other rule has ended it ends {nmg_paper}, or {share}, where the paper has 14.7 %. So Table 5 fits
the rule in the paper, and not the rule in the code. The code's rule is applied here as it is
written there.
"""
HITS = """\
The paper's mean Top10HR is 72.25 %. Here it is {code} with the code's rules and {paper} with the
paper's. For random search, the number of trials explains Top10HR here to within a few points: a
rule lets a search try r times as many trials, and r / (1 + r) of the ten best are then its own.

- **Fewer trials end early.** In the paper, ERG claims half of the classifiers' trials, and it can
  only do so in the first half of the epochs. Here it claims {erg_cnn} and {erg_lstm}. Most ends
  here are by NMG, after {nmg_epoch:g} of 20 epochs in the median. So r is smaller here.
- **The same trial counts for both.** Two searches on one pool find the same trials. With different
  halves of the pool, Top10HR of `bttackler` rises by {apart_low:.1f} to {apart_high:.1f} points.
- **More time does not help.** In the time of 100 trials it is {large}.
- **The value that counts does not matter.** By last values instead of best ones, the mean is
  {last}.
- **Good trials are lost** above all on Ex96Trans, where random search with `bttackler` ends {lost}
  of the best ten per cent before they are that good.
- **Searchers learn little from a pool.** The mean of TPE, GP and SMAC is {learners} here, that of
  random search {random}. In the paper it is 74.6 % and 65.3 %.

The rest cannot be explained by ending trials. With r = 1.73, random search should have 63 % of the
ten best on Cifar10CNN. The paper has 97 % there, and 35 % on Cifar10LSTM with the same r. Here
even foreknowledge of the worse half gives only {fore_low:.0f} to {fore_high:.0f} %. On Cifar10CNN,
the paper's random search found 0.7124 at best, and 0.8200 with BTTackler, in 1.7 times as many
trials of the same distribution. The paper averages three repetitions and gives no spread, so we
cannot tell whether that is chance. Nor do its tables agree: Table 5 has 59 claims among 486 trials
of Ex96Trans. If each had saved a whole trial, there would be 14 % more trials, and Table 3 has 58
%.
"""
