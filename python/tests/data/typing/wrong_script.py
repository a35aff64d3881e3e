"""Words and options that do not exist: each line is an error for mypy --strict and pyright."""

import numpy as np

import vargate

p = np.full((2, 3, 4), 0.25)
vargate.score(p, preset="papr")  # wrong
vargate.score(p, axes=3)  # wrong
vargate.score(p, k=1j)  # wrong
vargate.evaluate(p, [0, 1], normalize=True)  # wrong
vargate.ood(p, p, pears="all")  # wrong
vargate.select_k(p, target_coverage=0.5, sigma="both")  # wrong
vargate.decide(p, measures="tu")  # wrong
vargate.calibrate(p, [0, 1], solver="newtn")  # wrong
vargate.train("quickstart", epochs="two")  # wrong
vargate.run("quickstart", optimizer="adam")  # wrong
vargate.predict("runs/mine", split="tests")  # wrong
vargate.load("scores.npz", "score")  # wrong
vargate.score(p)[1.5]  # wrong
vargate.evaluate(p, [0, 1]).to_pandas("rows")  # wrong
vargate.Scorer(preset="papr")  # wrong
