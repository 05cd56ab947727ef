/** `clients` of a remote server, with the initial access tokens by which clients register. */
import { addRotationOptions } from '../admin/clients/change.ts';
import { addInvitationOptions } from '../admin/clients/initial-access-tokens.ts';
import { addMetadataOptions, readGivenMetadata } from '../admin/clients/metadata-flags.ts';
import { showSecretOnce } from '../admin/clients/secret-output.ts';
import type { Flags } from '../admin/clients/task.ts';
import { isObject, type Json } from '../json.ts';
import type { ApiRequest } from './admin-api.ts';
import { at, type RemoteCommand, type RemoteTask, requestAbout } from './command.ts';

const CLIENT = [['<client-id>', 'client ID']] as const;

export const clientCommands: readonly RemoteCommand[] = [
  {
    words: 'clients list',
    summary: 'list registered, added and configured clients',
    columns: ['origin', 'verifiedAt', 'disabledAt', 'lastUsedAt', 'id', 'name'],
    request: () => ({ method: 'GET', path: '/clients' }),
  },
  requestAbout('clients show', 'show a client', CLIENT, ['GET', (id) => `/clients/${id}`]),
  {
    words: 'clients add',
    summary: 'add a trusted client; its secret is shown only once',
    define: (command) => addMetadataOptions(command, true),
    isChange: true,
    act: (task) =>
      sendSecret(task, async (flags) => {
        const metadata = await readGivenMetadata(flags, task.processContext);
        const registered = registrationOf(await send(task, 'POST', '/clients', { metadata }));
        return { registered, about: `The client ${registered['client_id']} can be used now.` };
      }),
  },
  {
    words: 'clients update',
    summary: 'change the metadata of a client; what is not given stays',
    args: CLIENT,
    define: (command) => addMetadataOptions(command, false),
    isChange: true,
    act: (task) =>
      sendSecret(task, async (flags) => {
        const metadata = await readGivenMetadata(flags, task.processContext);
        if (Object.keys(metadata).length === 0)
          throw new Error('Name at least one change, such as --client-name');
        const [id] = task.args;
        const registered = registrationOf(await send(task, 'PATCH', `/clients/${at(id)}`, { metadata }));
        return { registered, about: `The client ${id} is updated.` };
      }),
  },
  {
    words: 'clients rotate-secret',
    summary: 'replace the secret of a client; the new one is shown only once',
    args: CLIENT,
    define: addRotationOptions,
    isChange: true,
    act: (task) =>
      sendSecret(task, async ({ overlap }) => {
        const [id] = task.args;
        const found = await send(task, 'POST', `/clients/${at(id)}/rotate-secret`, { overlap });
        const { clientSecret, previousUntil } = found;
        const previous =
          overlap === 0
            ? 'the secret before is refused from now on'
            : `the secret before is accepted until ${previousUntil}`;
        return {
          registered: {
            client_id: id,
            client_secret: clientSecret,
            previous_secret_expires_at: Date.parse(String(previousUntil)) / 1000,
          },
          about: `The client ${id} has a new secret; ${previous}.`,
        };
      }),
  },
  ...(
    [
      ['disable', 'revoke all tokens and grants of a client, and reject it'],
      ['enable', 'accept a disabled client again'],
      ['verify', 'mark a client that registered itself as verified'],
      ['unverify', 'take the verification of a client back'],
    ] as const
  ).map(([verb, summary]) =>
    requestAbout(`clients ${verb}`, summary, CLIENT, ['POST', (id) => `/clients/${id}/${verb}`]),
  ),
  requestAbout('clients remove', 'remove a client and revoke all its tokens and grants', CLIENT, [
    'DELETE',
    (id) => `/clients/${id}`,
  ]),
  {
    words: 'clients invite',
    summary: 'create an initial access token, which lets one client register itself',
    define: addInvitationOptions,
    isChange: true,
    request: (_args, { days, note }) => ({
      method: 'POST',
      path: '/initial-access-tokens',
      body: { seconds: Number(days) * 86_400, note },
    }),
  },
  {
    words: 'clients initial-access-tokens',
    summary: 'list the initial access tokens that have not expired',
    columns: ['id', 'expiresAt', 'clientId', 'note'],
    request: () => ({ method: 'GET', path: '/initial-access-tokens' }),
  },
  requestAbout(
    'clients revoke-initial-access-token',
    'revoke an unused initial access token',
    [['<id>', 'ID of the initial access token, as listed']],
    ['DELETE', (id) => `/initial-access-tokens/${id}`],
  ),
];

async function sendSecret(
  { flags, processContext, terminal }: RemoteTask,
  change: (flags: Flags) => Promise<{ readonly registered: Json; readonly about: string }>,
): Promise<void> {
  terminal.print(await showSecretOnce(flags as Flags, processContext, () => change(flags as Flags)));
}

async function send(
  { api }: RemoteTask,
  method: ApiRequest['method'],
  path: string,
  body: object,
): Promise<Json> {
  const found = await api.send({ method, path, body: { ...body } });
  return isObject(found) ? found : {};
}

function registrationOf({ registration }: Json): Json {
  return isObject(registration) ? registration : {};
}
