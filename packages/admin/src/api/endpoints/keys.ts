/** `/keys` and `/initial-access-tokens`. */
import type { ListedInitialAccessToken, ListedKey } from '@portcullis/authorization-server';
import * as z from 'zod';
import {
  createInitialAccessToken,
  revokeInitialAccessToken,
} from '../../operations/initial-access-tokens.ts';
import { rotateKey } from '../../operations/keys.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { pageOf, pageQuery, readPage } from '../pages.ts';
import { isoTime, timeSchema } from '../schemas.ts';

const keySchema = z
  .object({
    id: z.string().describe('the `kid`'),
    algorithm: z.string(),
    state: z.enum(['next', 'signing', 'past', 'retired']),
    createdAt: timeSchema(),
    signsFrom: timeSchema(),
    canDecrypt: z.boolean().describe('whether the master key decrypts it'),
  })
  .meta({ id: 'SigningKey' });

const keyList = z.object({ items: z.array(keySchema) }).meta({ id: 'SigningKeyList' });

function keysJson(keys: readonly ListedKey[]) {
  const items = keys.map(({ createdAt, signsFrom, ...key }) => ({
    ...key,
    createdAt: isoTime(createdAt),
    signsFrom: isoTime(signsFrom),
  }));
  return { items };
}

const token = {
  id: z.string(),
  note: z.string(),
  createdAt: timeSchema(),
  expiresAt: timeSchema(),
  clientId: z.string().nullable().describe('the client that registered with it; null: it is unused'),
};

const tokenSchema = z.object(token).meta({ id: 'InitialAccessToken' });

function tokenJson({ id, note, createdAt, expiresAt, clientId }: ListedInitialAccessToken) {
  return { id, note, createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt), clientId };
}

export const keyEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    method: 'GET',
    path: '/keys',
    id: 'listKeys',
    tag: 'Keys',
    summary: 'List the signing keys, newest first',
    scope: 'admin:read',
    response: keyList,
    handle: async ({ admin }) => keysJson(await admin.keys.list()),
  }),
  defineEndpoint({
    method: 'POST',
    path: '/keys/rotate',
    id: 'rotateKey',
    tag: 'Keys',
    summary: 'Create a new signing key, which all processes use within half a minute',
    scope: 'admin:write',
    body: {
      replacement: z
        .enum(['in-time', 'at-once', 'compromised'])
        .default('in-time')
        .describe('`at-once`: it signs immediately; `compromised`: all other keys are revoked as well'),
    },
    response: keyList,
    handle: async ({ body, ...task }) => keysJson(await rotateKey(task, body.replacement)),
  }),
  defineEndpoint({
    method: 'GET',
    path: '/initial-access-tokens',
    id: 'listInitialAccessTokens',
    tag: 'Clients',
    summary: 'List initial access tokens that have not expired',
    scope: 'admin:read',
    query: pageQuery,
    response: pageOf(tokenSchema, 'InitialAccessTokenPage'),
    async handle({ admin, query }) {
      const { items, next } = await readPage(query, admin.initialAccessTokens.list, ({ id }) => id);
      return { items: items.map(tokenJson), next };
    },
  }),
  defineEndpoint({
    method: 'POST',
    path: '/initial-access-tokens',
    id: 'createInitialAccessToken',
    tag: 'Clients',
    summary: 'Create a token with which one client registers; it is shown only once',
    scope: 'admin:write',
    status: 201,
    body: {
      note: z.string().max(200).optional(),
      seconds: z.int().min(60).max(86_313_600).optional().describe('until it expires; a week by default'),
    },
    response: z.object({ ...token, token: z.string() }).meta({ id: 'NewInitialAccessToken' }),
    async handle({ body, ...task }) {
      const created = await createInitialAccessToken(task, body);
      return { ...tokenJson(created), token: created.token };
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/initial-access-tokens/{tokenId}',
    id: 'revokeInitialAccessToken',
    tag: 'Clients',
    summary: 'Revoke an unused initial access token',
    scope: 'admin:write',
    params: { tokenId: z.string().min(1).max(100) },
    response: z.object({ id: z.string() }).meta({ id: 'Revoked' }),
    async handle({ params: { tokenId }, ...task }) {
      await revokeInitialAccessToken(task, tokenId);
      return { id: tokenId };
    },
  }),
];
