// Elements of tensors: from bytes to numbers, and to text as a reader would write it.

const INTS = { i8: [1, true], u8: [1, false], i16: [2, true], u16: [2, false], i32: [4, true], u32: [4, false], i64: [8, true], u64: [8, false] };
// Bits of the exponent and of the fraction, the exponent's bias; then what infinities and NaN are.
const FLOATS = {
  f16: [5, 10, 15, "ieee"],
  bf16: [8, 7, 127, "ieee"],
  f32: [8, 23, 127, "ieee"],
  f64: [11, 52, 1023, "ieee"],
  f8e5: [5, 2, 15, "ieee"],
  f8e4nv: [4, 3, 7, "finite"],
  f8e4b15: [4, 3, 15, "none"],
  f8e4b8: [4, 3, 8, "zero"],
  f8e5b16: [5, 2, 16, "zero"],
};
const SIZES = { i1: 1, b1: 1, bool: 1, f16: 2, bf16: 2, f32: 4, f64: 8 };

const sizeOf = (dtype) => INTS[dtype]?.[0] ?? SIZES[dtype] ?? (FLOATS[dtype] ? 1 : 1);

function bitsAt(bytes, at, size) {
  let bits = 0n;
  for (let byte = size - 1; byte >= 0; byte -= 1) bits = (bits << 8n) | BigInt(bytes[at + byte] ?? 0);
  return bits;
}

function numberOf(dtype, bits) {
  if (INTS[dtype]) {
    const [size, signed] = INTS[dtype];
    return Number(signed ? BigInt.asIntN(size * 8, bits) : bits);
  }
  const layout = FLOATS[dtype];
  if (!layout) return Number(bits);
  const [exponents, fractions, bias, kind] = layout;
  const sign = (bits >> BigInt(exponents + fractions)) & 1n ? -1 : 1;
  const top = (1 << exponents) - 1;
  const exponent = Number((bits >> BigInt(fractions)) & BigInt(top));
  const fraction = Number(bits & ((1n << BigInt(fractions)) - 1n));
  const whole = 2 ** fractions;
  if (kind === "ieee" && exponent === top) return fraction ? NaN : sign * Infinity;
  if (kind === "finite" && exponent === top && fraction === whole - 1) return NaN;
  if (kind === "zero" && sign < 0 && exponent === 0 && fraction === 0) return NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractions);
  return sign * (1 + fraction / whole) * 2 ** (exponent - bias);
}

// The fewest digits that mean the same value of the dtype.
function shown(dtype, bits) {
  if (INTS[dtype]) {
    const [size, signed] = INTS[dtype];
    return String(signed ? BigInt.asIntN(size * 8, bits) : bits);
  }
  if (!FLOATS[dtype]) return dtype === "i1" || dtype === "b1" ? String(Boolean(bits)) : `0x${bits.toString(16)}`;
  const number = numberOf(dtype, bits);
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "NaN" : number > 0 ? "inf" : "-inf";
  if (Object.is(number, -0)) return "-0.0";
  const digits = { f64: 17, f32: 9, f16: 5, bf16: 4 }[dtype] ?? 4;
  let text = String(number);
  if (dtype !== "f64") {
    const step = Math.abs(nextAfter(dtype, bits) - number) / 2;
    for (let n = 1; n <= digits; n += 1) {
      const short = Number(number.toPrecision(n));
      if (Math.abs(short - number) < step || short === number) {
        text = String(short);
        break;
      }
    }
  }
  return /[.en]/.test(text) ? text : `${text}.0`;
}

function nextAfter(dtype, bits) {
  const next = numberOf(dtype, bits + 1n);
  return Number.isFinite(next) ? next : numberOf(dtype, bits) * 2 - numberOf(dtype, bits - 1n);
}

const hex = (bits, size) => `0x${bits.toString(16).padStart(size * 2, "0")}`;

function decoded(base64) {
  const binary = atob(base64);
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}
