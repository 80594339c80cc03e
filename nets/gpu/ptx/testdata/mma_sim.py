# mma_sim.py: writes mma_sim.csv, what MMA-Sim (https://github.com/microsoft/MMA-Sim at c785138, arXiv 2511.10909) says
# that tensor cores compute:  PYTHONPATH=…/MMA-Sim python3 mma_sim.py > mma_sim.csv
# The operands are made by arithmetic, which mma_test.go repeats. Needs torch.
import torch
from mmasim.simulator.nv_ptx import mma

# Biased exponents of a, b and c: the smallest and how many there are. Then one of how many numbers is 0; 0: none.
KINDS = [
    (120, 10, 120, 10, 120, 10, 0),
    (60, 140, 60, 140, 60, 140, 0),  # widely ranged
    (127, 1, 127, 1, 127, 1, 0),  # equal exponents
    (120, 8, 120, 8, 120, 8, 2),
    (0, 3, 200, 54, 0, 100, 5),  # subnormal a
    (0, 256, 0, 256, 0, 256, 0),  # overflow, infinities, NaN
    (50, 20, 50, 20, 0, 8, 3),  # products and sums that are subnormal or vanish
    (180, 11, 180, 11, 240, 15, 0),  # sums about the largest number
    (110, 8, 112, 8, 128, 4, 0),  # c larger than its products
    (0, 2, 250, 5, 100, 4, 3),  # zeros and subnormal numbers times large ones
]
MATRICES = 2 * len(KINDS)


def word(n, i):
    """One of random-looking 32-bit numbers."""
    x = (n * 1024 + i) * 0x9E3779B1 & 0xFFFFFFFF
    for shift, factor in (15, 0x2C1B3C6D), (13, 0x85EBCA6B):
        x ^= x >> shift
        x = x * factor & 0xFFFFFFFF
    return x ^ x >> 16


def made(n, i, lowest, span, zeros):
    w, v = word(n, 2 * i), word(n, 2 * i + 1)
    if zeros and v % zeros == 0:
        return w & 0x80000000
    significand = w >> 3 & 0x7FFFFF
    if w % 8 == 0:
        significand = 0x7FFFFF
    if w % 8 == 1:
        significand = 0
    return w & 0x80000000 | min(lowest + (v >> 8) % span, 255) << 23 | significand


def matrix(words, rows, columns, kept):
    signed = [w & kept for w in words]
    signed = [w - (1 << 32) if w >> 31 else w for w in signed]
    return torch.tensor(signed, dtype=torch.int32).view(torch.float32).reshape(rows, columns)


for n in range(MATRICES):
    kind = KINDS[n % len(KINDS)]
    a = [made(n, i, kind[0], kind[1], kind[6]) for i in range(256)]
    b = [made(n, 256 + i, kind[2], kind[3], kind[6]) for i in range(128)]
    c = matrix([made(n, 384 + i, kind[4], kind[5], kind[6]) for i in range(128)], 16, 8, 0xFFFFFFFF)
    for arch, name in (80, "Ampere"), (90, "Hopper"):
        for of, k, kept in ("tf32", 8, 0xFFFFE000), ("bf16", 16, 0xFFFF0000):
            x = matrix([a[i * 16 + j] for i in range(16) for j in range(k)], 16, k, kept)
            y = matrix([b[i * 8 + j] for i in range(k) for j in range(8)], k, 8, kept)
            if of == "bf16":
                x, y = x.bfloat16(), y.bfloat16()
            d = mma(name, f"m16n8k{k}.f32.{of}.{of}.f32")(x, y, c)
            bits = d.view(torch.int32).flatten().tolist()
            print(n, arch, of, " ".join(f"{v & 0xFFFFFFFF:x}" for v in bits), sep=",")
