"""Which small trained networks and images ship with Jostle, so that a first run needs no download?"""

from jostle.zoo.lenet import LeNet, lenet1, lenet4, lenet5
from jostle.zoo.mnist import mnist_sample

__all__ = ["LeNet", "lenet1", "lenet4", "lenet5", "mnist_sample"]
