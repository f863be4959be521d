"""lcm of the smallest int64 and 5 ends the process with SIGFPE, as gcd takes -1 for their greatest common divisor."""

# Fails with: SIGFPE

import torch

smallest = torch.tensor([torch.iinfo(torch.int64).min])
print(torch.gcd(smallest, torch.tensor([5])))
print(torch.lcm(smallest, torch.tensor([5])))
