/** The permissions on the consent page: what the app may do, what the server learns about the user, and the scopes at the provider. */
import type { UserClaim } from '@portcullis/protocol';
import { html } from 'hono/html';
import { hiddenFields, type Layout } from '../ui/layout.ts';
import { accessIcons } from '../ui/marks.ts';
import type { Markup } from '../ui/markup.ts';
import type { RequestedScope, WithheldScope } from './consent-request.ts';
import { type GroupedPermissions, groupPermissions } from './permission-groups.ts';
import { isDestructive } from './scope-access.ts';

export interface ConsentPermissions {
  readonly server: NamedServer;
  /** Permissions to decide on. */
  readonly requested: readonly RequestedPermission[];
  /** Permissions that remain granted, a sentence each. */
  readonly alreadyGranted: readonly string[];
  /** Whether all requested permissions were allowed before. */
  readonly isKnown: boolean;
  /** Permissions that the app asked for and that the user cannot allow, by what refuses them. */
  readonly withheld: readonly WithheldPermissions[];
  /** What the server learns about the user. */
  readonly sharedClaims: readonly UserClaim[];
  /** The identity provider whose scopes the grant will also cover. */
  readonly identityProvider?: { readonly name: string; readonly scopes: readonly string[] };
  /** Where the user connects an account next. */
  readonly connections: readonly { readonly name: string; readonly host: string }[];
  /** What was missing in the previous decision. */
  readonly error: 'nothing' | 'no-workspace' | null;
  /** The previous choice; `null`: none, so everything is on, except what is off by default. */
  readonly chosen: {
    readonly scopes: readonly string[];
    readonly groups: readonly string[];
    readonly workspace: string;
  } | null;
}

/** A permission: one scope in words. */
interface RequestedPermission extends RequestedScope {
  /** As users read it. */
  readonly sentence: string;
  /** Implied permissions, a sentence each. */
  readonly includes: readonly string[];
}

interface WithheldPermissions extends Pick<WithheldScope, 'by'> {
  /** A sentence each. */
  readonly sentences: readonly string[];
}

/** A protected server. */
export interface NamedServer {
  readonly name: string;
  /** Host and path. */
  readonly address: string;
}

/** The heading, the permissions and what is left out of them. */
export function permissions(layout: Layout, page: ConsentPermissions): Markup {
  const { requested, alreadyGranted, isKnown, server, error: wrong } = page;
  const canChoose = requested.some(({ isOptional }) => isOptional);
  const groups = groupPermissions(requested);
  return html`<section class="head">
<h2 id="powers">${layout.say('consent.permissions', { address: html`<code>${server.address}</code>` })}</h2>
${wrong === 'nothing' && html`<p class="wrong" role="alert">${layout.text('consent.error.nothing')}</p>`}
${requested.length === 0 && html`<ul class="powers" aria-labelledby="powers"><li>${accessIcons.other}<span>${layout.text('consent.in-your-name')}</span></li></ul>`}
${groups === null ? eachPermission(layout, page) : groups.map((one) => groupItem(layout, one, page))}
${extraPermissions(layout, page)}
${canChoose && groups === null && html`<p class="fact choose">${layout.text('consent.choose')}</p>`}
${isKnown && html`<p class="fact">${layout.text('consent.known')}</p>`}
${alreadyGranted.length > 0 && html`<p class="fact">${layout.text('consent.already-granted', { sentences: alreadyGranted.join(' · ') })}</p>`}
</section>`;
}

/** A few permissions, each with its own switch. */
function eachPermission(layout: Layout, { requested, chosen }: ConsentPermissions): Markup {
  const asked = requested.filter(({ isExtra }) => !isExtra);
  const item = (one: RequestedPermission) => permissionItem(layout, one, isOn(one, chosen));
  const harmless = asked.filter(({ access }) => !isDestructive(access));
  const destructive = asked.filter(({ access }) => isDestructive(access));
  return html`${harmless.length > 0 && html`<ul class="powers" aria-labelledby="powers">${harmless.map(item)}</ul>`}
${
  destructive.length > 0 &&
  html`<div class="risky">
<h3 id="risky">${layout.text('consent.destructive')}</h3>
<ul class="powers" aria-labelledby="risky">${destructive.map(item)}</ul>
</div>`
}`;
}

function isOn({ scope, isOffByDefault }: RequestedPermission, chosen: ConsentPermissions['chosen']): boolean {
  return chosen === null ? !isOffByDefault : chosen.scopes.includes(scope);
}

/**
 * Many permissions of one kind: their number, the first words, a switch for all, and each on demand. While the switch of the group
 * is off, the stylesheet hides those of its permissions, which then count for nothing.
 */
