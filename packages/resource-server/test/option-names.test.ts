/** Names that no option of a guard has, as programs without a compiler write them: refused, whatever they hold. */
import { describe, expect, it } from 'vitest';
import * as express from '../src/adapters/express.ts';
import * as fastify from '../src/adapters/fastify.ts';
import * as hono from '../src/adapters/hono.ts';
import * as koa from '../src/adapters/koa.ts';
import { ConfigurationError, createGuard, introspectionVerifier, jwtVerifier } from '../src/index.ts';
import { createUpstreamTokens } from '../src/upstream/upstream-tokens.ts';

type Options = Readonly<Record<string, unknown>>;

function issuesOf(make: () => unknown): readonly string[] {
  try {
    make();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.issues;
  }
}

const jwt = { issuer: 'https://issuer.example', keys: { maxAge: 60 } };
const asking = {
  ...{ issuer: 'https://issuer.example', endpoint: 'https://issuer.example/introspect' },
  ...{ clientId: 'guard', clientSecret: 'secret' },
};
const verifier = jwtVerifier(jwt);
const one = { resource: 'https://mcp.example/notes', scopes: ['read'], verifier };
const whole = {
  ...one,
  ...{ dpop: { window: 60, nonces: { secret: new Uint8Array(32) } }, certificates: { from: 'tls' } },
  ...{ streams: { grace: 1 }, clockTolerance: 1 },
};
const several = { resources: [one, { ...one, resource: 'https://mcp.example/files' }], clockTolerance: 1 };
const guard = createGuard(one);

/** Valid options, additional members, and the issues of these. */
const rows: readonly (readonly [string, (options: Options) => unknown, Options, Options, readonly string[]])[] = [
  ['a guard', createGuard as never, whole, { scope: ['write'], hierachy: {} }, ['scope: unknown option; did you mean scopes?', 'hierachy: unknown option; did you mean hierarchy?']],
  ['DPoP', createGuard as never, whole, { dpop: { require: true } }, ['dpop.require: unknown option; did you mean required?']],
  ['DPoP nonces', createGuard as never, whole, { dpop: { nonces: { secret: new Uint8Array(32), lifetme: 1 } } }, ['dpop.nonces.lifetme: unknown option; did you mean lifetime?']],
  ['certificates', createGuard as never, whole, { certificates: { from: 'tls', form: 'field' } }, ['certificates.form: unknown option; did you mean from?']],
  ['streams', createGuard as never, whole, { streams: { evry: 1 } }, ['streams.evry: unknown option; did you mean every?']],
  ['one of several resources', createGuard as never, several, { resources: [one, { ...one, resource: 'https://mcp.example/files', scop: [] }] }, ['resources.1.scop: unknown option; did you mean scopes?']],
  ['several resources, and scopes of none of them', createGuard as never, several, { scopes: ['admin'] }, [expect.stringMatching(/^scopes: unknown option; /)] as never],
  ['JWTs', jwtVerifier as never, jwt, { isLve: () => true }, ['isLve: unknown option; did you mean isLive?']],
  ['the keys of JWTs', jwtVerifier as never, jwt, { keys: { maxage: 1, coolDown: 2, age: 3 } }, ['keys.maxage: unknown option; did you mean maxAge?', 'keys.coolDown: unknown option; did you mean cooldown?', 'keys.age: unknown option; expected one of maxAge, staleIfError, cooldown, retryAfter']],
  ['introspection', introspectionVerifier as never, asking, { fresh: 1, freshnes: 2 }, [expect.stringMatching(/^fresh: unknown option; /), 'freshnes: unknown option; did you mean freshness?'] as never],
  ['tokens of third parties', createUpstreamTokens as never, { issuer: 'https://issuer.example', clientId: 'guard', clientSecret: 'secret' }, { freshnes: 1 }, ['freshnes: unknown option; did you mean freshness?']],
  ['a route of Express', ((options: object) => express.protect(guard, options)) as never, { scopes: ['write'] }, { scope: ['write'] }, ['scope: unknown option; did you mean scopes?']],
  ['a route of Fastify', ((options: object) => fastify.protect(guard, options)) as never, { scopes: ['write'] }, { scope: ['write'] }, ['scope: unknown option; did you mean scopes?']],
  ['a route of Koa', ((options: object) => koa.protect(guard, options)) as never, { scopes: ['write'] }, { scope: ['write'] }, ['scope: unknown option; did you mean scopes?']],
  ['a route of Hono', ((options: object) => hono.protect(guard, options)) as never, { scopes: ['write'] }, { scope: ['write'] }, ['scope: unknown option; did you mean scopes?']],
  ['a handler of Hono', ((options: object) => hono.guarded(guard, () => new Response(), options)) as never, { scopes: ['write'] }, { scope: ['write'] }, ['scope: unknown option; did you mean scopes?']],
]; // biome-ignore format: a table

describe('unknown option names', () => {
  it.each(rows)('rejects unknown option names: %s', (_what, make, good, wrong, issues) => {
    expect(issuesOf(() => make(good))).toEqual([]);
    expect(issuesOf(() => make({ ...good, ...wrong }))).toEqual(issues);
  });
});
