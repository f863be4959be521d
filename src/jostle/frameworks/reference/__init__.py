"""What does a model compute, in float64 from elementary operations, that every framework is compared with?"""
