/** What an endpoint of the API is: its schemas validate requests, give handlers their types, and make the OpenAPI document. */
import * as z from 'zod';
import type { Administration, AdminRequest } from '../operations/administration.ts';
import type { ADMIN_READ, ADMIN_WRITE } from '../settings.ts';
import type { TagName } from './tags.ts';

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

/** What every endpoint says of itself. */
interface EndpointAbout {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the path of the API, with parameters such as `{userId}`. */
  readonly path: string;
  /** The `operationId`. */
  readonly id: string;
  readonly tag: TagName;
  readonly summary: string;
  readonly description?: string;
  readonly scope: typeof ADMIN_READ | typeof ADMIN_WRITE;
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
  /** What a change is conditional on (`If-Match`): the representation whose `ETag` a client has read. */
  current?(admin: Administration, params: z.output<z.ZodObject<P>>): Promise<unknown>;
}

/** An endpoint as the router runs it. */
export interface Endpoint extends EndpointAbout {
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  /** `null`: it takes none. */
  readonly body: z.ZodObject | null;
  readonly response: z.ZodType;
  handle(request: EndpointRequest<unknown, unknown, unknown>): Promise<unknown>;
  /** `null`: changes are unconditional. */
  readonly current: ((admin: Administration, params: unknown) => Promise<unknown>) | null;
}

const reason = () => z.string().max(500).optional().describe('why, for the audit log');

/** Declares an endpoint. Unknown members are refused everywhere; those that change something take a `reason`. */
export function defineEndpoint<
  R extends z.ZodType,
  P extends Shape = Record<never, never>,
  Q extends Shape = Record<never, never>,
  B extends Shape = Record<never, never>,
>(definition: EndpointDefinition<P, Q, B, R>): Endpoint {
  const { params = {}, query = {}, body, current, handle, ...about } = definition;
  const takesBody = about.method === 'POST' || about.method === 'PATCH';
  const isChange = about.method !== 'GET' && about.scope === 'admin:write';
  return {
    ...about,
    params: z.strictObject(params),
    query: z.strictObject(isChange && !takesBody ? { ...query, reason: reason() } : query),
    body: takesBody ? z.strictObject(isChange ? { ...body, reason: reason() } : { ...body }) : null,
    handle: (request) => handle(request as Parameters<typeof handle>[0]),
    current:
      current === undefined ? null : (admin, given) => current(admin, given as Parameters<typeof current>[1]),
  };
}
