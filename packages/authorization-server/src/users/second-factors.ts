/** Second factors (MFA): TOTP set-up and verification, and recovery codes for a lost device. */
import { randomBytes } from 'node:crypto';
import { temporarilyUnavailable } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { totpSecretContext } from '../encryption/encryptor.ts';
import { hashSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import type { User } from './sessions.ts';
import { base32, findTotpStep } from './totp.ts';

/** What a user enters into the authenticator app. */
export interface TotpSetup {
  /** In base32. */
  readonly secret: string;
  /** The `otpauth:` URI in the QR code. */
  readonly link: string;
  /** The secret, encrypted for this account: a hidden form field until the app has shown a valid code. */
  readonly encryptedSecret: string;
}

export type SecondFactors = ReturnType<typeof createSecondFactors>;

const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
/** 80 bits of entropy: a plain hash is enough. */
const RECOVERY_BYTES = 10;

/** Characters of the server's name in the `otpauth:` URI, which with the longest address fits into a QR code. */
const MAX_NAME = 50;

export function createSecondFactors(context: ServerContext) {
  const { store, clock, encryptor } = context;
  const issuer = encodeURIComponent([...context.options.name].slice(0, MAX_NAME).join(''));
  const decrypt = (accountId: string, encryptedSecret: string) =>
    encryptor.decryptText(encryptedSecret, totpSecretContext(accountId));
  const setupOf = ({ email }: AccountRecord, secret: Buffer, encryptedSecret: string): TotpSetup => {
    const label = `${issuer}:${encodeURIComponent(email)}`;
    const query = `secret=${base32(secret)}&issuer=${issuer}`;
    return { secret: base32(secret), link: `otpauth://totp/${label}?${query}`, encryptedSecret };
  };

  return {
    isEnabled: async (accountId: string): Promise<boolean> =>
      (await store.findTotpFactor(accountId)) !== null,
    countRecoveryCodes: (accountId: string): Promise<number> => store.countRecoveryCodes(accountId),
    /** Creates a secret without storing it. */
    startSetup(account: AccountRecord): TotpSetup {
      const secret = randomBytes(SECRET_BYTES);
      return setupOf(account, secret, encryptor.encryptText(secret, totpSecretContext(account.id)));
    },
    /** Restores a set-up from its form; `null` if it was not encrypted for this account. */
    resumeSetup(account: AccountRecord, encryptedSecret: string): TotpSetup | null {
      const secret = decrypt(account.id, encryptedSecret);
      return secret === null ? null : setupOf(account, secret, encryptedSecret);
    },
    /** Whether the set-up of this form was completed, and is in use. */
    isSetUp: async (accountId: string, encryptedSecret: string): Promise<boolean> =>
      (await store.findTotpFactor(accountId))?.encryptedSecret === encryptedSecret,
    /**
     * Enables TOTP if the code is right.
     * @param user in whose session the set-up was begun
     * @param consume uses up what allows the set-up; `false`: it was used before
     * @returns recovery codes, shown only once; `null` for a wrong code; `used` also if the session has ended
     */
    async confirmSetup(
      { account: { id: accountId }, sessionHash }: Pick<User, 'account' | 'sessionHash'>,
      encryptedSecret: string,
      code: string,
      consume: () => Promise<boolean>,
    ): Promise<readonly string[] | null | 'used'> {
      const now = clock();
      const secret = decrypt(accountId, encryptedSecret);
      const lastStep = secret === null ? null : findTotpStep(secret, digitsOf(code), now);
      if (lastStep === null) return null;
      // Point of no return: the proof is used.
      if (!(await consume())) return 'used';
      const { codes, hashes } = newRecoveryCodes();
      const record = { accountId, encryptedSecret, lastStep, createdAt: now };
      return (await store.saveTotpFactor(record, hashes, sessionHash)) ? codes : 'used';
    },
    /**
     * Verifies and consumes a TOTP code or a recovery code.
     * @throws OAuthError `temporarily_unavailable`
     */
    async verify({ id: accountId }: AccountRecord, code: string): Promise<boolean> {
      const factor = await store.findTotpFactor(accountId);
      if (factor === null) return false;
      const secret = decrypt(accountId, factor.encryptedSecret);
      if (secret === null) {
        // Recovery codes do not need the encryption key.
        if (await store.consumeRecoveryCode(accountId, hashSecret(plain(code)))) return true;
        // Re-encrypted under a master key that this process loads at its next start: the code cannot be checked now.
        throw temporarilyUnavailable('a stored TOTP secret cannot be decrypted with this master key', 5);
      }
      const step = findTotpStep(secret, digitsOf(code), clock());
      // Point of no return: the code is consumed even if the login fails later.
      if (step !== null) return store.consumeTotpStep(accountId, step);
      return store.consumeRecoveryCode(accountId, hashSecret(plain(code)));
    },
    /** Replaces the recovery codes. @returns the new ones, shown only once; `null` if TOTP is not enabled, or the session has ended */
    async renewRecoveryCodes({
      account,
      sessionHash,
    }: Pick<User, 'account' | 'sessionHash'>): Promise<readonly string[] | null> {
      const { codes, hashes } = newRecoveryCodes();
      return (await store.replaceRecoveryCodes(account.id, hashes, sessionHash)) ? codes : null;
    },
    disable: (accountId: string): Promise<boolean> => store.removeTotpFactor(accountId),
  };
}

function newRecoveryCodes(): { readonly codes: readonly string[]; readonly hashes: readonly string[] } {
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  return { codes, hashes: codes.map((one) => hashSecret(plain(one))) };
}

/** `ABCD-EFGH-IJKL-MNOP` */
function newRecoveryCode(): string {
  return (base32(randomBytes(RECOVERY_BYTES)).match(/.{4}/g) ?? []).join('-');
}

/** Ignores case, spaces and separators. */
function plain(code: string): string {
  return code.toUpperCase().replace(/[^A-Z2-7]/g, '');
}

function digitsOf(code: string): string {
  return code.replace(/\s/g, '');
}
