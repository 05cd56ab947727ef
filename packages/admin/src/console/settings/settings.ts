/** The settings: keys, identity providers, initial access tokens, rate limits, webhooks and exports, with where each is defined. */
import { redirectUriOf } from '@portcullis/authorization-server';
import { rateLimitDescriptions } from '@portcullis/authorization-server/options';
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { Administration } from '../../operations/administration.ts';
import { listReceivers } from '../../operations/deliveries.ts';
import { findProviderLogins } from '../../operations/provider-status.ts';
import { type ListedStream, listEventStreams } from '../../operations/streams.ts';
import { doneNotice } from '../done.ts';
import { links } from '../links.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { columnOf, empty, formatCount, section, table, tag, time } from '../ui/parts.ts';
import { CREATE_SCIM_TOKEN, scimTokenTable } from './scim-tokens.ts';

const DONE = {
  rotated: 'A new signing key was created. All processes use it within half a minute.',
  revoked: 'The initial access token was revoked.',
  'stream-removed': 'The event stream was removed.',
  'scim-revoked': 'The provisioning token was revoked.',
};

export const settingsPage: ConsoleRoute = definePage(links.settings, async (request) => {
  const { admin, role } = request;
  const isOperator = role === 'operator';
  const [keys, providers, tokens, streams, scimTokens] = await Promise.all([
    keyTable(admin),
    providerTable(admin),
    tokenTable(request),
    listEventStreams(admin.store),
    scimTokenTable(request),
  ]);
  const link = (href: string, label: string) =>
    isOperator ? html`<a class="button" href="${href}">${label}</a>` : null;
  return {
    title: 'Settings',
    lead: html`What is in effect. ${originOf(admin)}`,
    body: html`${doneNotice(request, DONE)}
${section('Signing keys', keys, link(`${links.settings}/rotate-key`, 'Rotate key'))}
${section('Identity providers', providers, link(links.setupProvider, 'Add a provider'))}
${section('Initial access tokens', tokens, link(`${links.settings}/create-token`, 'Create token'))}
${section('Provisioning (SCIM)', scimTokens, admin.provisioners.length === 0 ? null : link(CREATE_SCIM_TOKEN, 'Create provisioning token'))}
${section('Webhooks and exports', await receiverTable(admin))}
${section('Event streams', streamTable(request, streams))}
${section('Rate limits', limitTable(admin))}`,
  };
});

/** Where settings are defined. */
function originOf({ configFile }: Administration): Markup {
  return configFile === null
    ? html`Everything besides keys and tokens is from variables and flags of the command line: there is no configuration file.`
    : html`Everything besides keys and tokens is from the configuration file <code>${configFile}</code>: change it there, and reload the server.`;
}

const STATES = { next: 'Signs next', signing: 'Signing', past: 'Verifies', retired: 'Retired' } as const;

async function keyTable(admin: Administration): Promise<Markup> {
  const rows = (await admin.keys.list()).map(({ id, algorithm, state, createdAt, signsFrom, canDecrypt }) => [
    html`<code>${id}</code>`,
    algorithm,
    canDecrypt
      ? tag(STATES[state], state === 'signing' ? 'good' : 'plain')
      : tag('Cannot be decrypted', 'bad'),
    time(createdAt, admin.clock()),
    time(signsFrom, admin.clock()),
  ]);
  return table(
    'Signing keys',
    [
      'Key (kid)',
      { heading: 'Algorithm', kind: 'short' },
      'State',
      columnOf.time('Created'),
      columnOf.time('Signs from'),
    ],
    rows,
  );
}

async function providerTable(admin: Administration): Promise<Markup> {
  const { identityProviders, issuer } = admin;
  if (identityProviders.length === 0)
    return empty(
      'Users sign in here',
      'No identity provider is configured: accounts are invited and have a password or passkey.',
    );
  const logins = await findProviderLogins(admin);
  const seconds = (at: number) => Math.floor(at / 1000);
  const rows = identityProviders.map(({ id, name }) => {
    const { lastSuccess = null, lastFailure = null } = logins.get(id) ?? {};
    const isFailing = lastFailure !== null && lastFailure.at > (lastSuccess ?? 0);
    return [
      html`<a href="${links.provider(id)}">${name}</a>`,
      isFailing
        ? html`${tag('Failed', 'bad')} ${time(seconds(lastFailure.at), admin.clock())}`
        : lastSuccess === null
          ? html`<span class="quiet">none found lately</span>`
          : time(seconds(lastSuccess), admin.clock()),
      html`<code>${id}</code>`,
      html`<code>${redirectUriOf(issuer, id)}</code>`,
    ];
  });
  return table('Identity providers', ['Provider', 'Last sign-in', 'Identifier', 'Redirect URI'], rows);
}

