/** Readers of settings: a value as somebody wrote it, text or JSON, becomes the one that the program works with. */
import { issuerFault, type Profile, profileOf, profiles, readAddressBlock } from '@portcullis/protocol';
import { Fault } from './faults.ts';

/** @throws Fault */
export type Reader<T> = (value: unknown) => T;

export const text: Reader<string> = (value) => {
  if (typeof value !== 'string' || value.trim() === '') throw new Fault('must be a text');
  return value;
};

export function wholeNumber(least: number, most: number): Reader<number> {
  return (value) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isInteger(number) || number < least || number > most) {
      throw new Fault(`must be a whole number from ${least} to ${most}`);
    }
    return number;
  };
}

export const yesOrNo: Reader<boolean> = (value) => {
  if (typeof value !== 'boolean') throw new Fault('must be true or false');
  return value;
};

export function oneOf<const T extends string>(...choices: readonly T[]): Reader<T> {
  return (value) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new Fault(`must be one of ${choices.join(', ')}`);
    return found;
  };
}

/** The origin where everything is served: the issuer, kept byte for byte. */
export const publicUrl: Reader<string> = (value) => {
  const url = text(value);
  const fault = issuerFault(url);
  if (fault !== null) throw new Fault(fault);
  if (new URL(url).pathname !== '/')
    throw new Fault('must have no path: everything stands at the root of the host');
  return url;
};

/** A SQLite file, `:memory:`, or a `postgres://` URL. */
export const database: Reader<string> = (value) => {
  const location = text(value);
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(location)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'postgres' && scheme !== 'postgresql') {
    throw new Fault('must be a file, :memory:, or a postgres:// URL');
  }
  if (scheme !== undefined && !URL.canParse(location)) throw new Fault('is not a well-formed URL');
  return location;
};

/** 32 bytes as base64url (43 characters), base64 (44) or hexadecimal (64). */
export const sealingKey: Reader<Uint8Array> = (value) => {
  const written = text(value).trim();
  const bytes = /^[0-9a-f]{64}$/i.test(written)
    ? Buffer.from(written, 'hex')
    : /^[\w+/-]{43}=?$/.test(written)
      ? Buffer.from(written, 'base64url')
      : null;
  if (bytes?.length !== 32) throw new Fault('must be 32 random bytes in base64url: openssl rand -base64 32');
  return bytes;
};

export function listOf<T>(reader: Reader<T>, least = 0): Reader<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw new Fault('must be an array');
    if (value.length < least) throw new Fault('must not be empty');
    return value.map((element, index) => within(String(index), () => reader(element)));
  };
}

/** An object of which every member may be left out, and none but these may be there. */
export function members<K extends string, T>(
  names: readonly K[],
  reader: Reader<T>,
): Reader<Partial<Record<K, T>>> {
  return (value) => {
    const read = Object.entries(document(value)).map(([name, member]) => {
      const known = names.find((candidate) => candidate === name);
      if (known === undefined)
        throw new Fault(`has no member ${JSON.stringify(name)}: use ${names.join(', ')}`);
      return [known, within(name, () => reader(member))] as const;
    });
    return Object.fromEntries(read) as Partial<Record<K, T>>;
  };
}

/** An object of which every member may be left out, each with a reader of its own, and none but these may be there. */
export function shape<T extends object>(
  readers: {
    readonly [K in keyof T]-?: Reader<NonNullable<T[K]> | null>;
  },
): Reader<T> {
  const names = Object.keys(readers);
  return (value) => {
    const read = Object.entries(document(value)).map(([name, member]) => {
      if (!Object.hasOwn(readers, name))
        throw new Fault(`has no member ${JSON.stringify(name)}: use ${names.join(', ')}`);
      return [name, within(name, () => readers[name as keyof T](member))] as const;
    });
    return Object.fromEntries(read) as T;
  };
}

/** Addresses and blocks of addresses, as an array or with commas in between. */
export const addressBlocks: Reader<readonly string[]> = (value) => {
  const list = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
  return listOf((element) => {
    const block = text(element);
    if (readAddressBlock(block) === null) {
      throw new Fault('must be an IP address, or a block of them such as 10.0.0.0/8');
    }
    return block;
  })(list);
};

/** Rates by name, or `false` for none. */
export function limits<K extends string>(
  names: readonly K[],
): Reader<Partial<Record<K, { readonly burst: number; readonly perMinute: number }>> | false> {
  const rate = (value: unknown) => {
    const { burst, perMinute } = members(['burst', 'perMinute'], wholeNumber(1, 1_000_000_000))(value);
    if (burst === undefined || perMinute === undefined) throw new Fault('must have burst and perMinute');
    return { burst, perMinute };
  };
  return (value) => (value === false ? false : members(names, rate)(value));
}

/** A value, or `null` where that says something. */
export function orNull<T>(reader: Reader<T>): Reader<T | null> {
  return (value) => (value === null ? null : reader(value));
}

/** A JSON object, judged elsewhere. */
export const document: Reader<Readonly<Record<string, unknown>>> = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Fault('must be an object');
  return value as Readonly<Record<string, unknown>>;
};

/** A revision of the mechanism by its date, or (in a module) the profile itself. */
export const profile: Reader<Profile> = (value) => {
  const found =
    typeof value === 'string' ? profileOf(value) : profiles.find((candidate) => candidate === value);
  if (found === undefined) {
    throw new Fault(`must be one of ${profiles.map((known) => known.revision).join(', ')}`);
  }
  return found;
};

/** A private-use URI scheme such as `cursor`. @see RFC 8252 §7.1 */
export const scheme: Reader<string> = (value) => {
  const name = text(value);
  if (!/^[a-z][a-z0-9+.-]*$/.test(name))
    throw new Fault('must be a URI scheme in lower case, without a colon');
  return name;
};

/** Names the part of a value that is at fault. */
function within<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(error.message, [place, ...error.path]);
  }
}
