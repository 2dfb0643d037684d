"""What the texts claim, tried: studies are declared, run, and their results kept with every run that is behind them.

study        what a study is, and the rules that decide it
statistics   paired differences, intervals, how small an effect could have been seen
catalogue    all studies, fixed before they were run
computations what needs no run
running      runs and what is read off them
results      the files in assets/studies
"""
