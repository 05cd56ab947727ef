/** What an operator can change of an app, and how one is added. */
import { html } from '@portcullis/authorization-server/pages';
import { isLoopbackHost } from '@portcullis/protocol';
import type { Administration } from '../../operations/administration.ts';
import {
  addTrustedClient,
  changeClientState,
  changeClientVerification,
  type DescribedClient,
  describeClient,
  metadataHashOf,
  rotateClientSecret,
} from '../../operations/clients.ts';
import { OperationError } from '../../operations/errors.ts';
import { countClientAccess } from '../../operations/grants.ts';
import { type Action, type ActionPage, defineAction } from '../action.ts';
import { checkExpected, doneAt, undoableAt } from '../done.ts';
import { appAction, links } from '../links.ts';
import { appName } from '../names.ts';
import type { ConsoleRequest, ConsoleRoute } from '../page.ts';
import { copyText, countOf, field, time } from '../ui/parts.ts';

type Describe = (client: DescribedClient, admin: Administration) => Promise<ActionPage>;

const idIn = ({ query }: ConsoleRequest) => query.get('id') ?? '';

/** @param perform gets the identifier of the client besides the request */
function clientAction(
  name: string,
  describe: Describe,
  perform: (request: ConsoleRequest, id: string) => ReturnType<Action['perform']>,
  fields: readonly string[] = [],
): readonly ConsoleRoute[] {
  return defineAction({
    path: `/admin/app/${name}`,
    fields,
    async describe(request) {
      const client = await describeClient(request.admin, idIn(request));
      const back = { label: appName(client), href: links.app(client.id) };
      return { back, ...(await describe(client, request.admin)) };
    },
    perform: (request) => perform(request, idIn(request)),
  });
}

/** `Ends 12 connections of 4 users` */
async function sayAccess(admin: Administration, id: string): Promise<string> {
  const { grants, users, isMore } = await countClientAccess(admin, id);
  const more = isMore ? 'more than ' : '';
  return `Ends ${more}${countOf(grants, 'connection')} of ${countOf(users, 'user')}, at once.`;
}

/** Where a redirect URI leads, in words. */
function sayTarget(uri: string): string {
  const { protocol, hostname, host } = new URL(uri);
  if (isLoopbackHost(hostname)) return 'a program on the computer of the user';
  return protocol === 'https:' ? host : `the app for ${protocol} links on the device of the user`;
}

const METHODS = [
  ['none', 'None: an app on a computer or in a browser (public client)'],
  ['client_secret_basic', 'A secret: an app on a server (confidential client)'],
] as const;

const addAction = defineAction({
  path: `${links.apps}/add`,
  fields: ['name', 'redirects', 'method'],
  describe: async ({ form }) => ({
    title: 'Add an app',
    button: 'Add the app',
    fields: html`${field({ name: 'name', label: 'Name', hint: 'Users see it on the consent page, without the note that the app is unverified.', isRequired: true, maxLength: 100, value: form['name'] ?? '' })}
${field({ name: 'redirects', label: 'Redirect URIs', rows: 3, isRequired: true, hint: 'One per line, exactly as the app sends them.', value: form['redirects'] ?? '' })}
${field({ name: 'method', label: 'How the app authenticates', choices: METHODS, value: form['method'] ?? 'none' })}`,
  }),
  async perform(request) {
    const { name = '', redirects = '', method = 'none' } = request.form;
    if (!METHODS.some(([value]) => value === method))
      throw new OperationError('invalid', 'Choose how the app authenticates.');
    const registered = await addTrustedClient(request, {
      client_name: name,
      redirect_uris: redirects.split(/\s+/).filter(Boolean),
      token_endpoint_auth_method: method,
    });
    const { client_id: id, client_secret: secret } = registered;
    return {
      title: `${name} was added`,
      action: { label: 'Open the app', href: links.app(String(id)) },
      body: html`<h2>Client identifier</h2>${copyText(String(id))}
${secret !== undefined && html`<h2>Client secret</h2><p>It is shown once: copy it now.</p>${copyText(String(secret))}`}`,
    };
  },
});

