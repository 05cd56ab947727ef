/** The schema of the status of an identity provider. */
import * as z from 'zod';

const time = () => z.string().nullable().describe('ISO 8601, in UTC; null: none found lately');
const state = (about: string) => z.enum(['reachable', 'unreachable', 'unused']).describe(about);

export const providerStatusSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    issuer: z.string(),
    protocol: z.enum(['openid', 'oauth']),
    metadata: state('its discovery document; `unused`: its endpoints are configured'),
    keys: state('its keys; `unused`: its metadata cannot be read, or it signs nothing'),
    error: z.string().nullable().describe('why it is unreachable'),
    lastSuccessAt: time(),
    lastFailureAt: time(),
    lastFailure: z.string().nullable().describe('why the last sign-in failed'),
  })
  .meta({ id: 'IdentityProviderStatus' });
