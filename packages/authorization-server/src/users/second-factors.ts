/** Codes from an app as a second factor: begun, confirmed, asked for, and the codes that help when the app is lost. */
import { randomBytes } from 'node:crypto';
import { temporarilyUnavailable } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import { totpSecretContext } from '../encryption/contexts.ts';
import { createEncryptor, DecryptionError } from '../encryption/encryptor.ts';
import { hashSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { base32, findTotpStep } from './totp.ts';

/** What somebody needs to tell the app. */
interface TotpSetup {
  /** In base32. */
  readonly secret: string;
  /** What the picture says. */
  readonly link: string;
  /** The secret, sealed for this account: what a form carries until the app has shown that it works. */
  readonly sealed: string;
}

export interface SecondFactors {
  isEnabled(accountId: string): Promise<boolean>;
  countRecoveryCodes(accountId: string): Promise<number>;
  /** A new secret. Nothing is stored. */
  startSetup(account: AccountRecord): TotpSetup;
  /** The same once more, from what the form carried; `null` when it is not ours. */
  resumeSetup(account: AccountRecord, sealed: string): TotpSetup | null;
  /** Switches it on when the app shows the right code. @returns recovery codes, which nobody can read again, or `null` */
  confirmSetup(account: AccountRecord, sealed: string, code: string): Promise<readonly string[] | null>;
  /**
   * Judges and spends a code of the app or a recovery code.
   * @throws OAuthError `temporarily_unavailable`
   */
  verify(account: AccountRecord, code: string): Promise<boolean>;
  /** New recovery codes, which nobody can read again, in the place of what is left; `null` when it is off. */
  renewRecoveryCodes(accountId: string): Promise<readonly string[] | null>;
  disable(accountId: string): Promise<boolean>;
}

const SECRET_BYTES = 20;
const RECOVERY_CODES = 10;
/** 80 bits: nobody guesses one, so a plain hash keeps it. */
const RECOVERY_BYTES = 10;

export function createSecondFactors(configuration: Configuration): SecondFactors {
  const { name, masterKey, previousMasterKeys, store, clock } = configuration;
  const sealer = createEncryptor(masterKey, previousMasterKeys);
  const open = (accountId: string, sealed: string): Buffer | null => {
    try {
      return sealer.decrypt(Buffer.from(sealed, 'base64url'), totpSecretContext(accountId));
    } catch (error) {
      if (error instanceof DecryptionError) return null;
      throw error;
    }
  };
  const setupOf = ({ email }: AccountRecord, secret: Buffer, sealed: string): TotpSetup => {
    const label = `${encodeURIComponent(name)}:${encodeURIComponent(email)}`;
    const query = `secret=${base32(secret)}&issuer=${encodeURIComponent(name)}`;
    return { secret: base32(secret), link: `otpauth://totp/${label}?${query}`, sealed };
  };

  return {
    isEnabled: async (accountId) => (await store.findTotpFactor(accountId)) !== null,
    countRecoveryCodes: (accountId) => store.countRecoveryCodes(accountId),
    startSetup(account) {
      const secret = randomBytes(SECRET_BYTES);
      const sealed = Buffer.from(sealer.encrypt(secret, totpSecretContext(account.id))).toString('base64url');
      return setupOf(account, secret, sealed);
    },
    resumeSetup(account, sealed) {
      const secret = open(account.id, sealed);
      return secret === null ? null : setupOf(account, secret, sealed);
    },
    async confirmSetup({ id: accountId }, sealed, code) {
      const now = clock();
      const secret = open(accountId, sealed);
      const lastStep = secret === null ? null : findTotpStep(secret, digitsOf(code), now);
      if (lastStep === null) return null;
      const { codes, hashes } = newRecoveryCodes();
      await store.saveTotpFactor({ accountId, encryptedSecret: sealed, lastStep, createdAt: now }, hashes);
      return codes;
    },
    async verify({ id: accountId }, code) {
      const factor = await store.findTotpFactor(accountId);
      if (factor === null) return false;
      const secret = open(accountId, factor.encryptedSecret);
      if (secret === null) {
        // Their own codes need no key of ours.
        if (await store.consumeRecoveryCode(accountId, hashSecret(plain(code)))) return true;
        // Sealed anew, under a key that this process gets at its next start: nobody can say now whether the code is right.
        throw temporarilyUnavailable('a stored second factor does not open under this sealing key', 5);
      }
      const step = findTotpStep(secret, digitsOf(code), clock());
      // Point of no return: the code is spent, whatever becomes of the sign-in.
      if (step !== null) return store.consumeTotpStep(accountId, step);
      return store.consumeRecoveryCode(accountId, hashSecret(plain(code)));
    },
    async renewRecoveryCodes(accountId) {
      const { codes, hashes } = newRecoveryCodes();
      return (await store.replaceRecoveryCodes(accountId, hashes)) ? codes : null;
    },
    disable: (accountId) => store.removeTotpFactor(accountId),
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

/** However somebody types it. */
function plain(code: string): string {
  return code.toUpperCase().replace(/[^A-Z2-7]/g, '');
}

function digitsOf(code: string): string {
  return code.replace(/\s/g, '');
}
