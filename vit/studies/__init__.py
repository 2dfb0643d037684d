"""What the texts claim, tried: studies are declared, run, and their results kept with every run that is behind them.

study        what a study is, and the rules that decide it
statistics   paired differences, intervals, how small an effect could have been seen
catalogue    all studies, fixed before they were run
computations what needs no run
questions    what twins on the Train page can be asked, and repeats, the same with many seeds
running      runs and what is read off them
results      the files in assets/studies, and strict, by which they are read
shelf        results as pages ask for them
here         a visitor's own runs of a study
words        what came out, in sentences, and meanings, why it matters
article      the article's recipe in full, in assets/article
"""
