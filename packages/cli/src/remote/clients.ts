/** `clients` of a remote server, with the initial access tokens by which clients register. */
import { addRotationOptions, describeRotation } from '../admin/clients/change.ts';
import { addInvitationOptions } from '../admin/clients/initial-access-tokens.ts';
import { addMetadataOptions, readGivenMetadata } from '../admin/clients/metadata-flags.ts';
import { showSecretOnce } from '../admin/clients/secret-output.ts';
import type { Flags } from '../admin/clients/task.ts';
import { isObject, type Json } from '../json.ts';
import type { ApiRequest } from './admin-api.ts';
import { at, type RemoteCommand, type RemoteTask, remote, tokenBody } from './command.ts';

const CLIENT = [['<client-id>', 'client ID']] as const;

export const clientCommands: readonly RemoteCommand[] = [
  remote('clients list', 'list registered, added and configured clients', {
    columns: ['origin', 'verifiedAt', 'disabledAt', 'lastUsedAt', 'id', 'name'],
    request: 'GET /clients',
  }),
  remote('clients show', 'show a client', { args: CLIENT, request: 'GET /clients/:id' }),
  remote('clients add', 'add a trusted client; its secret is shown only once', {
    define: (command) => addMetadataOptions(command, true),
    isChange: true,
    act: (task) =>
      sendSecret(task, async (flags) => {
        const metadata = await readGivenMetadata(flags, task.processContext);
        const registered = registrationOf(await send(task, 'POST', '/clients', { metadata }));
        return { registered, about: `The client ${registered['client_id']} can be used now.` };
      }),
  }),
  remote('clients update', 'change the metadata of a client; what is not given stays', {
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
  }),
  remote('clients rotate-secret', 'replace the secret of a client; the new one is shown only once', {
    args: CLIENT,
    define: addRotationOptions,
    isChange: true,
    act: (task) =>
      sendSecret(task, async ({ overlap }) => {
        const [id = ''] = task.args;
        const found = await send(task, 'POST', `/clients/${at(id)}/rotate-secret`, { overlap });
        const until = String(found['previousUntil']);
        const rotated = { secret: found['clientSecret'], previousUntil: Date.parse(until) / 1000 };
        return describeRotation(id, rotated, overlap, until);
      }),
  }),
  ...(
    [
      ['disable', 'revoke all tokens and grants of a client, and reject it'],
      ['enable', 'accept a disabled client again'],
      ['verify', 'mark a client that registered itself as verified'],
      ['unverify', 'take the verification of a client back'],
    ] as const
  ).map(([verb, summary]) =>
    remote(`clients ${verb}`, summary, { args: CLIENT, request: `POST /clients/:id/${verb}` }),
  ),
  remote('clients remove', 'remove a client and revoke all its tokens and grants', {
    args: CLIENT,
    request: 'DELETE /clients/:id',
  }),
  remote('clients invite', 'create an initial access token, which lets one client register itself', {
    define: addInvitationOptions,
    request: 'POST /initial-access-tokens',
    body: (_args, flags) => tokenBody(flags),
  }),
  remote('clients initial-access-tokens', 'list the initial access tokens that have not expired', {
    columns: ['id', 'expiresAt', 'clientId', 'note'],
    request: 'GET /initial-access-tokens',
  }),
  remote('clients revoke-initial-access-token', 'revoke an unused initial access token', {
    args: [['<id>', 'ID of the initial access token, as listed']],
    request: 'DELETE /initial-access-tokens/:id',
  }),
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
