"""What DeepHunter's paper reports, by the names that our subjects have."""

from __future__ import annotations

CRITERIA = ("nc", "kmnc", "nbc", "snac", "tknc", "bknc")  # in the order of the paper's columns
NAMES = {
    "lenet1": "LeNet-1",
    "lenet4": "LeNet-4",
    "lenet5": "LeNet-5",
    "resnet20": "ResNet-20",
    "vgg8": "VGG-8",
    "efficientnet_lite0": "EfficientNet-Lite 0",
}
# Table 4: per cent of initial seeds and after 24 hours; in the place of our VGG-8 it has VGG-16.
COVERAGE: dict[str, dict[str, tuple[float, float]]] = {
    "lenet1": {
        "nc": (22.9, 31.3),
        "kmnc": (31.4, 92.2),
        "nbc": (1.2, 24.4),
        "snac": (0.3, 22.1),
        "tknc": (49.7, 49.8),
        "bknc": (49.8, 49.8),
    },
    "lenet4": {
        "nc": (56.3, 61.1),
        "kmnc": (21.9, 75.9),
        "nbc": (0.4, 15.1),
        "snac": (0.2, 20.2),
        "tknc": (69.5, 72.7),
        "bknc": (27.2, 31.1),
    },
    "lenet5": {
        "nc": (58.0, 70.8),
        "kmnc": (20.6, 78.4),
        "nbc": (0.3, 11.3),
        "snac": (0.2, 19.2),
        "tknc": (76.3, 83.2),
        "bknc": (24.6, 30.5),
    },
    "resnet20": {
        "nc": (7.5, 10.8),
        "kmnc": (36.0, 75.1),
        "nbc": (0.1, 8.1),
        "snac": (0.1, 8.11),
        "tknc": (62.3, 68.0),
        "bknc": (63.3, 68.7),
    },
    "vgg8": {
        "nc": (41.9, 46.2),
        "kmnc": (41.1, 84.1),
        "nbc": (0.04, 3.1),
        "snac": (0.1, 3.1),
        "tknc": (13.3, 15.1),
        "bknc": (13.9, 16.2),
    },
}
# Its own code, run again on the published networks: ten seeds and 10,000 mutants; TKNC counts neurons by rank.
THEIR_CODE: dict[str, dict[str, float]] = {
    "lenet1": {"kmnc": 43.0, "nbc": 2.4, "snac": 0.0, "tknc": 87.4, "nc": 23.8},
    "lenet4": {"kmnc": 34.6, "nbc": 2.5, "snac": 0.7, "tknc": 77.3, "nc": 54.4},
    "lenet5": {"kmnc": 35.4, "nbc": 0.04, "snac": 0.0, "tknc": 68.1, "nc": 56.6},
}
# Table 5: accuracy of instances A and B, in per cent.
ACCURACY: dict[str, dict[str, tuple[float, float]]] = {
    "lenet1": {
        "nc": (99.0, 99.5),
        "kmnc": (92.8, 97.5),
        "nbc": (93.0, 96.5),
        "snac": (90.1, 96.0),
        "tknc": (91.5, 98.5),
        "bknc": (95.4, 98.7),
    },
    "lenet4": {
        "nc": (98.1, 99.6),
        "kmnc": (92.7, 97.3),
        "nbc": (87.1, 95.5),
        "snac": (91.0, 95.4),
        "tknc": (91.5, 95.7),
        "bknc": (89.3, 95.9),
    },
    "lenet5": {
        "nc": (95.4, 97.7),
        "kmnc": (91.3, 94.1),
        "nbc": (88.4, 96.9),
        "snac": (91.1, 97.0),
        "tknc": (92.4, 97.0),
        "bknc": (91.3, 96.7),
    },
    "resnet20": {
        "nc": (92.6, 93.9),
        "kmnc": (81.7, 87.2),
        "nbc": (83.8, 87.4),
        "snac": (83.8, 86.3),
        "tknc": (81.9, 87.1),
        "bknc": (85.3, 87.8),
    },
    "vgg8": {
        "nc": (86.0, 87.7),
        "kmnc": (78.0, 83.3),
        "nbc": (80.0, 81.3),
        "snac": (82.9, 83.9),
        "tknc": (82.8, 83.3),
        "bknc": (84.1, 85.2),
    },
}
# Table 6: unique error-triggering tests in thousands, after 24 hours.
FAILING: dict[str, dict[str, float]] = {
    "lenet1": {"nc": 6.9, "kmnc": 1.1, "nbc": 6.7, "snac": 8, "tknc": 6.8, "bknc": 8.6},
    "lenet4": {"nc": 4.7, "kmnc": 0.6, "nbc": 2.9, "snac": 3.3, "tknc": 2.2, "bknc": 4.5},
    "lenet5": {"nc": 2.9, "kmnc": 0.7, "nbc": 3.1, "snac": 3.3, "tknc": 1.3, "bknc": 3.2},
    "resnet20": {"nc": 0, "kmnc": 7.0, "nbc": 7.8, "snac": 7.9, "tknc": 6.1, "bknc": 7.2},
    "vgg8": {"nc": 2.2, "kmnc": 6.3, "nbc": 8.1, "snac": 8.5, "tknc": 6.8, "bknc": 8.3},
}
# Table 7: tests that the quantised network answers otherwise, with 1, 50 and 100 % of the weights in 16 bit.
DEFECTS: dict[str, dict[str, tuple[int, int, int]]] = {
    "lenet1": {
        "nc": (9, 43, 36),
        "kmnc": (17, 79, 77),
        "nbc": (61, 111, 107),
        "snac": (63, 141, 164),
        "tknc": (18, 75, 82),
        "bknc": (21, 67, 62),
    },
    "lenet4": {
        "nc": (17, 31, 25),
        "kmnc": (10, 43, 45),
        "nbc": (9, 38, 43),
        "snac": (16, 84, 85),
        "tknc": (11, 33, 31),
        "bknc": (39, 65, 55),
    },
    "lenet5": {
        "nc": (2, 22, 23),
        "kmnc": (7, 46, 49),
        "nbc": (16, 91, 100),
        "snac": (16, 45, 46),
        "tknc": (13, 51, 53),
        "bknc": (7, 24, 28),
    },
    "resnet20": {
        "nc": (0, 0, 0),
        "kmnc": (14, 58, 64),
        "nbc": (8, 62, 68),
        "snac": (6, 40, 42),
        "tknc": (6, 44, 46),
        "bknc": (15, 57, 71),
    },
    "vgg8": {
        "nc": (1, 3, 5),
        "kmnc": (5, 48, 44),
        "nbc": (7, 36, 38),
        "snac": (7, 34, 41),
        "tknc": (11, 39, 38),
        "bknc": (9, 44, 52),
    },
}
