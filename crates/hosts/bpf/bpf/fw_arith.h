/* SPDX-License-Identifier: (GPL-2.0-only OR MIT OR Apache-2.0)
 *
 * Integer arithmetic of the algorithms. It compiles for the kernel's BPF virtual machine, and for
 * the host, where a test compares it with crates/protocols/cc. BPF has no 128-bit integers, no high
 * half of a product and no signed division.
 */
#ifndef FW_ARITH_H
#define FW_ARITH_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;

#define U32_MAX 0xffffffffu
#define U64_MAX 0xffffffffffffffffull

#define FW_INLINE static inline __attribute__((always_inline))
/* A function that is not inlined. The verifier checks a global function once for all callers. */
#ifdef __bpf__
#define FW_CALLED __attribute__((noinline))
#else
#define FW_CALLED static __attribute__((noinline, unused))
#endif

/* A ratio of two integers; a zero denominator counts as one. */
struct fw_fraction {
	u32 num;
	u32 den;
};

/* Two's complement if signed. */
struct fw_u128 {
	u64 hi;
	u64 lo;
};

FW_INLINE u32 fw_min32(u32 a, u32 b) { return a < b ? a : b; }
FW_INLINE u32 fw_max32(u32 a, u32 b) { return a > b ? a : b; }
FW_INLINE u64 fw_min64(u64 a, u64 b) { return a < b ? a : b; }
FW_INLINE u64 fw_max64(u64 a, u64 b) { return a > b ? a : b; }
FW_INLINE u32 fw_clip32(u64 x) { return x > U32_MAX ? U32_MAX : (u32)x; }
FW_INLINE u32 fw_add32(u32 a, u32 b) { return fw_clip32((u64)a + b); }
FW_INLINE u32 fw_sub32(u32 a, u32 b) { return a > b ? a - b : 0; }
FW_INLINE u32 fw_mul32(u32 a, u32 b) { return fw_clip32((u64)a * b); }
FW_INLINE u64 fw_sub64(u64 a, u64 b) { return a > b ? a - b : 0; }
FW_INLINE u64 fw_add64(u64 a, u64 b) { return a > U64_MAX - b ? U64_MAX : a + b; }

/* The full product. */
FW_INLINE struct fw_u128 fw_mul(u64 a, u64 b)
{
	u64 a0 = (u32)a, a1 = a >> 32, b0 = (u32)b, b1 = b >> 32;
	u64 low = a0 * b0, mid = a1 * b0 + (low >> 32), cross = a0 * b1 + (u32)mid;
	struct fw_u128 product = {
		.hi = a1 * b1 + (mid >> 32) + (cross >> 32),
		.lo = cross << 32 | (u32)low,
	};
	return product;
}

FW_INLINE struct fw_u128 fw_add(struct fw_u128 a, struct fw_u128 b)
{
	struct fw_u128 sum = { .hi = a.hi + b.hi, .lo = a.lo + b.lo };

	sum.hi += sum.lo < a.lo;
	return sum;
}

FW_INLINE struct fw_u128 fw_negative(struct fw_u128 a)
{
	struct fw_u128 negative = { .hi = ~a.hi + (a.lo == 0), .lo = ~a.lo + 1 };
	return negative;
}

/* Whether a < b, both signed. */
FW_INLINE int fw_less(struct fw_u128 a, struct fw_u128 b)
{
	return a.hi == b.hi ? a.lo < b.lo : (s64)a.hi < (s64)b.hi;
}

/* 1 if a < b, else 0, without a branch. In the loops below, each branch would make the verifier
 * explore every combination of results. */
FW_INLINE u64 fw_below(u64 a, u64 b)
{
	return ((~a & b) | ((~a | b) & (a - b))) >> 63;
}

/* 1 if a < b, else 0. */
FW_INLINE u64 fw_below_long(struct fw_u128 a, struct fw_u128 b)
{
	return fw_below(a.hi, b.hi) | ((1 ^ fw_below(b.hi, a.hi)) & fw_below(a.lo, b.lo));
}

/* (hi * 2^64 + lo) / d for hi < d, by binary long division, one bit of the quotient per step. */
FW_CALLED u64 fw_divide_long(u64 hi, u64 lo, u64 d)
{
	u64 quotient = 0;
	int bit;

	for (bit = 0; bit < 64; bit++) {
		u64 carry = hi >> 63, takes;

		hi = hi << 1 | lo >> 63;
		lo <<= 1;
		takes = carry | (1 ^ fw_below(hi, d));
		hi -= d & -takes;
		quotient = quotient << 1 | takes;
	}
	return quotient;
}

/* x / d, rounded down, at most U64_MAX. d is not zero. */
FW_INLINE u64 fw_divide(struct fw_u128 x, u64 d)
{
	if (x.hi == 0)
		return x.lo / d;
	if (x.hi >= d)
		return U64_MAX;
	return fw_divide_long(x.hi, x.lo, d);
}

/* The fraction of x, rounded down, at most U64_MAX. */
FW_INLINE u64 fw_of64(struct fw_fraction part, u64 x)
{
	return fw_divide(fw_mul(x, part.num), part.den ? part.den : 1);
}

/* The fraction of x, rounded down, at most U32_MAX. */
FW_INLINE u32 fw_of(struct fw_fraction part, u32 x)
{
	return fw_clip32((u64)part.num * x / (part.den ? part.den : 1));
}

/* The point that is this part of the way down from `from` to `to`; `from` if `to` is higher. */
FW_INLINE u32 fw_of_way(struct fw_fraction part, u32 from, u32 to)
{
	u32 way = fw_sub32(from, to);

	return from - fw_min32(fw_of(part, way), way);
}

/* The largest y below 2^42 whose cube is at most x. */
FW_CALLED u64 fw_cube_root(u64 hi, u64 lo)
{
	struct fw_u128 x = { .hi = hi, .lo = lo };
	u64 root = 0;
	int bit;

	for (bit = 41; bit >= 0; bit--) {
		u64 larger = root | 1ull << bit;
		struct fw_u128 square = fw_mul(larger, larger);
		struct fw_u128 cube = fw_mul(square.lo, larger);

		cube.hi += square.hi * larger;
		root |= 1ull << bit & (fw_below_long(x, cube) - 1);
	}
	return root;
}

/* The largest y below 2^32 whose fourth power is at most x. */
FW_CALLED u64 fw_fourth_root(u64 hi, u64 lo)
{
	struct fw_u128 x = { .hi = hi, .lo = lo };
	u64 root = 0;
	int bit;

	for (bit = 31; bit >= 0; bit--) {
		u64 larger = root | 1ull << bit;
		struct fw_u128 fourth = fw_mul(larger * larger, larger * larger);

		root |= 1ull << bit & (fw_below_long(x, fourth) - 1);
	}
	return root;
}

#endif
