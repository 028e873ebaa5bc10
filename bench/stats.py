# SPDX-License-Identifier: MIT
# Samples of a file of bench/run.py, and what may be concluded from them.
import math
import statistics
from collections import namedtuple

Sample = namedtuple("Sample", "case unit variant repetition value count")
HEADER = "\t".join(Sample._fields)
VARIANTS = {"base", "new", "on", "off", "aa"}
PAIRS = (("base", "new"), ("off", "on"), ("off", "aa"))  # what the second is measured against
BATCHES = 20  # blocks of neighbouring pairs, which are one observation: noise comes in stretches


def read(path):
    """(provenance, samples); ValueError says what is wrong with the file."""
    meta, samples, header = {}, [], False
    for number, line in enumerate(open(path, errors="strict"), 1):
        line = line.rstrip("\n")
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            meta[key.strip()] = value.strip()
        elif not header:
            if line != HEADER:
                raise ValueError(f"{path}:{number}: not a file of make bench")
            header = True
        else:
            samples.append(parse(line, f"{path}:{number}"))
    if not samples:
        raise ValueError(f"{path}: no samples")
    return meta, samples


def read_all(paths):
    """The same of several files, whose repetitions follow each other"""
    meta, samples = read(paths[0])
    for n, path in enumerate(paths[1:], 1):
        other, more = read(path)
        for key in ("revision", "compiler", "kernel", "cpu", "cores"):
            if other.get(key) != meta.get(key):
                raise ValueError(f"{path}: not of the same {key} as {paths[0]}")
        samples += [s._replace(repetition=s.repetition + n * 1000000) for s in more]
    return meta, samples


def parse(line, where):
    f = line.split("\t")
    try:
        s = Sample(f[0], f[1], f[2], int(f[3]), float(f[4]), int(f[5]))
    except (ValueError, IndexError):
        raise ValueError(f"{where}: not a sample") from None
    if len(f) != 6 or not math.isfinite(s.value) or s.count < 0 or s.variant not in VARIANTS:
        raise ValueError(f"{where}: not a sample")
    return s


def group(samples):
    """{(case, unit, variant): {repetition: sample}}, in the order of the file"""
    out = {}
    for s in samples:
        out.setdefault((s.case, s.unit, s.variant), {})[s.repetition] = s
    return out


def pairs(groups, case, unit, base, new):
    """[(base's value, new's value)] of the repetitions that both have"""
    a, b = groups.get((case, unit, base), {}), groups.get((case, unit, new), {})
    return [(a[r].value, b[r].value) for r in sorted(a) if r in b]


def t_quantile(df):
    """Student's t at 97.5 %: exact for 1 and 2, else Cornish and Fisher's series, within 1 % from 3 on"""
    if df < 1:
        return math.inf
    if df == 1:
        return 12.706
    if df == 2:
        return 4.303
    z = 1.959964
    return (z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3))


def batches(values):
    """At most BATCHES means of neighbours"""
    if len(values) < 2 * BATCHES:
        return values
    n = len(values)
    return [statistics.fmean(values[i * n // BATCHES:(i + 1) * n // BATCHES]) for i in range(BATCHES)]


def mean_interval(values):
    """(mean, low, high): 95 % by Student's t over batches; one value has no interval"""
    v = batches(values)
    m = statistics.fmean(v)
    if len(v) < 2:
        return m, math.nan, math.nan
    half = t_quantile(len(v) - 1) * statistics.stdev(v) / math.sqrt(len(v))
    return m, m - half, m + half


def median_interval(values):
    """(median, low, high): at least 95 % by order statistics, whatever the distribution; a disturbed run counts as one"""
    v = sorted(values)
    outside, k = 0.5 ** len(v), 0  # chance that at most k values lie on one side of the true median
    while k < len(v) // 2 and outside <= 0.025:
        k += 1
        outside += math.comb(len(v), k) * 0.5 ** len(v)
    return statistics.median(v), v[k - 1] if k else math.nan, v[-k] if k else math.nan


def ratio_interval(pair):
    """The same of new / base, by the logarithms"""
    return tuple(math.exp(x) for x in mean_interval([math.log(b / a) for a, b in pair]))


def difference_interval(pair):
    d = [b - a for a, b in pair]
    return median_interval(d) if len(d) >= 6 else mean_interval(d)


def verdict(interval, limit, at_least=False, resolved=True):
    """met: the whole interval is within the figure.  A single value is its own interval."""
    value, low, high = interval
    if math.isnan(low):
        low = high = value
    if at_least:
        low, high, limit = -high, -low, -limit
    if not resolved:
        return "not resolved"
    return "met" if high <= limit else "not met" if low > limit else "not resolved"


def higher_is_better(unit):
    return unit.endswith("/s")