/** Tokens that the page lists. */
const MAX_TOKENS = 100;

async function tokenTable({ admin, role }: ConsoleRequest): Promise<Markup> {
  const tokens = await admin.initialAccessTokens.list('', MAX_TOKENS);
  if (tokens.length === 0)
    return empty(
      'No initial access token',
      'With such a token one app can register where registration is not open to all (RFC 7591).',
    );
  const rows = tokens.map(({ id, note, createdAt, expiresAt, clientId }) => [
    note === '' ? html`<code>${id}</code>` : html`<bdi>${note}</bdi>`,
    clientId === null
      ? tag('Unused', 'good')
      : html`used by <a href="${links.app(clientId)}"><code>${clientId}</code></a>`,
    time(createdAt, admin.clock()),
    time(expiresAt, admin.clock()),
    role === 'operator' && clientId === null
      ? html`<a class="button grave" href="${links.settings}/tokens/${encodeURIComponent(id)}/revoke">Revoke<span class="unseen"> ${note === '' ? id : note}</span></a>`
      : '',
  ]);
  return table(
    'Initial access tokens',
    ['Note', 'State', columnOf.time('Created'), columnOf.time('Expires'), columnOf.actions],
    rows,
  );
}

async function receiverTable(admin: Administration): Promise<Markup> {
  const receivers = await listReceivers(admin);
  if (receivers.length === 0)
    return empty(
      'No webhook or export',
      'They send events to other systems, at least once. They are defined in the configuration file.',
    );
  const at = (seconds: number | null) => (seconds === null ? '' : time(seconds, admin.clock()));
  const rows = receivers.map(({ name, host, types, progress }) => [
    name,
    html`<code>${host}</code>`,
    types === null ? 'all' : types.join(', '),
    at(progress?.deliveredAt ?? null),
    at(progress?.waitingSince ?? null),
    progress?.lastError ?? '',
  ]);
  const times = [columnOf.time('Last delivered'), columnOf.time('Events waiting since')];
  return table('Webhooks and exports', ['Name', 'Host', 'Events', ...times, 'Last error'], rows);
}

function streamTable(
  { admin, role }: Pick<ConsoleRequest, 'admin' | 'role'>,
  streams: readonly ListedStream[],
): Markup {
  if (streams.length === 0)
    return empty(
      'No event stream',
      'Receivers of security events create one by the Shared Signals Framework, where the setting sharedSignals names them.',
    );
  const rows = streams.map(({ id, clientId, host, status, lastError, createdAt }) => [
    html`<bdi>${clientId}</bdi>`,
    host === null ? 'polled' : html`pushed to <code>${host}</code>`,
    lastError === null ? status : html`${tag(status, 'bad')} ${lastError}`,
    time(createdAt, admin.clock()),
    role === 'operator'
      ? html`<a class="button grave" href="${links.settings}/streams/${encodeURIComponent(id)}/remove">Remove<span class="unseen"> the stream of ${clientId}</span></a>`
      : '',
  ]);
  return table(
    'Event streams of receivers',
    ['Receiver', 'Delivery', 'State', columnOf.time('Created'), columnOf.actions],
    rows,
  );
}

/** Without the advice that follows in the documentation. */
function aboutLimit(name: string): string {
  const descriptions: Readonly<Record<string, string>> = rateLimitDescriptions;
  const [about = name] = (descriptions[name] ?? name).split(';');
  return about.charAt(0).toUpperCase() + about.slice(1);
}

function limitTable({ rateLimits }: Administration): Markup {
  const rows = Object.entries(rateLimits).map(([name, { burst, perMinute }]) => [
    html`${aboutLimit(name)} <code class="quiet">${name}</code>`,
    formatCount(burst),
    formatCount(perMinute),
  ]);
  if (rows.length === 0) return html`<p class="quiet">Rate limits are disabled.</p>`;
  return table(
    'Rate limits in effect',
    ['Limit', columnOf.number('Burst'), columnOf.number('A minute')],
    rows,
  );
}
