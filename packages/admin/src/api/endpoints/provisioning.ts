/** `/scim-tokens`: tokens with which identity providers provision users and groups. */
import type { ListedProvisioningToken } from '@portcullis/authorization-server';
import * as z from 'zod';
import { createProvisioningToken, revokeProvisioningToken } from '../../operations/provisioning-tokens.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { isoTime, timeSchema } from '../schemas.ts';

const token = {
  id: z.string(),
  identityProvider: z.string(),
  note: z.string(),
  createdAt: timeSchema(),
  expiresAt: timeSchema(),
};

function tokenJson({ id, identityProvider, note, createdAt, expiresAt }: ListedProvisioningToken) {
  return { id, identityProvider, note, createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
}

const DAY = 86_400;

export const provisioningEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    method: 'GET',
    path: '/scim-tokens',
    id: 'listScimTokens',
    tag: 'Users',
    summary: 'List the tokens of provisioning connections that have not expired',
    scope: 'admin:read',
    response: z
      .object({ items: z.array(z.object(token).meta({ id: 'ScimToken' })) })
      .meta({ id: 'ScimTokenList' }),
    handle: async ({ admin }) => ({ items: (await admin.provisioningTokens.list()).map(tokenJson) }),
  }),
  defineEndpoint({
    method: 'POST',
    path: '/scim-tokens',
    id: 'createScimToken',
    tag: 'Users',
    summary: 'Create the token of a provisioning connection; it is shown only once',
    scope: 'admin:write',
    status: 201,
    body: {
      identityProvider: z.string().max(200).describe('its identifier in the configuration'),
      note: z.string().max(200).default(''),
      seconds: z
        .int()
        .min(DAY)
        .max(999 * DAY)
        .default(180 * DAY)
        .describe('until it expires'),
    },
    response: z
      .object({ ...token, token: z.string(), endpoint: z.string().describe('URL of the SCIM endpoint') })
      .meta({ id: 'NewScimToken' }),
    async handle({ body, ...task }) {
      const created = await createProvisioningToken(task, body);
      const endpoint = `${new URL(task.admin.issuer).origin}/scim/v2`;
      return { ...tokenJson(created), token: created.token, endpoint };
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/scim-tokens/{tokenId}',
    id: 'revokeScimToken',
    tag: 'Users',
    summary: 'Revoke a token of a provisioning connection immediately',
    scope: 'admin:write',
    params: { tokenId: z.string().min(1).max(100) },
    response: z.object({ id: z.string() }).meta({ id: 'RevokedScimToken' }),
    async handle({ params: { tokenId }, ...task }) {
      await revokeProvisioningToken(task, tokenId);
      return { id: tokenId };
    },
  }),
];
