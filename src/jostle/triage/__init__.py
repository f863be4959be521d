"""How is a finding made smaller when the budget is spent?"""
