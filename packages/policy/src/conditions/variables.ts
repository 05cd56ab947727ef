/** The typed variables of conditions. A member that is not known is empty, 0 or the epoch, never missing; only arguments and claims can be. */
import { type AccessRequest, readAuthentication } from '../request.ts';

/** The members of each variable, by their types in CEL. */
export const VARIABLES = {
  user: {
    /** Whether there is a token. */
    authenticated: 'bool',
    id: 'string',
    email: 'string',
    name: 'string',
    groups: 'list<string>',
    claims: 'map<string, dyn>',
  },
  client: { id: 'string' },
  call: {
    /** The path of the server. */
    server: 'string',
    method: 'string',
    tool: 'string',
    prompt: 'string',
    resource: 'string',
    arguments: 'map<string, dyn>',
    annotations: { readOnlyHint: 'bool', destructiveHint: 'bool' },
  },
  request: {
    time: 'google.protobuf.Timestamp',
    network: 'string',
    acr: 'string',
    amr: 'list<string>',
    auth_time: 'google.protobuf.Timestamp',
    sender_constrained: 'bool',
  },
} as const;

/** The values of the variables for one request. */
export type VariableValues = { readonly [K in keyof typeof VARIABLES]: Readonly<Record<string, unknown>> };

/** @param givenArguments the parsed arguments, where a condition reads them */
export function readVariables(
  request: AccessRequest,
  givenArguments: Readonly<Record<string, unknown>>,
): VariableValues {
  const { principal, operation, server, annotations, now, network } = request;
  const claims = principal?.claims ?? {};
  const authentication = readAuthentication({ claims });
  return {
    user: {
      authenticated: principal !== null,
      id: principal?.subject ?? '',
      email: textOf(claims['email']),
      name: textOf(claims['name']),
      groups: principal?.groups ?? [],
      claims,
    },
    client: { id: principal?.clientId ?? '' },
    call: {
      server,
      method: operation.method,
      tool: operation.tool ?? '',
      prompt: operation.prompt ?? '',
      resource: operation.resource ?? '',
      arguments: givenArguments,
      annotations: {
        readOnlyHint: annotations?.readOnly ?? false,
        // As MCP says of a tool without hints.
        destructiveHint: annotations?.destructive ?? true,
      },
    },
    request: {
      time: new Date(now * 1000),
      network,
      acr: authentication.acr,
      amr: authentication.amr,
      auth_time: new Date(authentication.authTime * 1000),
      sender_constrained: authentication.senderConstrained,
    },
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
