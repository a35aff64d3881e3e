"""The table of mutants that are decided, and the interval of their share, for scripts/mutate.py."""

import math

COLUMNS = ("number", "file", "line", "operator", "before", "after", "result", "by", "seconds")


def interval(part, whole):
    """The 95 % interval of a share, after Clopper and Pearson, by bisection on the binomial distribution."""

    def at_least(count, p):
        return sum(math.comb(whole, k) * p**k * (1 - p) ** (whole - k) for k in range(count, whole + 1))

    def solve(count, wanted):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if at_least(count, middle) < wanted else (low, middle)
        return low

    return solve(part, 0.025) if part else 0.0, solve(part + 1, 0.975) if part < whole else 1.0


class Table:
    """mutants.tsv and, with what was replaced, tried.tsv."""

    def __init__(self, out):
        self.rows, self.path, self.all = {}, out / "mutants.tsv", out / "tried.tsv"
        if self.all.exists():
            for line in self.all.read_text().splitlines()[1:]:
                row = line.split("\t")
                self.rows[int(row[0])] = row
        else:
            for path in (self.path, self.all):
                path.write_text("\t".join(COLUMNS) + "\n")

    def add(self, row):
        self.rows[row[0]] = [str(value) for value in row]
        for path in (self.all, self.path) if row[6] in ("killed", "survived") else (self.all,):
            with open(path, "a") as file:
                file.write("\t".join(self.rows[row[0]]) + "\n")

    def counted(self, wanted):
        """The first `wanted` mutants by number, as far as they are decided."""
        rows = [self.rows[number] for number in sorted(self.rows)]
        return [row for row in rows if row[6] in ("killed", "survived")][:wanted]
