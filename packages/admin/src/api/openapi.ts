/** The OpenAPI 3.1 document of the API, made of the schemas that validate its requests. @see OpenAPI Specification 3.1.1 */
import * as z from 'zod';
import { ADMIN_READ, ADMIN_WRITE, API_PATH } from '../settings.ts';
import { type Endpoint, TAGS } from './endpoint.ts';
import { problemSchema } from './problem.ts';

type Json = Readonly<Record<string, unknown>>;

const DESCRIPTION =
  'Administration of a Portcullis installation. Each request has an access token for this resource, of an account with the role `operator` or `viewer`, or of a client that has one. Lists have keyset pages; errors are problem details (RFC 9457); unknown members are refused.';

/** @param issuer where access tokens are issued */
export function createOpenApi(endpoints: readonly Endpoint[], issuer: string, version: string): Json {
  const components = createComponents();
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoint of endpoints) {
    const { path, method } = endpoint;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(endpoint, components.refer) };
  }
  components.refer(problemSchema);
  const tags = Object.entries(TAGS).map(([name, description]) => ({ name, description }));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Portcullis admin API',
      version,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${new URL(issuer).origin}${API_PATH}` }],
    security: [{ oauth: [ADMIN_READ] }],
    tags,
    paths,
    components: { schemas: components.schemas, securitySchemes: { oauth: securityScheme(issuer) } },
  };
}

function securityScheme(issuer: string): Json {
  const { origin } = new URL(issuer);
  const scopes = {
    [ADMIN_READ]: 'See everything that is administered',
    [ADMIN_WRITE]: 'Change it, too',
  };
  const tokenUrl = `${origin}/token`;
  return {
    type: 'oauth2',
    flows: {
      authorizationCode: { authorizationUrl: `${origin}/authorize`, tokenUrl, refreshUrl: tokenUrl, scopes },
      clientCredentials: { tokenUrl, scopes },
    },
  };
}

type Refer = (schema: z.ZodType) => Json;

/** Schemas with an `id` become components, wherever they are used, in the dialect of OpenAPI 3.1 (JSON Schema 2020-12). */
function createComponents(): { readonly schemas: Record<string, Json>; readonly refer: Refer } {
  const schemas: Record<string, Json> = {};
  const refer: Refer = (schema) => {
    const { $schema: _dialect, $defs = {}, ...document } = z.toJSONSchema(schema, { reused: 'inline' });
    for (const [id, definition] of Object.entries($defs)) schemas[id] = relocate(definition);
    const id = schema.meta()?.id;
    return id === undefined ? relocate(document) : { $ref: `#/components/schemas/${id}` };
  };
  return { schemas, refer };
}

/** References to `$defs` become references to components. */
function relocate(schema: object): Json {
  return JSON.parse(
    JSON.stringify(schema, (name, value: unknown) => {
      if (name === '$ref') return String(value).replace('#/$defs/', '#/components/schemas/');
      return name === 'id' && typeof value === 'string' ? undefined : value;
    }),
  );
}

function describe(endpoint: Endpoint, refer: Refer): Json {
  const { id, tag, summary, description, scope, body, status = 200, isStream } = endpoint;
  const media = isStream === true ? 'text/event-stream' : 'application/json';
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: [{ oauth: [scope] }],
    parameters: [
      ...parametersOf('path', endpoint.params),
      ...parametersOf('query', endpoint.query),
      ...headersOf(endpoint),
    ],
    ...(body !== null && {
      // A body without required members may be left out.
      requestBody: {
        required: inputOf(body)['required'] !== undefined,
        content: { 'application/json': { schema: inputOf(body) } },
      },
    }),
    responses: {
      [status]: { description: summary, content: { [media]: { schema: refer(endpoint.response) } } },
      ...errorsOf(endpoint),
    },
  };
}

function inputOf(schema: z.ZodType): Json {
  const { $schema: _dialect, ...document } = z.toJSONSchema(schema, { io: 'input' });
  return document;
}

/** A coerced number accepts anything as its input: the schema of a parameter is that of its output. */
function parametersOf(location: 'path' | 'query', schema: z.ZodObject): readonly Json[] {
  const { properties = {} } = z.toJSONSchema(schema) as {
    readonly properties?: Readonly<Record<string, Json>>;
  };
  const required = (inputOf(schema)['required'] ?? []) as readonly string[];
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: location,
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema: rest,
  }));
}

function headersOf({ method, current }: Endpoint): readonly Json[] {
  if (method === 'GET') return [];
  const header = (name: string, description: string) => ({
    ...{ name, in: 'header', description },
    schema: { type: 'string' },
  });
  const key = header('Idempotency-Key', 'the change is made once for each key of a caller');
  if (current === null) return [key];
  return [key, header('If-Match', '`ETag` of what the change is about, as it was read')];
}

/** Errors by status, and which endpoints have them; all by default. */
const ERRORS: readonly (readonly [status: number, about: string, has?: (endpoint: Endpoint) => boolean])[] = [
  [400, 'the request is not as described here'],
  [401, 'a valid access token is needed, or a sign-in with two factors'],
  [403, 'the token or the role lacks the scope'],
  [404, 'there is no such thing', ({ params }) => Object.keys(params.shape).length > 0],
  [409, 'the state does not allow it', ({ method }) => method !== 'GET'],
  [412, 'it has changed since it was read', ({ current }) => current !== null],
  [503, 'the database is not available'],
];

function errorsOf(endpoint: Endpoint): Json {
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
  return Object.fromEntries(
    ERRORS.filter(([, , has]) => has?.(endpoint) ?? true).map(([status, description]) => [
      status,
      { description, ...(status !== 401 && { content }) },
    ]),
  );
}
