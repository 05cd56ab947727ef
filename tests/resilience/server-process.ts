/** An authorization server as a process of its own: real HTTP, a real store, all limits and events on. Made to be killed. */
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { listen } from '@portcullis/http/node';
import { openStore } from '@portcullis/store';
import {
  ACCOUNT,
  CLIENTS,
  credentialsOf,
  ISSUER,
  MASTER_KEY,
  PROVISIONING_PROVIDER,
  RESOURCES,
} from './world.ts';

const [location = '', port = '0', patience = '5', ...more] = process.argv.slice(2);
/** Seconds by which the clock of this process is ahead. */
const skew = Number(more.find((one) => one.startsWith('skew='))?.slice('skew='.length) ?? 0);

/** The identity provider of an organization, whose ID-JAGs are accepted. */
const organization = more.find((one) => one.startsWith('organization='))?.slice('organization='.length);

const isProvisioning = more.includes('provisioning') || more.includes('provisioning-unlimited');

const store = await openStore(location, { busyTimeout: Number(patience) });
const server = await createAuthorizationServer({
  issuer: ISSUER,
  store,
  masterKey: MASTER_KEY,
  resources: RESOURCES,
  clients: CLIENTS,
  ...(organization !== undefined && {
    assertionIssuers: [{ issuer: organization, use: 'id-jag', clients: ['agent'] }],
  }),
  ...(isProvisioning && { identityProviders: [PROVISIONING_PROVIDER] }),
  clock: () => Math.floor(Date.now() / 1000) + skew,
  // Hundreds of clients register from this computer, and few users and sessions send many requests.
  auditLevel: 'full',
  rateLimits: {
    registrations: { burst: 100_000, perMinute: 100_000 },
    authorizations: { burst: 100_000, perMinute: 100_000 },
    refreshes: { burst: 100_000, perMinute: 100_000 },
    ...(more.includes('provisioning-unlimited') && {
      scim: { burst: 1_000_000, perMinute: 1_000_000 },
    }),
  },
  // A busy machine must not look like an expired request.
  lifetimes: { code: 300 },
});
await server.bootstrap(ACCOUNT.email, ACCOUNT.password);
const listening = await listen(server.handleHttp, {
  port: Number(port),
  host: '127.0.0.1',
});
process.stdout.write(`ready ${listening.port}\n`);
// Refresh tokens of the parent process, which are presented here without a socket, in their order and many at a time.
process.on('message', async (tokens: readonly string[]) => {
  const outcomes: string[] = [];
  const queue = tokens.entries();
  const present = async () => {
    for (const [index, token] of queue) outcomes[index] = await refresh(token);
  };
  await Promise.all(Array.from({ length: 16 }, present));
  process.send?.(outcomes);
});

/** @returns the successor, or what was wrong */
async function refresh(token: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: token,
    ...credentialsOf('web'),
  });
  const response = await server.handle(new Request(`${ISSUER}/token`, { method: 'POST', body }));
  const text = await response.text();
  if (response.status !== 200) return `${response.status} ${text}`;
  return String((JSON.parse(text) as { readonly refresh_token: string }).refresh_token);
}

// The parent process has gone: stop.
process.stdin.resume().once('end', () => process.exit(0));
process.once('SIGTERM', async () => {
  await listening.close(5_000);
  await server.close();
  await store.close();
  process.exit(0);
});
