/** Options of credentials towards a backend, and their definitions. */
import { createPrivateKey } from 'node:crypto';
import {
  checkedText,
  lazy,
  list,
  type OptionReport,
  type OutputOf,
  optional,
  secret,
  text,
} from '@portcullis/authorization-server/options';
import { isScope, isSecureUrl, readWebUrl, type Scopes } from '@portcullis/protocol';
import * as z from 'zod';

/** A client that was registered at the backend's authorization server in advance. */
export interface BackendClient {
  readonly clientId: string;
  readonly secret: string | null;
  /** For `private_key_jwt`. */
  readonly key: NonNullable<CredentialOptions['clientKey']> | null;
}

/** The enterprise's identity provider, which issues ID-JAGs, and the client of the gateway there. */
interface AssertionIssuer {
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret: string | null;
}

/** How the gateway authenticates itself to a backend. The client's token is never forwarded. */
export type CredentialDefinition =
  | { readonly as: 'none' }
  | { readonly as: 'header'; readonly name: string; readonly value: string }
  | { readonly as: 'application'; readonly client: BackendClient; readonly scopes: Scopes | null }
  | { readonly as: 'user'; readonly client: BackendClient | null; readonly scopes: Scopes | null }
  | {
      readonly as: 'exchange';
      readonly client: BackendClient;
      readonly scopes: Scopes | null;
      /** `null`: discovered from the backend. */
      readonly tokenEndpoint: string | null;
      /** `null`: only the resource is named. */
      readonly audience: string | null;
      /** The subject token: one of this server about the user, or the one of the user's identity provider. */
      readonly subject: 'user' | 'identity-provider';
    }
  | {
      readonly as: 'enterprise';
      readonly client: BackendClient;
      readonly scopes: Scopes | null;
      readonly identityProvider: AssertionIssuer;
    };

const ALGORITHMS = ['ES256', 'ES384', 'EdDSA', 'RS256', 'PS256'] as const;

export const credentialSchema = lazy(() =>
  z.strictObject({
    as: z
      .enum(['none', 'header', 'application', 'user', 'exchange', 'enterprise'])
      .describe(
        'whose credential it is: none, a fixed `header`, the `application` itself, each `user` who connects an account, or the user by token `exchange` (RFC 8693) or `enterprise` assertion (ID-JAG)',
      ),
    name: optional(headerName(), '`header`: its name', '`authorization`'),
    value: optional(secret(), '`header`: its value, such as `Bearer …`'),
    clientId: optional(
      text(),
      'client identifier at the authorization server of the backend',
      '`user`: a client metadata document, or dynamic registration',
    ),
    clientSecret: optional(secret(), 'client secret at that authorization server'),
    clientKey: optional(
      z.strictObject({
        privateKey: secret().describe('private key as PKCS #8 PEM'),
        algorithm: z.enum(ALGORITHMS).default('ES256').describe('signature algorithm'),
        keyId: optional(text(), '`kid` under which the public key is registered'),
      }),
      'private key in place of the secret (`private_key_jwt`)',
    ),
    scopes: optional(scopeList(), 'scopes to request at the backend', 'those that the backend names'),
    tokenEndpoint: optional(endpoint(), '`exchange`: token endpoint', 'discovered from the backend'),
    audience: optional(text(), '`exchange`: the `audience` parameter'),
    subject: optional(
      z.enum(['user', 'identity-provider']),
      "`exchange`: what is exchanged, a token of this server about the user or the access token of the user's identity provider",
      '`user`',
    ),
    identityProvider: optional(
      z.strictObject({
        tokenEndpoint: endpoint().describe('its token endpoint, which issues ID-JAGs'),
        clientId: text().describe('client identifier there'),
        clientSecret: optional(secret(), 'client secret there'),
      }),
      '`enterprise`: the identity provider whose ID tokens are exchanged; users must sign in here with it',
    ),
  }),
);

export type CredentialOptions = OutputOf<typeof credentialSchema>;

function headerName() {
  return checkedText('a header name', (name) =>
    /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && !FORBIDDEN.has(name.toLowerCase())
      ? null
      : 'must be a header name that the gateway does not set itself',
  );
}

/** A list of scopes. */
export const scopeList = lazy(() =>
  list(checkedText('a scope', (scope) => (isScope(scope) ? null : 'must be a scope (RFC 6749 §3.3)'))),
);

/** Headers of the connection and of the protocol. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'connection', 'content-length', 'content-type', 'host', 'keep-alive', 'last-event-id', 'mcp-method', 'mcp-name',
  'mcp-protocol-version', 'mcp-session-id', 'te', 'trailer', 'transfer-encoding', 'upgrade',
]); // biome-ignore format: one list

function endpoint() {
  return checkedText('an https URL', endpointIssue);
}

/** Why a text is no URL that secrets may be sent to. */
export function endpointIssue(value: string): string | null {
  const url = readWebUrl(value);
  return url !== null && isSecureUrl(url) ? null : 'must be an https URL; http only on loopback';
}

type CredentialMember = Exclude<keyof CredentialOptions, 'as'>;

/** Members of each kind: required, and optional. */
export type MembersOf<Kind extends string, Member> = Readonly<
  Record<Kind, Record<'needs' | 'takes', readonly Member[]>>
