"""fmax and fmin of whole numbers compute in floats: 16777217 becomes 16777216, and 2**63 - 2 becomes -2**63."""

import paddle

small, large = paddle.to_tensor([2**24 + 1], dtype="int32"), paddle.to_tensor([2**63 - 2], dtype="int64")
seen = {x.item(): {paddle.fmin(x, x).item(), paddle.fmax(x, x).item()} for x in (small, large)}
print(seen)
assert all(found == {given} for given, found in seen.items()), "the least and the largest of a number is itself"
