const textPrefix = 'b64:';
const hashPrefix = 'sha256:';
const longest = 128;

/**
 * Returns a sessionId of the API for any text, such as a framework's id of a thread. A text that is a sessionId stays
 * as it is, unless it begins like an encoded one. Another one is encoded in base64url, and one of more than 93 bytes
 * is hashed. The clients for Go and Python return the same.
 */
export function encodeSessionId(text: string): string {
  const isId = /^[A-Za-z0-9_.:-]{1,128}$/.test(text) && text !== '.' && text !== '..';
  if (isId && !text.startsWith(textPrefix) && !text.startsWith(hashPrefix)) {
    return text;
  }
  const bytes = new TextEncoder().encode(text);
  const encoded = textPrefix + toBase64(bytes);
  return encoded.length <= longest ? encoded : hashPrefix + toBase64(sha256(bytes));
}

/**
 * Returns the text of a sessionId, or undefined for a hash, whose text cannot be recovered, and for an id that
 * encodeSessionId does not return.
 */
export function decodeSessionId(sessionId: string): string | undefined {
  let text = sessionId;
  if (sessionId.startsWith(textPrefix)) {
    try {
      const encoded = sessionId.slice(textPrefix.length).replaceAll('-', '+').replaceAll('_', '/');
      const bytes = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return undefined;
    }
  }
  return encodeSessionId(text) === sessionId ? text : undefined;
}

function toBase64(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The hash of FIPS 180-4. That of browsers is asynchronous. */
function sha256(bytes: Uint8Array): Uint8Array {
  const { start, constants } = sha256Constants();
  const hash = start;
  const blocks = Math.ceil((bytes.length + 9) / 64);
  const padded = new Uint8Array(blocks * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 0x20000000));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const w = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 64; i++) {
      w[i] = i < 16 ? view.getInt32(at + i * 4) : small(w[i - 2]!, 17, 19, 10) + w[i - 7]! + small(w[i - 15]!, 7, 18, 3) + w[i - 16]!;
    }
    let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const one = (h + large(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + constants[i]! + w[i]!) | 0;
      const two = (large(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => { hash[i] = (hash[i]! + word) | 0; });
  }
  const out = new Uint8Array(32);
  hash.forEach((word, i) => new DataView(out.buffer).setInt32(i * 4, word));
  return out;
}

const turn = (x: number, n: number) => (x >>> n) | (x << (32 - n));
const large = (x: number, i: number, j: number, k: number) => turn(x, i) ^ turn(x, j) ^ turn(x, k);
const small = (x: number, i: number, j: number, k: number) => turn(x, i) ^ turn(x, j) ^ (x >>> k);

/** The fractions of the square roots of the first 8 primes, and of the cube roots of the first 64. */
function sha256Constants(): { start: number[]; constants: number[] } {
  const fraction = (x: number) => ((x - Math.floor(x)) * 0x100000000) | 0;
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) {
    if (primes.every((p) => n % p !== 0)) {
      primes.push(n);
    }
  }
  return { start: primes.slice(0, 8).map((p) => fraction(Math.sqrt(p))), constants: primes.map((p) => fraction(Math.cbrt(p))) };
}
