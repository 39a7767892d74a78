"""What the paper of BTTackler reports (Pei et al., 2024): its tables, by task and searcher."""

from collections.abc import Mapping

TASKS = {"cifar10_cnn": "Cifar10CNN", "cifar10_lstm": "Cifar10LSTM", "ex96_trans": "Ex96Trans"}
SEARCHERS = ("random", "GP", "TPE", "SMAC")

# Table 2: Top10HR of BTTackler, and of the rule that looks at the metric alone, in per cent.
TOP10HR: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "cifar10_cnn": {"random": (97, 51), "GP": (86, 32), "TPE": (95, 60), "SMAC": (57, 17)},
    "cifar10_lstm": {"random": (35, 56), "GP": (24, 16), "TPE": (86, 57), "SMAC": (94, 63)},
    "ex96_trans": {"random": (64, 62), "GP": (76, 74), "TPE": (77, 65), "SMAC": (76, 72)},
}
# Table 2: the rule that looks at the metric alone.
RIVALS = {"cifar10_cnn": "extrapolation", "cifar10_lstm": "extrapolation", "ex96_trans": "median"}
# Table 2: best value and mean of the ten best, without and with BTTackler.
BEST: Mapping[str, Mapping[str, tuple[float, float, float, float]]] = {
    "cifar10_cnn": {
        "random": (0.7124, 0.6863, 0.8200, 0.7980),
        "GP": (0.7605, 0.7294, 0.8040, 0.7850),
        "TPE": (0.6818, 0.6544, 0.8108, 0.7910),
        "SMAC": (0.8390, 0.8347, 0.8399, 0.8367),
    },
    "cifar10_lstm": {
        "random": (0.5488, 0.5077, 0.5337, 0.5040),
        "GP": (0.5522, 0.5268, 0.5357, 0.5226),
        "TPE": (0.4989, 0.4720, 0.5222, 0.5039),
        "SMAC": (0.5580, 0.5396, 0.5654, 0.5541),
    },
    "ex96_trans": {
        "random": (0.1857, 0.1899, 0.1857, 0.1894),
        "GP": (0.1851, 0.1899, 0.1841, 0.1851),
        "TPE": (0.1854, 0.1890, 0.1837, 0.1855),
        "SMAC": (0.1826, 0.1885, 0.1802, 0.1838),
    },
}
# Table 3: trials of random search in 6 hours: plain, with the rule by the metric, with BTTackler.
TRIED = {
    "cifar10_cnn": (367, 662, 634),
    "cifar10_lstm": (356, 653, 621),
    "ex96_trans": (307, 343, 486),
}
# Table 4: hours until SMAC was at its best, and until SMAC with BTTackler was as good.
HOURS = {"cifar10_cnn": (4.64, 3.89), "cifar10_lstm": (4.41, 2.31), "ex96_trans": (4.51, 1.88)}
# Table 5: trials that each indicator claims.
INDICATORS = {
    "abnormal_gradient": "AGV",
    "amplified_gradient": "EAG",
    "passive_loss": "PLC",
    "reduced_gradient": "ERG",
    "low_activation": "LAR",
    "unexpected_loss": "ULC",
    "no_more_gain": "NMG",
}
CLAIMED = {
    "cifar10_cnn": {"PLC": 24, "ERG": 317, "LAR": 62, "NMG": 93},
    "cifar10_lstm": {
        "AGV": 8, "EAG": 20, "PLC": 1, "ERG": 296, "LAR": 105, "ULC": 19, "NMG": 134
    },
    "ex96_trans": {"AGV": 1, "EAG": 3, "ERG": 11, "LAR": 3, "ULC": 6, "NMG": 35},
}  # fmt: skip
OVERHEAD = 0.05  # of the training time, at most
