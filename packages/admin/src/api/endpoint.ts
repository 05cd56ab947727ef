/** What an endpoint of the API is: its schemas validate requests, give handlers their types, and make the OpenAPI document. */
import * as z from 'zod';
import type { AdminRequest } from '../operations/administration.ts';
import { ADMIN_READ, ADMIN_WRITE } from '../settings.ts';

/** The groups of endpoints in the OpenAPI document, in its order, with what they are about. */
export const TAGS = {
  Users: 'Accounts, with their sessions, second factors and groups',
  Clients: 'Registered, added and configured clients, and tokens with which clients register',
  Grants: 'What users allowed apps',
  Approvals: 'Calls that wait for a decision',
  Servers: 'Servers behind the gateway, and the review of their tools',
  Policy: 'What the rules of servers decide, and why',
  Keys: 'Keys that sign access tokens',
  Installation: 'Settings in effect',
  Events: 'The audit log',
} as const;

type TagName = keyof typeof TAGS;

type Shape = Readonly<Record<string, z.ZodType>>;

/** A validated request. */
interface EndpointRequest<P, Q, B> extends AdminRequest {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly signal: AbortSignal;
  /** Whether the caller may go on, for a response that lasts. */
  isStillPermitted(): Promise<boolean>;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** What every endpoint says of itself. */
interface EndpointAbout {
  /** The `operationId`. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** 200 by default. */
  readonly status?: 200 | 201;
  /** Responds with server-sent events, each of the response's schema. */
  readonly isStream?: true;
}

/** What a handler may return of a type: its arrays may be readonly. */
type Returned<T> = T extends readonly (infer E)[]
  ? readonly Returned<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Returned<T[K]> }
    : T;

/** An endpoint as it is declared. */
interface EndpointDefinition<P extends Shape, Q extends Shape, B extends Shape, R extends z.ZodType>
  extends EndpointAbout {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly response: R;
  handle(
    request: EndpointRequest<z.output<z.ZodObject<P>>, z.output<z.ZodObject<Q>>, z.output<z.ZodObject<B>>>,
  ): Promise<Returned<z.input<R>> | Response>;
  /** By default, a GET request reads, and any other writes. */
  readonly scope?: Endpoint['scope'];
  /** Shows what a change is conditional on (`If-Match`), by the same parameters: the representation whose `ETag` a client has read. */
  readonly current?: Endpoint;
}

/** An endpoint as the router runs it. */
export interface Endpoint extends EndpointAbout {
  readonly method: Method;
  /** Below the path of the API, with parameters such as `{userId}`. */
  readonly path: string;
  readonly tag: TagName;
  readonly scope: typeof ADMIN_READ | typeof ADMIN_WRITE;
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  /** `null`: it takes none. */
  readonly body: z.ZodObject | null;
  /** Members that it does not list are never sent. */
  readonly response: z.ZodType;
  handle(request: EndpointRequest<unknown, unknown, unknown>): Promise<unknown>;
  /** `null`: changes are unconditional. */
  readonly current: Endpoint | null;
}

const reason = () => z.string().max(500).optional().describe('why, for the audit log');

/**
 * Declares an endpoint. Unknown members are refused everywhere; those that change something take a `reason`.
 * @param route `GET /users/{userId}`
 */
export function defineEndpoint<
  R extends z.ZodType,
  P extends Shape = Record<never, never>,
  Q extends Shape = Record<never, never>,
  B extends Shape = Record<never, never>,
>(tag: TagName, route: `${Method} /${string}`, definition: EndpointDefinition<P, Q, B, R>): Endpoint {
  const [method, path] = route.split(' ') as [Method, string];
  const { params = {}, query = {}, body, current = null, handle, ...about } = definition;
  const { scope = method === 'GET' ? ADMIN_READ : ADMIN_WRITE } = about;
  const takesBody = method === 'POST' || method === 'PATCH';
  const isChange = method !== 'GET' && scope === ADMIN_WRITE;
  return {
    ...about,
    ...{ method, path, tag, scope, current },
    params: z.strictObject(params),
    query: z.strictObject(isChange && !takesBody ? { ...query, reason: reason() } : query),
    body: takesBody ? z.strictObject(isChange ? { ...body, reason: reason() } : { ...body }) : null,
    handle: (request) => handle(request as Parameters<typeof handle>[0]),
  };
}
