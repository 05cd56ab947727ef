/** The small shapes that settings of this program have: times, addresses, scopes, keys, revisions, hosts. */
import {
  findProfile,
  issuerError,
  type Profile,
  parseCidrBlock,
  profileA,
  profiles,
} from '@portcullis/protocol';
import { Issue } from '../faults.ts';
import { judgedText, type Shape, textIn, wholeNumber } from './shapes.ts';
import { listOf } from './structured-shapes.ts';

/** Ten years. */
const LONGEST = 10 * 365 * 86_400;

export function seconds(least: number, most: number = LONGEST): Shape<number> {
  return wholeNumber(least, most, 'seconds');
}

export const address: Shape<string> = textIn('an address');

export const scopes: Shape<readonly string[]> = listOf(textIn('a scope'));

/** Kubernetes sets `PORTCULLIS_PORT` to an address for every service that is named portcullis. */
export const port: Shape<number> = {
  ...wholeNumber(0, 65_535),
  read(value, origin) {
    if (typeof value === 'string' && /^(?:tcp|udp|sctp):\/\//.test(value)) {
      throw new Issue(
        'holds the address of a Kubernetes service of that name: set enableServiceLinks to false for the pod, or rename the service',
      );
    }
    return wholeNumber(0, 65_535).read(value, origin);
  },
};

/** The origin where everything is served: the issuer, kept byte for byte. */
export const publicUrl: Shape<string> = judgedText('an https address without a path', (url) => {
  const issue = issuerError(url);
  if (issue !== null) return issue;
  return new URL(url).pathname === '/'
    ? null
    : 'must have no path: everything stands at the root of the host';
});

/** A SQLite file, `:memory:`, or a `postgres://` URL. */
export const database: Shape<string> = judgedText(
  'a file, `:memory:` or a `postgres://` address',
  (location) => {
    const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(location)?.[1]?.toLowerCase();
    if (scheme === undefined) return null;
    if (scheme !== 'postgres' && scheme !== 'postgresql')
      return 'must be a file, :memory:, or a postgres:// URL';
    return URL.canParse(location) ? null : 'is not a well-formed URL';
  },
);

const keyText = textIn('32 random bytes in base64url (openssl rand -base64 32)');

/** 32 bytes as base64url (43 characters), base64 (44) or hexadecimal (64). */
export const masterKey: Shape<Uint8Array> = {
  words: '32 random bytes in base64url, base64 or hexadecimal',
  blank: new Uint8Array(32),
  read(value, origin) {
    const written = keyText.read(value, origin).trim();
    const bytes = /^[0-9a-f]{64}$/i.test(written)
      ? Buffer.from(written, 'hex')
      : /^[\w+/-]{43}=?$/.test(written)
        ? Buffer.from(written, 'base64url')
        : null;
    if (bytes?.length !== 32)
      throw new Issue('must be 32 random bytes in base64url: openssl rand -base64 32');
    return bytes;
  },
};

export const addressBlock: Shape<string> = judgedText(
  'an IP address or a block such as `10.0.0.0/8`',
  (block) =>
    parseCidrBlock(block) === null ? 'must be an IP address, or a block of them such as 10.0.0.0/8' : null,
);

/** A revision of the mechanism by its date, or (in a module) the profile itself. */
export const profile: Shape<Profile> = {
  words: profiles.map(({ revision }) => `\`${revision}\``).join(', '),
  blank: profileA,
  read(value) {
    const found =
      typeof value === 'string' ? findProfile(value) : profiles.find((candidate) => candidate === value);
    if (found === undefined) {
      throw new Issue(`must be one of ${profiles.map((known) => known.revision).join(', ')}`);
    }
    return found;
  },
};

/** A private-use URI scheme such as `cursor`. @see RFC 8252 §7.1 */
export const scheme: Shape<string> = judgedText('a URI scheme such as `cursor`', (name) =>
  /^[a-z][a-z0-9+.-]*$/.test(name) ? null : 'must be a URI scheme in lower case, without a colon',
);

/** A module, by its file; in a configuration file that is a module itself, the thing. */
export function moduleOr<T>(exported: string, isOne: (value: unknown) => boolean): Shape<string | T> {
  const named = textIn(`a module that exports \`${exported}\``);
  return {
    ...named,
    read: (value, origin) => (isOne(value) ? (value as T) : named.read(value, origin)),
  };
}
