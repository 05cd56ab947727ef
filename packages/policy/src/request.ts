/** What the evaluator decides about: a caller, an operation, and the circumstances of its request. */
import type { McpOperation, Scopes } from '@portcullis/protocol';
import type { AccessSubject } from './access-condition.ts';
import type { CallArguments } from './call-arguments.ts';

/** The user and client of a verified token. A principal of the guard is one. */
export interface AccessPrincipal extends AccessSubject {
  readonly subject: string;
  readonly scopes: Scopes;
}

/** The hints of a tool, as its server declares them. */
export interface ToolAnnotations {
  readonly readOnly: boolean;
  readonly destructive: boolean;
}

/** An operation, and what is known about it. */
export interface AccessRequest {
  /** `null`: without a token. */
  readonly principal: AccessPrincipal | null;
  readonly operation: McpOperation;
  /** The path of the server. */
  readonly server: string;
  /** `null`: not known, or not an operation of a tool. */
  readonly annotations: ToolAnnotations | null;
  /**
   * The arguments of the call. `later`: they have not arrived. A condition that reads them counts as met, so that the decision is
   * preliminary: it may only refuse early, and never allow a call.
   */
  readonly arguments: CallArguments | 'later';
  /** Epoch seconds. */
  readonly now: number;
  /** The client's network address; empty: not known. */
  readonly network: string;
}

/** How and when the user signed in, and whether the token is bound to a key or certificate, by the claims of the token. */
export interface TokenAuthentication {
  /** Authentication context class; empty: not known. */
  readonly acr: string;
  readonly amr: readonly string[];
  /** Epoch seconds; 0: not known. */
  readonly authTime: number;
  /** Bound to a key or a certificate of the client. */
  readonly senderConstrained: boolean;
  /** Bound to a key. @see RFC 9449 §6 */
  readonly dpop: boolean;
}

/** @see RFC 9068 §2.2.1, RFC 7800 §3.1 */
export function readAuthentication({ claims }: Pick<AccessPrincipal, 'claims'>): TokenAuthentication {
  const { acr, amr, auth_time: authTime, cnf } = claims;
  return {
    acr: typeof acr === 'string' ? acr : '',
    amr: Array.isArray(amr) ? amr.filter((method) => typeof method === 'string') : [],
    authTime: typeof authTime === 'number' ? authTime : 0,
    senderConstrained: Object.keys(Object(cnf)).length > 0,
    dpop: typeof Object(cnf).jkt === 'string',
  };
}