export const appActions: readonly ConsoleRoute[] = [
  ...clientAction(
    'disable',
    async (client, admin) => ({
      title: `Disable ${appName(client)}`,
      effects: [
        await sayAccess(admin, client.id),
        'Rejects the app until an operator enables it. What has ended stays so.',
      ],
      button: 'Disable the app',
      isDangerous: true,
    }),
    async (request, id) => {
      const before = await describeClient(request.admin, id);
      const { disabledAt } = await changeClientState(request, id, 'disable');
      // Another operator has disabled it before: there is nothing of this one to take back.
      if (before.disabledAt !== null) return doneAt(links.app(id), 'disabled');
      const fields = { expected: JSON.stringify(disabledAt) };
      return undoableAt(request, links.app(id), 'disabled', { path: appAction(id, 'enable'), fields });
    },
  ),
  ...clientAction(
    'enable',
    async (client) => ({
      title: `Enable ${appName(client)}`,
      effects: ['The app is accepted again. It asks its users again.'],
      button: 'Enable the app',
    }),
    async (request, id) => {
      checkExpected(request, (await describeClient(request.admin, id)).disabledAt);
      await changeClientState(request, id, 'enable');
      return doneAt(links.app(id), 'enabled');
    },
    ['expected'],
  ),
  ...clientAction(
    'remove',
    async (client, admin) => ({
      title: `Remove ${appName(client)}`,
      effects: [
        await sayAccess(admin, client.id),
        client.origin === 'registered'
          ? 'The app can register again. Disable it instead to keep it out.'
          : 'The app cannot come back under this identifier by itself.',
      ],
      button: 'Remove the app',
      isDangerous: true,
    }),
    async (request, id) => {
      await changeClientState(request, id, 'remove');
      return doneAt(links.apps, 'removed');
    },
  ),
  ...clientAction(
    'verify',
    async (client) => {
      const { redirect_uris: uris = [] } = client.metadata as { readonly redirect_uris?: readonly string[] };
      const targets = [...new Set(uris.map(sayTarget))];
      return {
        title: `Verify ${appName(client)}`,
        effects: [
          'Says to users on the consent page that their administrators verified the app. That another program on their device could impersonate it stays there, where the app redirects to one.',
          targets.length === 0
            ? 'The app redirects users nowhere.'
            : `Users return from here to ${new Intl.ListFormat('en', { type: 'disjunction' }).format(targets)}: check that this is where the app of this name lives.`,
          'Ends by itself when the app changes its metadata.',
        ],
        button: 'Verify the app',
      };
    },
    async (request, id) => {
      await changeClientVerification(request, id, 'verify', request.query.get('metadata'));
      return undoableAt(request, links.app(id), 'verified', { path: appAction(id, 'unverify') });
    },
  ),
  ...clientAction(
    'unverify',
    async (client) => ({
      title: `Take the verification of ${appName(client)} back`,
      effects: ['Users are warned again that the app is unverified. Their connections stay.'],
      button: 'Take it back',
    }),
    async (request, id) => {
      const client = await changeClientVerification(request, id, 'unverify');
      return undoableAt(request, links.app(id), 'unverified', {
        path: appAction(id, 'verify', { metadata: metadataHashOf(client) }),
      });
    },
  ),
  ...clientAction(
    'rotate-secret',
    async (client) => ({
      title: `Rotate the secret of ${appName(client)}`,
      effects: [
        'Creates a new client secret, which is shown once.',
        'The secret before it is accepted for one more day, so that nothing is interrupted.',
      ],
      button: 'Rotate the secret',
    }),
    async (request, id) => {
      const { secret, previousUntil } = await rotateClientSecret(request, id);
      return {
        title: 'The new secret',
        back: { label: 'Back to the app', href: links.app(id) },
        body: html`<p>It is shown once. The secret before it is accepted until ${time(previousUntil, request.admin.clock())}.</p>
${copyText(secret)}`,
      };
    },
  ),
  ...addAction,
];
