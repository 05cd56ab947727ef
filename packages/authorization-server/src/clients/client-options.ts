/** Options of pre-registered clients: RFC 7591 metadata with `client_id` and `client_secret`. */
import { OAuthError, type RedirectPolicy, readScopes } from '@portcullis/protocol';
import * as z from 'zod';
import {
  lazy,
  list,
  type OutputOf,
  optional,
  optionMeta,
  record,
  secret,
  text,
} from '../option-schema/fields.ts';
import type { OptionReport } from '../option-schema/reader.ts';
import type { ConfiguredClient } from './client.ts';
import { readConfiguredClient } from './configured-clients.ts';

const url = (description: string) => optional(text('a URL'), description);

/** Client metadata as configured. @see RFC 7591 §2 */
export const clientSchema = lazy(() =>
  z.strictObject({
    client_id: text().describe('client identifier'),
    client_secret: optional(secret(), 'client secret', 'none: a public client'),
    previous_client_secret: optional(
      secret(),
      'client secret before a rotation, accepted beside `client_secret` until you remove it',
    ),
    client_name: optional(text(), 'display name', 'its identifier'),
    redirect_uris: optional(list(text('a URI')), 'redirect URIs'),
    grant_types: optional(
      list(text()),
      '`authorization_code`, `refresh_token`, `client_credentials`, …; `[]` for a client that only introspects',
      '`authorization_code`',
    ),
    response_types: optional(list(text()), '`code`', 'what the grant types need'),
    scope: optional(
      text('a string of scopes'),
      'maximum scope, separated by spaces',
      'no limit where a user consents, no scope with `client_credentials`',
    ),
    token_endpoint_auth_method: optional(
      text(),
      '`client_secret_basic`, `client_secret_post`, `private_key_jwt` or `none`',
      '`client_secret_basic` with a secret, else `none`',
    ),
    token_endpoint_auth_signing_alg: optional(text(), 'the only algorithm of its assertions', 'any'),
    application_type: optional(
      z.enum(['web', 'native']),
      'kind of application',
      'what its redirect URIs say',
    ),
    jwks: optional(
      record(z.custom<unknown>(() => true).register(optionMeta, { kind: 'any value' }), 'an object'),
      'public keys',
    ),
    jwks_uri: url('URL of its public keys'),
    client_uri: url('home page'),
    logo_uri: url('logo: PNG, JPEG or WebP of at most 64 KiB, which this server fetches and shows'),
    tos_uri: url('terms of service'),
    policy_uri: url('privacy policy'),
    contacts: optional(list(text()), 'contacts'),
    software_id: optional(text(), 'identifier of the software'),
    software_version: optional(text(), 'version of the software'),
    require_pushed_authorization_requests: optional(
      z.boolean(),
      'whether its authorization requests must be pushed (RFC 9126)',
      'false',
    ),
    require_signed_request_object: optional(
      z.boolean(),
      'whether its authorization requests must be signed (RFC 9101)',
      'false',
    ),
    request_object_signing_alg: optional(text(), 'the only algorithm of its signed requests', 'any'),
    dpop_bound_access_tokens: optional(z.boolean(), 'whether it gets DPoP-bound tokens only', 'false'),
  }),
);

export type ClientDefinition = OutputOf<typeof clientSchema>;

/**
 * Validates pre-registered clients.
 * @param scopes of all resources; `null`: not known
 */
export function validateClients(
  definitions: readonly ClientDefinition[],
  redirects: RedirectPolicy,
  scopes: ReadonlySet<string> | null,
  report: OptionReport,
): ReadonlyMap<string, ConfiguredClient> {
  const clients = new Map<string, ConfiguredClient>();
  for (const [index, definition] of definitions.entries()) {
    if (definition === undefined) continue;
    const path = ['clients', String(index)];
    const client = readClient(definition, redirects, path, report);
    if (client === null) continue;
    if (clients.has(client.id)) report.add([...path, 'client_id'], `duplicate client ${client.id}`);
    for (const scope of readScopes(client.metadata.scope ?? '')) {
      if (scopes?.has(scope) !== false) continue;
      report.add([...path, 'scope'], `unknown scope ${JSON.stringify(scope)}; no resource defines it`);
    }
    clients.set(client.id, client);
  }
  return clients;
}

/** Reads a client again without each member that is refused, so that every issue is reported. */
function readClient(
  definition: object,
  redirects: RedirectPolicy,
  path: readonly string[],
  report: OptionReport,
): ConfiguredClient | null {
  let rest = definition;
  for (;;) {
    try {
      return readConfiguredClient(rest, redirects);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const issues = error.description.split(/; (?=[a-z]+_|scope|jwks|contacts)/).map(splitMember);
      const members = issues.map(({ member }) => member?.split('.')[0] ?? '');
      // Response types follow from grant types.
      if (members.includes('grant_types')) members.push('response_types');
      const remaining = Object.entries(rest).filter(([name]) => !members.includes(name));
      const isPruned = remaining.length < Object.keys(rest).length;
      // An issue of a missing member may follow from one that was removed.
      for (const { member, message } of rest === definition || isPruned ? issues : []) {
        const at = [...path, ...(member?.split('.') ?? [])];
        if (!report.isUnread(...at)) report.add(at, message);
      }
      if (!isPruned) return null;
      rest = Object.fromEntries(remaining);
    }
  }
}

const MEMBER = /^([a-z]+_[a-z_]+(?:\.\d+)?|scope|jwks|contacts):? (.*)$/s;

/** `redirect_uris.0: must not …` */
function splitMember(sentence: string): { readonly member: string | null; readonly message: string } {
  const [, member = null, message = sentence] = MEMBER.exec(sentence) ?? [];
  return { member, message };
}
