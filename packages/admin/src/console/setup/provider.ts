/** Sets an identity provider up: its issuer is tried live, and the configuration is exported. */
import { redirectUriOf } from '@portcullis/authorization-server';
import { html } from '@portcullis/authorization-server/pages';
import { OperationError } from '../../operations/errors.ts';
import { type PublishedProvider, tryProvider } from '../../operations/read-provider.ts';
import { defineForm } from '../action.ts';
import { links } from '../links.ts';
import type { ConsolePage, ConsoleRequest, ConsoleRoute } from '../page.ts';
import { copyText, countOf, errorNotice, facts, field, postForm, section } from '../ui/parts.ts';
import { exportSection } from './export.ts';

const PATH = links.setupProvider;

async function formPage(request: ConsoleRequest, error: OperationError | null): Promise<ConsolePage> {
  const value = (name: string) => request.form[name] ?? '';
  const content = html`${field({ name: 'issuer', label: 'Issuer', type: 'url', isRequired: true, maxLength: 2000, value: value('issuer'), hint: 'As the provider writes it: https://login.example.com' })}
${field({ name: 'name', label: 'Name', isRequired: true, maxLength: 100, value: value('name'), hint: 'Users see it on the sign-in page.' })}
${field({ name: 'id', label: 'Identifier', isRequired: true, maxLength: 64, value: value('id'), hint: 'Part of the redirect URI: lower-case letters, digits and hyphens.' })}
${field({ name: 'clientId', label: 'Client ID', isRequired: true, maxLength: 500, value: value('clientId'), hint: 'Of the application that you created at the provider. Its secret is never entered here.' })}
<p class="buttons"><button class="button main">Try the provider</button><a class="button" href="${links.settings}">Cancel</a></p>`;
  return {
    title: 'Add an identity provider',
    lead: 'Nothing changes until you add the exported configuration to your file.',
    status: error === null ? 200 : 400,
    body: html`${errorNotice(error)}${postForm(request, PATH, content)}`,
  };
}

function resultPage({ admin, form }: ConsoleRequest, tried: PublishedProvider): ConsolePage {
  const { id = '', name = '', clientId = '', issuer = '' } = form;
  // Where the secret is when the server starts.
  const variable = `${id.toUpperCase().replaceAll('-', '_')}_CLIENT_SECRET`;
  const entry = {
    ...{ id, name, kind: { issuer }, clientId },
    clientSecret: { variable },
    scopes: ['openid', 'email', 'profile'],
  };
  return {
    title: `${name} works`,
    back: { label: 'Start again', href: PATH },
    body: html`<div class="columns"><div>
${section('At the provider', html`<p>Add this redirect URI to the application.</p>${copyText(redirectUriOf(admin.issuer, id))}`)}
${exportSection(admin, 'identityProviders', entry, `Set the variable ${variable} to the secret of the application, and restart.`)}
</div><div>
${section(
  'What it says of itself',
  facts([
    ['Issuer', html`<code>${tried.issuer}</code>`],
    ['Sign-in', html`<code>${tried.authorization_endpoint}</code>`],
    ['Tokens', html`<code>${tried.token_endpoint}</code>`],
    ['Keys', countOf(tried.keys, 'key')],
    ['PKCE', tried.code_challenge_methods_supported.includes('S256') ? 'S256' : 'not stated'],
    ['Scopes', tried.scopes_supported.length === 0 ? 'not stated' : tried.scopes_supported.join(', ')],
  ]),
)}
</div></div>`,
  };
}

export const providerSetupRoutes: readonly ConsoleRoute[] = defineForm(
  PATH,
  ['issuer', 'name', 'id', 'clientId'],
  formPage,
  async (request) => {
    const { issuer = '', id = '' } = request.form;
    if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(id))
      throw new OperationError('invalid', 'The identifier must be lower-case letters, digits and hyphens.');
    return resultPage(request, await tryProvider(request.admin, issuer));
  },
);