>;

const MEMBERS: MembersOf<CredentialDefinition['as'], CredentialMember> = {
  none: { needs: [], takes: [] },
  header: { needs: ['value'], takes: ['name'] },
  application: { needs: ['clientId'], takes: ['clientSecret', 'clientKey', 'scopes'] },
  user: { needs: [], takes: ['clientId', 'clientSecret', 'clientKey', 'scopes'] },
  exchange: {
    needs: ['clientId'],
    takes: ['clientSecret', 'clientKey', 'scopes', 'tokenEndpoint', 'audience', 'subject'],
  },
  enterprise: { needs: ['clientId', 'identityProvider'], takes: ['clientSecret', 'clientKey', 'scopes'] },
};

/** Checks the rules of one credential. */
export function defineCredentials(
  options: CredentialOptions | undefined,
  path: readonly (string | number)[],
  report: OptionReport,
): CredentialDefinition {
  if (options === undefined || MEMBERS[options.as] === undefined) return { as: 'none' };
  checkMembers(options, MEMBERS[options.as], path, report);
  checkClient(options, path, report);
  return toDefinition(options);
}

/** Reports members that a kind of credentials needs, and those that have no meaning with it. */
export function checkMembers<Options extends { readonly as: string }>(
  options: Options,
  { needs, takes }: Record<'needs' | 'takes', readonly Exclude<keyof Options, 'as'>[]>,
  path: readonly (string | number)[],
  report: OptionReport,
): void {
  const { as, ...given } = options;
  for (const name of needs.map(String))
    if (options[name as keyof Options] === undefined && !report.isUnread(...path, name))
      report.add([...path, name], `is required with \`as: ${as}\``);
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && ![...needs, ...takes].some((one) => one === name))
      report.add([...path, name], `has no meaning with \`as: ${as}\``);
}

function checkClient(
  options: CredentialOptions,
  path: readonly (string | number)[],
  report: OptionReport,
): void {
  const { as, clientId, clientSecret, clientKey } = options;
  checkValues(options, path, report);
  if (clientSecret !== undefined && clientKey !== undefined)
    report.add([...path, 'clientKey'], 'must not be combined with clientSecret');
  if (
    clientId === undefined &&
    MEMBERS[as].takes.includes('clientId') &&
    (clientSecret ?? clientKey) !== undefined
  )
    report.add([...path, 'clientId'], 'is required with clientSecret or clientKey');
  if (as === 'application' && clientSecret === undefined && clientKey === undefined) {
    if (!report.isUnread(...path, 'clientSecret') && !report.isUnread(...path, 'clientKey'))
      report.add([...path, 'clientSecret'], 'is required, or clientKey: a public client is no application');
  }
}

/** Finds errors that would otherwise surface with the first request. No issue quotes a secret. */
function checkValues(
  { value = '', clientKey }: CredentialOptions,
  path: readonly (string | number)[],
  report: OptionReport,
): void {
  if (!/^[\x20-\x7e]*$/.test(value) && !report.isUnread(...path, 'value'))
    report.add([...path, 'value'], 'must be one line of ASCII characters, as a header is');
  if (clientKey === undefined || report.isUnread(...path, 'clientKey')) return;
  const { privateKey, algorithm = 'ES256' } = clientKey;
  if (!isKeyFor(privateKey, algorithm))
    report.add(
      [...path, 'clientKey', 'privateKey'],
      `must be a private key as PKCS #8 PEM (BEGIN PRIVATE KEY) that signs with ${algorithm}`,
    );
}

function isKeyFor(pem: string, algorithm: (typeof ALGORITHMS)[number]): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
    const curve = asymmetricKeyDetails?.namedCurve;
    const kind = { ES256: 'prime256v1', ES384: 'secp384r1', EdDSA: 'ed25519', RS256: 'rsa', PS256: 'rsa' };
    return /-----BEGIN PRIVATE KEY-----/.test(pem) && [curve, asymmetricKeyType].includes(kind[algorithm]);
  } catch {
    return false;
  }
}

function toDefinition(options: CredentialOptions): CredentialDefinition {
  const { as, name = 'authorization', value = '', scopes = null, clientId } = options;
  const client = clientId === undefined ? null : clientOf(options, clientId);
  const known = client ?? clientOf(options, '');
  switch (as) {
    case 'none':
      return { as };
    case 'header':
      return { as, name: name.toLowerCase(), value };
    case 'user':
      return { as, client, scopes };
    case 'application':
      return { as, client: known, scopes };
    case 'exchange': {
      const { tokenEndpoint = null, audience = null, subject = 'user' } = options;
      return { as, client: known, scopes, tokenEndpoint, audience, subject };
    }
    case 'enterprise': {
      const { tokenEndpoint = '', clientId: id = '', clientSecret = null } = options.identityProvider ?? {};
      return { as, client: known, scopes, identityProvider: { tokenEndpoint, clientId: id, clientSecret } };
    }
  }
}

function clientOf({ clientSecret, clientKey }: CredentialOptions, clientId: string): BackendClient {
  return { clientId, secret: clientSecret ?? null, key: clientKey ?? null };
}
