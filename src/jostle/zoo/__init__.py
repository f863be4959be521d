"""Which small trained networks and images ship with Jostle, so that a first run needs no download?"""

from jostle.zoo.cifar10_images import Cifar10, cifar10, cifar10_sample
from jostle.zoo.lenet import LeNet, lenet1, lenet4, lenet5
from jostle.zoo.mnist import mnist_sample
from jostle.zoo.resnet import ResNet20, resnet20
from jostle.zoo.vgg import VGG, vgg8

__all__ = [
    "VGG",
    "Cifar10",
    "LeNet",
    "ResNet20",
    "cifar10",
    "cifar10_sample",
    "lenet1",
    "lenet4",
    "lenet5",
    "mnist_sample",
    "resnet20",
    "vgg8",
]
