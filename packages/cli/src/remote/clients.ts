/** `clients` of a remote server, with the initial access tokens by which clients register. */
import { describeRotation } from '../admin/clients/change.ts';
import { readGivenMetadata } from '../admin/clients/metadata-flags.ts';
import { showSecretOnce } from '../admin/clients/secret-output.ts';
import type { Flags } from '../admin/clients/task.ts';
import { isObject, type Json } from '../json.ts';
import type { ApiRequest } from './admin-api.ts';
import { at, type RemoteCommands, type RemoteTask, tokenBody } from './command.ts';

export const clientCommands: RemoteCommands = {
  'clients list': {
    columns: ['origin', 'verifiedAt', 'disabledAt', 'lastUsedAt', 'id', 'name'],
    request: 'GET /clients',
  },
  'clients show': { request: 'GET /clients/:id' },
  'clients add': {
    isChange: true,
    act: (task) =>
      sendSecret(task, async (flags) => {
        const metadata = await readGivenMetadata(flags, task.processContext);
        const registered = registrationOf(await send(task, 'POST', '/clients', { metadata }));
        return { registered, about: `The client ${registered['client_id']} can be used now.` };
      }),
  },
  'clients update': {
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
  'clients rotate-secret': {
    isChange: true,
    act: (task) =>
      sendSecret(task, async ({ overlap }) => {
        const [id = ''] = task.args;
        const found = await send(task, 'POST', `/clients/${at(id)}/rotate-secret`, { overlap });
        const until = String(found['previousUntil']);
        const rotated = { secret: found['clientSecret'], previousUntil: Date.parse(until) / 1000 };
        return describeRotation(id, rotated, overlap, until);
      }),
  },
  'clients disable': { request: 'POST /clients/:id/disable' },
  'clients enable': { request: 'POST /clients/:id/enable' },
  'clients verify': { request: 'POST /clients/:id/verify' },
  'clients unverify': { request: 'POST /clients/:id/unverify' },
  'clients remove': { request: 'DELETE /clients/:id' },
  'clients invite': {
    request: 'POST /initial-access-tokens',
    body: (_args, flags) => tokenBody(flags),
  },
  'clients initial-access-tokens': {
    columns: ['id', 'expiresAt', 'clientId', 'note'],
    request: 'GET /initial-access-tokens',
  },
  'clients revoke-initial-access-token': { request: 'DELETE /initial-access-tokens/:id' },
};

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
