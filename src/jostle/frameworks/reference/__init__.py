"""What a model computes, in float64 from elementary operations: the yardstick for every framework."""
