/** Portcullis with the example that reads from an identity provider, run as an operator runs it, and its users. */
import { fileURLToPath } from 'node:url';
import type { FileConfiguration } from '@portcullis/cli';
import { onTestFinished } from 'vitest';
import { type GithubIdentityProvider, startGithub } from '../support/identity-providers/github.ts';
import type { IdentityProvider } from '../support/identity-providers/identity-provider.ts';
import {
  type MisbehavingIdentityProvider,
  startMisbehaving,
} from '../support/identity-providers/misbehaving.ts';
import { type OidcIdentityProvider, startOidc } from '../support/identity-providers/oidc.ts';
import { likeGithub, likeOidc } from '../support/identity-providers/settings.ts';
import { type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { createUser, type ProviderLogin, type User } from '../support/user.ts';

export interface Stage<Party extends IdentityProvider> {
  readonly portcullis: Portcullis;
  readonly party: Party;
}

/** The example in its own process; both end with the test. */
export async function stageGithub(settings: FileConfiguration = {}): Promise<Stage<GithubIdentityProvider>> {
  const party = await startGithub();
  onTestFinished(() => party.close());
  process.env['GITHUB_API'] = party.api;
  const application = fileURLToPath(new URL('../../examples/repositories/app.ts', import.meta.url));
  const portcullis = await start({ identityProviders: [likeGithub(party)], ...settings }, application);
  party.registerRedirectUri(`${portcullis.url}/callback/github`);
  return { portcullis, party };
}

/** An application that reports what it could read of the files at oidc-provider. */
export async function stageOidc(
  settings: FileConfiguration = {},
  said: Parameters<typeof likeOidc>[1] = {},
): Promise<Stage<OidcIdentityProvider>> {
  return stageFiles(await startOidc(), settings, said);
}

/** The same, with an identity provider that can be told to misbehave. */
export async function stageMisbehaving(
  settings: FileConfiguration = {},
): Promise<Stage<MisbehavingIdentityProvider>> {
  return stageFiles(await startMisbehaving(), settings);
}

async function stageFiles<Party extends IdentityProvider>(
  party: Party,
  settings: FileConfiguration,
  said: Parameters<typeof likeOidc>[1] = {},
): Promise<Stage<Party>> {
  onTestFinished(() => party.close());
  process.env['FILES_API'] = `${party.origin}/files`;
  const application = fileURLToPath(new URL('./files-app.ts', import.meta.url));
  const portcullis = await start({ identityProviders: [likeOidc(party, said)], ...settings }, application);
  party.registerRedirectUri(`${portcullis.url}/callback/company`);
  return { portcullis, party };
}

async function start(settings: FileConfiguration, application: string): Promise<Portcullis> {
  const portcullis = await startPortcullis({ log: 'json', localAccounts: false, ...settings }, application);
  onTestFinished(async () => void (await portcullis.stop()));
  return portcullis;
}

/** The user's password at the identity provider, which nothing of ours may ever see. */
export const PROVIDER_PASSWORD = 'known to the identity provider only';

export function loginAt(party: IdentityProvider, id: string, login = 'ada'): ProviderLogin {
  return { id, origin: party.origin, login, password: PROVIDER_PASSWORD };
}

/** A user with an account at the identity provider, and none here. */
export function userAt(
  party: IdentityProvider,
  id: string,
  login = 'ada',
  send: (request: Request) => Promise<Response> = fetch,
): User {
  return createUser({ email: 'none@example.com', password: 'none' }, send, loginAt(party, id, login));
}

/** Waits for a condition. */
export async function until(holds: () => boolean | Promise<boolean>, milliseconds = 100_000): Promise<void> {
  const end = Date.now() + milliseconds;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('It did not come to pass.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
