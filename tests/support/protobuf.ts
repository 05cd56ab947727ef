/** Decodes the binary format of Protocol Buffers by a table of fields. @see Protocol Buffers, Encoding */

/** Field number → name and type; a name with `*` is repeated. A type in upper case is another message. */
export type Messages = Readonly<Record<string, Readonly<Record<number, string>>>>;

type Decoded = Record<string, unknown>;

const LENGTHS: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

/** @returns the members that the table knows, by their names */
export function decode(messages: Messages, type: string, bytes: Buffer): Decoded {
  const decoded: Decoded = {};
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const format = tag & 7;
    const whole = format === 0 ? varint() : null;
    const length = format === 2 ? Number(varint()) : (LENGTHS[format] ?? 0);
    const part = bytes.subarray(at, at + length);
    at += length;
    const [name = '', kind = ''] = messages[type]?.[tag >> 3]?.split(' ') ?? [];
    if (name === '') continue;
    const value = whole ?? readValue(messages, kind, part);
    if (!name.endsWith('*')) decoded[name] = value;
    else decoded[name.slice(0, -1)] = [...((decoded[name.slice(0, -1)] as unknown[]) ?? []), value];
  }
  return decoded;
}

function readValue(messages: Messages, kind: string, part: Buffer): unknown {
  if (kind === 'text') return part.toString();
  if (kind === 'bytes') return part.toString('hex');
  if (kind === 'double') return part.readDoubleLE();
  if (kind === 'fixed64') return part.readBigUInt64LE();
  if (kind === 'fixed32') return part.readUInt32LE();
  const parts = Array.from({ length: part.length / 8 }, (_, index) => part.subarray(index * 8));
  if (kind === 'doubles') return parts.map((one) => one.readDoubleLE());
  if (kind === 'fixed64s') return parts.map((one) => one.readBigUInt64LE());
  return decode(messages, kind, part);
}
