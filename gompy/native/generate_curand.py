"""The numbers of curand_kernel.h: how XORWOW goes on by many steps at once.

XORWOW's words without the counter are a linear register of 160 bits (Marsaglia, "Xorshift RNGs", 2003).  Its state
after N steps is the sum of those states after 0 to 159 steps that x^N modulo the register's polynomial names (Haramoto,
Matsumoto, Nishimura, Panneton, L'Ecuyer, "Efficient Jump Ahead for F2-Linear Random Number Generators", 2008).
"""

from __future__ import annotations

BITS = 160
WORDS = BITS // 32
POWERS = 131
"""x^1, x^2, x^4 … x^(2^130): 64 bits of an offset, and 64 of a sequence, which is 2^67 steps."""
MASK = 0xFFFFFFFF
START = (123456789, 362436069, 521288629, 88675123, 5783321)


def bit_sequence(count: int) -> list[int]:
    """One bit of the last word, in so many steps."""
    v, found = list(START), []
    for _ in range(count):
        t = v[0] ^ v[0] >> 2
        v = [*v[1:], (v[4] ^ v[4] << 4 ^ t ^ t << 1) & MASK]
        found.append(v[4] & 1)
    return found


def polynomial(bits: list[int]) -> int:
    """The shortest recurrence of a sequence of bits (Berlekamp, Massey), as a polynomial: bit n is x^n's."""
    now, before, length, since = 1, 1, 0, 1
    for n in range(len(bits)):
        wrong = 0
        for i in range(length + 1):
            wrong ^= now >> i & 1 & bits[n - i]
        if not wrong:
            since += 1
        elif 2 * length <= n:
            now, before, length, since = now ^ before << since, now, n + 1 - length, 1
        else:
            now ^= before << since
            since += 1
    return sum((now >> i & 1) << length - i for i in range(length + 1))


def remainder(a: int, p: int) -> int:
    """a modulo p."""
    while a.bit_length() >= p.bit_length():
        a ^= p << a.bit_length() - p.bit_length()
    return a


def squared(a: int) -> int:
    """a * a: each bit with a zero before it."""
    return int("0".join(bin(a)[2:]), 2)


def powers() -> list[int]:
    """x^(2^i) modulo the register's polynomial."""
    p = polynomial(bit_sequence(2 * BITS))
    found, a = [], 2
    for _ in range(POWERS):
        found.append(a)
        a = remainder(squared(a), p)
    return found


def jumps_h(made: str) -> str:
    """gompy_curand_jumps.h."""
    rows = []
    for a in powers():
        words = ", ".join(f"{a >> 32 * n & MASK:#010x}" for n in range(WORDS))
        rows.append(f"  {{ {words} }},")
    lines = [f"/* {made}", "   XORWOW: powers x^(2^i) modulo the polynomial of its register.  */"]
    lines += [f"static GOMPY_JUMPS const unsigned gompy_jumps[{POWERS}][{WORDS}] = {{", *rows, "};"]
    return "\n".join(lines) + "\n"
