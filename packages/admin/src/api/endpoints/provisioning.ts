/** `/scim-tokens`: tokens with which identity providers provision users and groups. */
import * as z from 'zod';
import { createProvisioningToken, revokeProvisioningToken } from '../../operations/provisioning-tokens.ts';
import { timeSchema } from '../../operations/time-schema.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { listOf } from '../pages.ts';

const token = {
  id: z.string(),
  identityProvider: z.string(),
  note: z.string(),
  createdAt: timeSchema(),
  expiresAt: timeSchema(),
};

const DAY = 86_400;

export const provisioningEndpoints: readonly Endpoint[] = [
  defineEndpoint('Users', 'GET /scim-tokens', {
    id: 'listScimTokens',
    summary: 'List the tokens of provisioning connections that have not expired',
    response: listOf(z.object(token).meta({ id: 'ScimToken' }), 'ScimTokenList'),
    handle: async ({ admin }) => ({ items: await admin.provisioningTokens.list() }),
  }),
  defineEndpoint('Users', 'POST /scim-tokens', {
    id: 'createScimToken',
    summary: 'Create the token of a provisioning connection; it is shown only once',
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
      return { ...created, endpoint: `${new URL(task.admin.issuer).origin}/scim/v2` };
    },
  }),
  defineEndpoint('Users', 'DELETE /scim-tokens/{tokenId}', {
    id: 'revokeScimToken',
    summary: 'Revoke a token of a provisioning connection immediately',
    params: { tokenId: z.string().min(1).max(100) },
    response: z.object({ id: z.string() }).meta({ id: 'RevokedScimToken' }),
    async handle({ params: { tokenId }, ...task }) {
      await revokeProvisioningToken(task, tokenId);
      return { id: tokenId };
    },
  }),
];
