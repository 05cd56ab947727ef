/** A software passkey authenticator that can be made to lie. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { inSession } from '../../store/testing/samples.ts';
import { ACCOUNT, ISSUER, type ServerUnderTest } from './server-under-test.ts';
import type { Sight } from './visitor.ts';

const HOST = new URL(ISSUER).hostname;
export const USER_PRESENT = 1;
export const USER_VERIFIED = 4;

/** What its answer says that is not so. */
export interface Lies {
  readonly challenge?: string;
  readonly origin?: string;
  readonly host?: string;
  readonly type?: string;
  readonly flags?: number;
  readonly counter?: number;
  readonly userHandle?: string | null;
  readonly id?: string;
  readonly damage?: boolean;
  readonly transports?: unknown;
  /** CBOR of members `fmt` and `attStmt` of a registration; `none` by default. */
  readonly attestation?: Buffer;
}

export interface Passkey {
  readonly id: string;
  /** COSE, base64url. */
  readonly publicKey: string;
  /** Answers a challenge for its registration. */
  register(challenge: string, lies?: Lies): string;
  /** Answers a challenge for signing in. */
  answer(challenge: string, lies?: Lies): string;
}

/** Ada's passkey: in the store, and in hand. */
export async function enrol(t: Pick<ServerUnderTest, 'store' | 'clock'>, counter = 0): Promise<Passkey> {
  const passkey = createPasskey();
  const { id, publicKey } = passkey;
  await inSession(t.store, ACCOUNT, (session) =>
    t.store.addPasskey(
      {
        id,
        accountId: ACCOUNT,
        publicKey,
        counter,
        transports: ['internal'],
        name: 'Phone',
        createdAt: t.clock.now,
        lastUsedAt: null,
      },
      session,
    ),
  );
  return passkey;
}

/** A passkey that no server knows. */
export function createPasskey(): Passkey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const cose = Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ]);
  const credential = Buffer.from('credential of ada');
  const id = credential.toString('base64url');
  const answer = (challenge: string, lies: Lies = {}): string => {
    const clientData = clientDataOf('webauthn.get', challenge, lies);
    const tail = Buffer.alloc(5);
    tail.writeUInt8(lies.flags ?? USER_PRESENT | USER_VERIFIED, 0);
    tail.writeUInt32BE(lies.counter ?? 0, 1);
    const authenticatorData = Buffer.concat([sha256(lies.host ?? HOST), tail]);
    const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientData)]), privateKey);
    if (lies.damage === true)
      signature.writeUInt8(signature.readUInt8(signature.length - 1) ^ 1, signature.length - 1);
    const userHandle =
      lies.userHandle === undefined ? Buffer.from(ACCOUNT).toString('base64url') : lies.userHandle;
    return JSON.stringify({
      id: lies.id ?? id,
      rawId: lies.id ?? id,
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: signature.toString('base64url'),
        ...(userHandle !== null && { userHandle }),
      },
    });
  };
  const register = (challenge: string, lies: Lies = {}): string => {
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, credential.length]), credential, cose]);
    const flags = Buffer.from([0x40 | (lies.flags ?? USER_PRESENT | USER_VERIFIED), 0, 0, 0, 0]);
    const authData = Buffer.concat([sha256(lies.host ?? HOST), flags, attested]);
    const object = Buffer.concat([
      Buffer.from([0xa3]),
      lies.attestation ?? NO_ATTESTATION,
      Buffer.from('\x68authData\x58', 'latin1'),
      Buffer.from([authData.length]),
      authData,
    ]);
    return JSON.stringify({
      id,
      rawId: id,
      type: 'public-key',
      clientExtensionResults: {},
      response: {
        clientDataJSON: clientDataOf('webauthn.create', challenge, lies).toString('base64url'),
        attestationObject: object.toString('base64url'),
        transports: lies.transports ?? ['internal'],
      },
    });
  };
  return { id, publicKey: cose.toString('base64url'), register, answer };
}

const NO_ATTESTATION = Buffer.from('\x63fmt\x64none\x67attStmt\xa0', 'latin1');

function clientDataOf(type: string, challenge: string, lies: Lies): Buffer {
  const client = {
    type: lies.type ?? type,
    challenge: lies.challenge ?? challenge,
    origin: lies.origin ?? ISSUER,
    crossOrigin: false,
  };
  return Buffer.from(JSON.stringify(client));
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** The challenge that a page has for passkeys. */
export function challengeOf({ html }: Sight): string {
  const options = /data-options="([^"]+)"/.exec(html)?.[1] ?? '{}';
  return (JSON.parse(options.replaceAll('&quot;', '"')) as { challenge: string }).challenge;
}
