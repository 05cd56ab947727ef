/** A server whose identity provider provisions users and groups, and its provisioning service. */
import type { AuthorizationServerOptions, IdentityProviderOptions } from '../src/index.ts';
import { createProvisioningTokenAdministration } from '../src/index.ts';
import { ISSUER, type ServerUnderTest, startServer } from './server-under-test.ts';

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const SEARCH = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';
export const BULK = 'urn:ietf:params:scim:api:messages:2.0:BulkRequest';

type Json = Readonly<Record<string, unknown>>;

interface ScimResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** A provisioning service with the token of one connection. */
export interface ProvisioningService {
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ScimResponse>;
  /** Creates a user, and returns its identifier. */
  addUser(userName: string, more?: Json): Promise<string>;
  addGroup(displayName: string, members?: readonly string[]): Promise<string>;
  patch(path: string, ...operations: readonly Json[]): Promise<ScimResponse>;
}

/** An identity provider that provisions; nothing is sent to it. */
function provisioningProvider(
  id: string,
  changes: Partial<IdentityProviderOptions> = {},
): IdentityProviderOptions {
  return {
    id,
    name: id,
    clientId: 'portcullis',
    scopes: ['openid', 'email'],
    kind: { issuer: `https://${id}.example` },
    scim: {},
    ...changes,
  };
}

/** @param t a server with that identity provider */
export async function connectService(
  t: ServerUnderTest,
  identityProvider: string,
): Promise<ProvisioningService> {
  const tokens = createProvisioningTokenAdministration({
    store: t.store,
    clock: () => t.clock.now,
    events: (event) => t.events.push(event),
  });
  const { token } = await tokens.create(identityProvider, 'test', 86_400);
  const send: ProvisioningService['send'] = async (method, path, body, headers = {}) => {
    const type: Record<string, string> =
      body === undefined ? {} : { 'content-type': 'application/scim+json' };
    const response = await t.server.handle(
      new Request(`${ISSUER}/scim/v2${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...type, ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
  };
  const create = async (path: string, body: Json) => {
    const response = await send('POST', path, body);
    if (response.status !== 201) throw new Error(`${response.status} ${JSON.stringify(response.body)}`);
    return String(response.body['id']);
  };
  return {
    send,
    addUser: (userName, more = {}) => create('/Users', { schemas: [USER], userName, ...more }),
    addGroup: (displayName, members = []) =>
      create('/Groups', { schemas: [GROUP], displayName, members: members.map((value) => ({ value })) }),
    patch: (path, ...operations) => send('PATCH', path, { schemas: [PATCH], Operations: operations }),
  };
}

/** A server with two connections, and their services. */
export async function setScimScene(
  options: Partial<AuthorizationServerOptions> = {},
): Promise<ServerUnderTest & { readonly service: ProvisioningService; readonly other: ProvisioningService }> {
  const t = await startServer({
    identityProviders: [provisioningProvider('acme'), provisioningProvider('globex')],
    ...options,
  });
  return { ...t, service: await connectService(t, 'acme'), other: await connectService(t, 'globex') };
}