function groupItem(
  layout: Layout,
  { group, permissions: members, hasSwitch }: GroupedPermissions<RequestedPermission>,
  { chosen }: ConsentPermissions,
): Markup {
  const isGroupOn =
    chosen === null ? members.some(({ isOffByDefault }) => !isOffByDefault) : chosen.groups.includes(group);
  const id = `group-${group}`;
  const one = members.length === 1;
  const count = layout.text(one ? 'consent.count.one' : 'consent.count', { number: members.length });
  return html`<div class="group ${group}">
${hasSwitch && html`<input type="checkbox" role="switch" aria-labelledby="${id} ${id}-count" name="group" value="${group}"${isGroupOn && html` checked`}>`}
<details>
<summary>${accessIcons[ICONS[group]]}<strong class="title" id="${id}">${layout.text(`consent.group.${group}`)}</strong>
<span class="first fact">${group === 'destroy' && html`<span class="alert">${layout.text('consent.destructive')}</span> · `}<span id="${id}-count">${count}</span><span class="words"> · ${members.map(({ sentence }) => sentence).join(' · ')}</span></span></summary>
<ul class="powers" aria-labelledby="${id}">${members.map((member) => permissionItem(layout, member, chosen === null || !isGroupOn || chosen.scopes.includes(member.scope)))}</ul>
</details>
</div>`;
}

const ICONS = { read: 'read', change: 'write', destroy: 'delete' } as const;

/** What the app did not ask for, each with a switch. */
function extraPermissions(layout: Layout, { requested, chosen }: ConsentPermissions): Markup {
  const extras = requested.filter(({ isExtra }) => isExtra);
  if (extras.length === 0) return html``;
  return html`<div class="head">
<h3 id="extras">${layout.text('consent.extras')}</h3>
<ul class="powers" aria-labelledby="extras">${extras.map((one) => permissionItem(layout, one, isOn(one, chosen)))}</ul>
</div>`;
}

function permissionItem(
  layout: Layout,
  { scope, sentence, isNew, isOptional, includes, access }: RequestedPermission,
  isSwitchedOn: boolean,
): Markup {
  const text = html`<span>${sentence}${isNew && html` <em class="new">${layout.text('consent.new')}</em>`}${
    isOptional &&
    includes.length > 0 &&
    html`<small class="fact">${layout.text('consent.includes', { sentences: includes.join(' · ') })}</small>`
  }</span>`;
  return isOptional
    ? html`<li><label class="power">${accessIcons[access]}${text}<input type="checkbox" role="switch" name="scope" value="${scope}"${isSwitchedOn && html` checked`}></label></li>`
    : html`<li>${accessIcons[access]}${text}${hiddenFields({ scope })}</li>`;
}

/** What the user cannot allow, and why. Never names groups, clients or values of a rule: its user is in none of them. */
export function withheldPermissions(layout: Layout, { withheld }: ConsentPermissions): Markup {
  if (withheld.length === 0) return html``;
  const count = withheld.reduce((sum, { sentences }) => sum + sentences.length, 0);
  return html`<details class="about">
<summary class="fact">${layout.text('consent.withheld')} (${count})</summary>
<ul class="head powers">${withheld.map(
    ({ by, sentences }) =>
      html`<li><span>${sentences.join(' · ')}<small class="fact">${layout.text(`consent.withheld.${by}`)}</small></span></li>`,
  )}</ul>
</details>`;
}

/** Scopes that say who the user is: in words, not by name. */
const IDENTITY_SCOPES = [
  'openid',
  'profile',
  'email',
  'read:user',
  'user:email',
  'read_user',
  'offline_access',
  'groups',
];

/** What the protected server learns about the user. */
export function sharedClaims(layout: Layout, { sharedClaims: claims, server }: ConsentPermissions): Markup {
  if (claims.length === 0) return html``;
  return html`<p class="fact">${layout.say('consent.share-claims', { server: html`<bdi>${server.name}</bdi>`, claims: listClaims(layout, claims) })}</p>`;
}

function listClaims(layout: Layout, claims: readonly UserClaim[]): string {
  const names = (['identity', ...claims] as const).map((claim) => layout.text(`consent.claim.${claim}`));
  return new Intl.ListFormat(layout.language).format(names);
}

/** What the authorization server will get at the identity provider. */
export function upstreamScopes(layout: Layout, { identityProvider }: ConsentPermissions): Markup {
  if (identityProvider === undefined || identityProvider.scopes.length === 0) return html``;
  const { name, scopes } = identityProvider;
  const others = scopes.filter((scope) => !IDENTITY_SCOPES.includes(scope));
  const rights = html`${others.map((scope, index) => html`${index > 0 && ', '}<code>${scope}</code>`)}`;
  const provider = html`<bdi>${name}</bdi>`;
  const operator = html`<bdi>${layout.serverName}</bdi>`;
  const shared = (['email', 'groups'] as const).filter((claim) =>
    scopes.some((scope) => (claim === 'email' ? scope.includes(claim) : scope === claim)),
  );
  return html`<p class="fact">${layout.say('consent.provider-shares', { provider, operator, claims: listClaims(layout, shared) })}${
    others.length > 0 && html` ${layout.say('consent.provider-scopes', { provider, operator, rights })}`
  }</p>`;
}

/** Accounts elsewhere on the consent page. */
export function neededConnections(layout: Layout, { connections }: ConsentPermissions): Markup {
  if (connections.length === 0) return html``;
  return html`<p class="fact">${connections.map(
    ({ name, host }, index) =>
      html`${index > 0 && html`<br>`}${layout.say('consent.needs-backend', { backend: html`<strong><bdi>${name}</bdi></strong>`, host: html`<code>${host}</code>` })}`,
  )}</p>`;
}
