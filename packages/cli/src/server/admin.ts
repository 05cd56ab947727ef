/** The admin API and the console of this process, loaded only if it is configured. */
import type { AdminServer } from '@portcullis/admin';
import type { AdminSources } from '@portcullis/admin/operations';
import { adminResourcesOf } from '@portcullis/admin/options';
import { type AuthorizationServerOptions, createKeyAdministration } from '@portcullis/authorization-server';
import { createRedirectPolicy } from '@portcullis/authorization-server/options';
import type { Gateway } from '@portcullis/gateway';
import type { Guard, ResourceOptions } from '@portcullis/resource-server';
import { version } from '../manifest.ts';
import type { Settings } from '../settings/schema.ts';
import { createDecideScopes } from './decision-point.ts';
import { NOT_ROUTINE } from './delivery.ts';
import type { LastingServer } from './lasting-server.ts';
import type { Parts } from './parts.ts';
import { provisionersOf } from './provisioners.ts';

/** Limits the scopes of the admin resources to operators and viewers, for the authorization server. */
export async function decideAdminScopes(
  parts: Parts,
): Promise<NonNullable<AuthorizationServerOptions['decideScopesOf']>> {
  const { admin } = parts.prepared.settings;
  if (admin === null) return {};
  const { createDecideAdminScopes, createFindRole } = await import('@portcullis/admin');
  const others = parts.decisionPoint === null ? null : createDecideScopes(parts.decisionPoint);
  const decide = createDecideAdminScopes(createFindRole(parts.storage.store, admin), others);
  return Object.fromEntries(adminResourcesOf(parts.issuer).map(({ resource }) => [resource, decide]));
}

/** The admin server of this process. */
export interface Admin extends AdminServer {
  /** Records that the servers were replaced. @param servers how many there are */
  recordReload(servers: number): void;
}

/** @param current what is replaced when the configuration file changes @returns `null`: it is off */
export async function createAdmin(
  parts: Parts,
  server: LastingServer,
  createGuard: (resources: readonly ResourceOptions[]) => Guard,
  current: { readonly gateway: () => Gateway | null; readonly clients: () => Settings['clients'] },
): Promise<Admin | null> {
  const { prepared, issuer, storage, masterKey, previousMasterKeys, log } = parts;
  const { settings, identityProviders } = prepared;
  if (settings.admin === null) return null;
  const [{ createAdminServer, createFindRole }, { receiversOf, sendTestEvent }] = await Promise.all([
    import('@portcullis/admin'),
    import('./receivers.ts'),
  ]);
  const { store } = storage;
  const clock = () => Math.floor(Date.now() / 1000);
  const recorded = { ...NOT_ROUTINE, listener: log };
  const events: AdminSources['events'] = (event) => server.recordOf(recorded, { ...event });
  // The log has lines of its own about these.
  const isFirst = parts.membership?.slot.isFirst ?? true;
  const recordOnce = (event: Parameters<AdminSources['events']>[0]) => {
    if (isFirst) server.recordOf({ ...recorded, listener: () => {} }, { ...event });
  };
  const { keys, lifetimes, rateLimits } = settings;
  const admin = createAdminServer({
    settings: settings.admin,
    version,
    createGuard,
    approvals: server.approvals,
    pages: server.componentPages,
    sources: {
      ...{ issuer, store, clock, events, identityProviders },
      findRole: createFindRole(store, settings.admin),
      keys: createKeyAdministration({ store, masterKey, previousMasterKeys, keys, lifetimes, events, clock }),
      keyRotation: keys.rotateEvery,
      redirects: createRedirectPolicy(settings.privateUseSchemes, issuer),
      configuredClients: current.clients,
      rateLimits: rateLimits === false ? {} : rateLimits,
      localAccounts: settings.localAccounts,
      sendsMail: settings.mail !== null,
      outbound: settings.outbound,
      configFile: prepared.configFile,
      receivers: receiversOf(settings).map((receiver) => ({
        ...{ name: receiver.name, types: receiver.types ?? null, host: new URL(receiver.url).host },
        tryOut: () => sendTestEvent(receiver),
      })),
      mail: settings.mail && {
        server: settings.mail.server,
        sendTest: async (to) => (await import('./test-mail.ts')).sendTestMail(settings, issuer, to),
      },
      provisioners: provisionersOf(settings),
      servers: () => current.gateway()?.servers ?? [],
      health: () => current.gateway()?.health() ?? [],
    },
  });
  recordOnce({ type: 'server.started', version });
  return { ...admin, recordReload: (servers) => recordOnce({ type: 'configuration.reloaded', servers }) };
}
