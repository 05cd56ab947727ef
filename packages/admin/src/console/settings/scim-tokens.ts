/** The tokens of provisioning connections (SCIM 2.0): listed in the settings, created and revoked by operators. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import type { Administration } from '../../operations/administration.ts';
import { found, OperationError } from '../../operations/errors.ts';
import { createProvisioningToken, revokeProvisioningToken } from '../../operations/provisioning-tokens.ts';
import { defineAction } from '../action.ts';
import { doneAt } from '../done.ts';
import { links } from '../links.ts';
import type { ConsoleRequest, ConsoleRoute } from '../page.ts';
import { columnOf, copyText, empty, field, table, tag, time } from '../ui/parts.ts';

/** Identity providers that provision, with their names. */
function provisionersOf({ provisioners, identityProviders }: Administration): ReadonlyMap<string, string> {
  const names = new Map(identityProviders.map(({ id, name }) => [id, name]));
  return new Map(provisioners.map((id) => [id, names.get(id) ?? id]));
}

export const CREATE_SCIM_TOKEN = `${links.settings}/create-scim-token`;

export async function scimTokenTable({ admin, role }: ConsoleRequest): Promise<Markup> {
  const tokens = await admin.provisioningTokens.list();
  const providers = provisionersOf(admin);
  if (tokens.length === 0)
    return empty(
      'No identity provider has a token',
      'With such a token an identity provider creates, changes and deactivates users here. Set scim at the provider in the configuration file.',
    );
  const rows = tokens.map(({ id, identityProvider, note, createdAt, expiresAt }) => [
    html`<bdi>${providers.get(identityProvider) ?? identityProvider}</bdi>${!providers.has(identityProvider) && html` ${tag('Not configured', 'bad')}`}`,
    html`<bdi>${note}</bdi>`,
    time(createdAt, admin.clock()),
    time(expiresAt, admin.clock()),
    role === 'operator'
      ? html`<a class="button grave" href="${links.settings}/scim-tokens/${encodeURIComponent(id)}/revoke">Revoke<span class="unseen"> ${note === '' ? id : note}</span></a>`
      : '',
  ]);
  return table(
    'Tokens of provisioning connections',
    ['Identity provider', 'Note', columnOf.time('Created'), columnOf.time('Expires'), columnOf.actions],
    rows,
  );
}

const LIFETIMES = [
  ['30', '30 days'],
  ['180', '180 days'],
  ['365', 'A year'],
] as const;

const createRoutes = defineAction({
  path: CREATE_SCIM_TOKEN,
  fields: ['provider', 'note', 'days'],
  describe: async ({ form, admin }) => ({
    title: 'Create a provisioning token',
    effects: ['Lets the identity provider create, change and deactivate its users and groups here.'],
    button: 'Create the token',
    fields: html`${field({ name: 'provider', label: 'Identity provider', choices: [...provisionersOf(admin)], value: form['provider'] ?? '' })}
${field({ name: 'note', label: 'Note', hint: 'What it is for. Only operators and viewers see it.', maxLength: 200, value: form['note'] ?? '' })}
${field({ name: 'days', label: 'Works for', choices: LIFETIMES, value: form['days'] ?? '180' })}`,
  }),
  async perform(request) {
    const { provider = '', note = '', days } = request.form;
    const given = LIFETIMES.find(([value]) => value === days);
    if (given === undefined || note.length > 200)
      throw new OperationError('invalid', 'Choose how long the token works.');
    const seconds = Number(days) * 86_400;
    const { token, expiresAt } = await createProvisioningToken(request, {
      ...{ identityProvider: provider, note, seconds },
    });
    return {
      title: 'The provisioning token',
      body: html`<p>Enter both at the identity provider. The token is shown once, and expires ${time(expiresAt, request.admin.clock())}.</p>
<h2>URL</h2>${copyText(`${new URL(request.admin.issuer).origin}/scim/v2`)}
<h2>Token</h2>${copyText(token)}`,
    };
  },
});

const revokeRoutes = defineAction({
  path: `${links.settings}/scim-tokens/{tokenId}/revoke`,
  async describe({ admin, params }) {
    const id = params['tokenId'] ?? '';
    const listed = (await admin.provisioningTokens.list()).find((one) => one.id === id);
    const { identityProvider } = found(listed ?? null, `SCIM token ${id}`);
    return {
      title: `Revoke a provisioning token of ${identityProvider}`,
      effects: ['The identity provider can no longer change users and groups with it.'],
      button: 'Revoke the token',
      isDangerous: true,
    };
  },
  async perform(request) {
    await revokeProvisioningToken(request, request.params['tokenId'] ?? '');
    return doneAt(links.settings, 'scim-revoked');
  },
});

export const scimTokenRoutes: readonly ConsoleRoute[] = [...createRoutes, ...revokeRoutes];
