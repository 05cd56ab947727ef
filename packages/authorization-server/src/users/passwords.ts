/** Password hashing: argon2id, constant-time verification, and a semaphore that bounds memory. */
// Not by name: on an older Node without argon2, the import itself would be a SyntaxError.
import crypto, { randomBytes, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from '@portcullis/protocol';
import {
  createPasswordHashingSemaphore,
  type HashRequester,
} from '../rate-limit/password-hashing-semaphore.ts';
import { passwordHashing } from '../rate-limit/policies.ts';
import { normalizePassword } from './password-rules.ts';

/** The cost of a hash. Memory in KiB. */
interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/**
 * Cost of new hashes: about 60 ms and 46 MiB. Of the equally strong parameters that OWASP lists, only this one exceeds 32 MiB,
 * up to which glibc keeps freed blocks per thread: with 19 MiB the process stayed 135 MiB larger after a few logins.
 * @see OWASP Password Storage Cheat Sheet, RFC 9106 §4
 */
const CURRENT_COST: Cost = { memory: 47_104, passes: 1, parallelism: 1 };
/** The highest cost that a stored hash may have. */
const MAX_COST: Cost = { memory: 262_144, passes: 10, parallelism: 4 };

const SALT_BYTES = 16;
const TAG_BYTES = 32;

interface Hash {
  readonly cost: Cost;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

export type Passwords = ReturnType<typeof createPasswords>;

/** @throws ConfigurationError when this Node has no argon2 */
export function createPasswords() {
  if (crypto.argon2 === undefined) {
    throw new ConfigurationError([
      `passwords need Node 24.7 or later, and this is Node ${process.versions.node}: it has no crypto.argon2`,
    ]);
  }
  const semaphore = createPasswordHashingSemaphore(passwordHashing);
  const absent: Hash = { cost: CURRENT_COST, salt: randomBytes(SALT_BYTES), tag: randomBytes(TAG_BYTES) };
  const derive = (password: string, { cost, salt, tag }: Hash, asker: HashRequester) =>
    semaphore.run(asker, () => deriveTag(normalizePassword(password), cost, salt, tag.length));
  return {
    /**
     * Hashes a new password to a PHC string.
     * @param account whose password it is
     * @throws OAuthError `temporarily_unavailable` if too many hashes are queued
     */
    async hash(password: string, account: string): Promise<string> {
      const blank = { cost: CURRENT_COST, salt: randomBytes(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) };
      const tag = await derive(password, blank, { isKnown: true, fairnessKey: account });
      return formatPhc({ ...blank, tag });
    },
    /**
     * Whether the password matches the hash. For an unknown account pass `null`: same cost, always `false`.
     * @throws OAuthError `temporarily_unavailable` if too many hashes are queued
     */
    async verify(password: string, phc: string | null, asker: HashRequester): Promise<boolean> {
      const expected = phc === null ? absent : readPhc(phc);
      return timingSafeEqual(await derive(password, expected, asker), expected.tag) && phc !== null;
    },
    /** Whether a hash has another cost than new ones. */
    isOutdated: (phc: string): boolean => formatCost(readPhc(phc).cost) !== formatCost(CURRENT_COST),
  };
}

/** The hash of an account without a password: costs the same to verify as any other and matches no known password. */
export function unusableHash(): string {
  return formatPhc({ cost: CURRENT_COST, salt: randomBytes(SALT_BYTES), tag: randomBytes(TAG_BYTES) });
}

function deriveTag(password: string, cost: Cost, salt: Buffer, tagLength: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parameters = { message: password, nonce: salt, tagLength, ...cost };
    crypto.argon2('argon2id', parameters, (error, tag) => (error === null ? resolve(tag) : reject(error)));
  });
}

function formatCost({ memory, passes, parallelism }: Cost): string {
  return `m=${memory},t=${passes},p=${parallelism}`;
}

function formatPhc({ cost, salt, tag }: Hash): string {
  return `$argon2id$v=19$${formatCost(cost)}$${base64(salt)}$${base64(tag)}`;
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

/** Parses a stored hash. @throws TypeError for anything else than an argon2id hash within `MAX_COST` */
function readPhc(phc: string): Hash {
  const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
  const [, memory, passes, parallelism, salt = '', tag = ''] = form.exec(phc) ?? [];
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const isAcceptable =
    cost.memory <= MAX_COST.memory &&
    cost.passes <= MAX_COST.passes &&
    cost.parallelism <= MAX_COST.parallelism;
  if (!isAcceptable)
    throw new TypeError('A stored password hash is not an argon2id hash that this server can verify');
  return { cost, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') };
}
