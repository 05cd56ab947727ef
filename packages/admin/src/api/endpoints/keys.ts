/** `/keys` and `/initial-access-tokens`. */
import * as z from 'zod';
import {
  createInitialAccessToken,
  revokeInitialAccessToken,
} from '../../operations/initial-access-tokens.ts';
import { rotateKey } from '../../operations/keys.ts';
import { timeSchema } from '../../operations/time-schema.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf, pageOf, pageQuery, readPage } from '../pages.ts';

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

const keyList = listOf(keySchema, 'SigningKeyList');

const token = {
  id: z.string(),
  note: z.string(),
  createdAt: timeSchema(),
  expiresAt: timeSchema(),
  clientId: z.string().nullable().describe('the client that registered with it; null: it is unused'),
};

const tokenSchema = z.object(token).meta({ id: 'InitialAccessToken' });

export const keyEndpoints: readonly Endpoint[] = [
  defineEndpoint('Keys', 'GET /keys', {
    id: 'listKeys',
    summary: 'List the signing keys, newest first',
    response: keyList,
    handle: async ({ admin }) => ({ items: await admin.keys.list() }),
  }),
  defineEndpoint('Keys', 'POST /keys/rotate', {
    id: 'rotateKey',
    summary: 'Create a new signing key, which all processes use within half a minute',
    body: {
      replacement: z
        .enum(['in-time', 'at-once', 'compromised'])
        .default('in-time')
        .describe('`at-once`: it signs immediately; `compromised`: all other keys are revoked as well'),
    },
    response: keyList,
    handle: async ({ body, ...task }) => ({ items: await rotateKey(task, body.replacement) }),
  }),
  defineEndpoint('Clients', 'GET /initial-access-tokens', {
    id: 'listInitialAccessTokens',
    summary: 'List initial access tokens that have not expired',
    query: pageQuery,
    response: pageOf(tokenSchema, 'InitialAccessTokenPage'),
    handle: ({ admin, query }) =>
      readPage(
        query,
        admin.initialAccessTokens.list,
        ({ id }) => id,
        (one) => one,
      ),
  }),
  defineEndpoint('Clients', 'POST /initial-access-tokens', {
    id: 'createInitialAccessToken',
    summary: 'Create a token with which one client registers; it is shown only once',
    status: 201,
    body: {
      note: z.string().max(200).optional(),
      seconds: z.int().min(60).max(86_313_600).optional().describe('until it expires; a week by default'),
    },
    response: z.object({ ...token, token: z.string() }).meta({ id: 'NewInitialAccessToken' }),
    handle: ({ body, ...task }) => createInitialAccessToken(task, body),
  }),
  defineEndpoint('Clients', 'DELETE /initial-access-tokens/{tokenId}', {
    id: 'revokeInitialAccessToken',
    summary: 'Revoke an unused initial access token',
    params: { tokenId: z.string().min(1).max(100) },
    response: z.object({ id: z.string() }).meta({ id: 'Revoked' }),
    async handle({ params: { tokenId }, ...task }) {
      await revokeInitialAccessToken(task, tokenId);
      return { id: tokenId };
    },
  }),
];
