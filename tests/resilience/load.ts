/** Clients that do everything a client does, until their server is gone; each step stands in a ledger. */
import { authorize, redeem, refresh, type SignedIn } from './browser.ts';
import type { Family, HeldCode, Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import { type Answer, type ServerProcess, send } from './servers.ts';
import { CALLBACK, credentialsOf, ISSUER } from './world.ts';

const CLIENTS = 8;

/** Resolves when the server has gone. Rejects when it answers what it must not. */
export async function load(
  server: ServerProcess,
  signedIn: SignedIn,
  ledger: Ledger,
  random: Random,
): Promise<void> {
  const whileThere = async () => {
    for (;;) await act(server, signedIn, ledger, random);
  };
  await Promise.all(
    Array.from({ length: CLIENTS }, () =>
      whileThere().catch((error: unknown) => {
        if (!isGone(error)) throw error;
      }),
    ),
  );
}

/** A family is used by one client at a time: it is taken out of here meanwhile. */
async function act(server: ServerProcess, signedIn: SignedIn, ledger: Ledger, random: Random): Promise<void> {
  const dice = random.next();
  if (dice < 0.15) return register(server, ledger);
  if (dice < 0.3) {
    ledger.codes.push({ ...(await authorize(server, signedIn)), state: 'unused', family: null });
    return;
  }
  if (dice < 0.5)
    return begin(server, { ...(await authorize(server, signedIn)), state: 'unused', family: null }, ledger);
  const family = free(ledger, random);
  if (family === undefined) return;
  busy.add(family);
  try {
    await (dice < 0.95 ? renew(server, family) : revoke(server, family));
  } finally {
    busy.delete(family);
  }
}

const busy = new Set<Family>();

function free({ families }: Ledger, random: Random): Family | undefined {
  const usable = families.filter((family) => family.ended === 'no' && !family.isUnsure && !busy.has(family));
  return usable[Math.floor(random.next() * usable.length)];
}

async function register(server: ServerProcess, ledger: Ledger): Promise<void> {
  const json = { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' };
  const { body } = expectOf(201, await send(server, '/register', { json }));
  const { pathname } = new URL(String(body['registration_client_uri']), ISSUER);
  const token = String(body['registration_access_token']);
  ledger.registrations.push({ id: String(body['client_id']), path: pathname, token });
}

async function begin(server: ServerProcess, code: HeldCode, ledger: Ledger): Promise<void> {
  ledger.codes.push(code);
  code.state = 'sent';
  const { body } = expectOf(200, await redeem(server, code));
  code.state = 'redeemed';
  code.family = {
    access: [String(body['access_token'])],
    refresh: String(body['refresh_token']),
    former: null,
    isUnsure: false,
    ended: 'no',
  };
  ledger.families.push(code.family);
}

async function renew(server: ServerProcess, family: Family): Promise<void> {
  family.isUnsure = true;
  const { body } = expectOf(200, await refresh(server, family.refresh));
  family.isUnsure = false;
  family.access.push(String(body['access_token']));
  family.former = family.refresh;
  family.refresh = String(body['refresh_token']);
}

async function revoke(server: ServerProcess, family: Family): Promise<void> {
  family.ended = 'asked';
  expectOf(200, await send(server, '/revoke', { form: { token: family.refresh, ...credentialsOf('web') } }));
  family.ended = 'yes';
}

function expectOf(status: number, answer: Answer): Answer {
  if (answer.status === status) return answer;
  throw new Error(`answered with ${answer.status} instead of ${status}: ${answer.text}`);
}

/** Whether an error tells of a server that is not there, or went while it answered. */
export function isGone(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code ?? '') || message === 'the answer broke off';
}
