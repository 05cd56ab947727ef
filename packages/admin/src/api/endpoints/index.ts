/** All endpoints of the API, in the order of its document. */
import type { Endpoint } from '../endpoint.ts';
import { approvalEndpoints } from './approvals.ts';
import { clientEndpoints } from './clients.ts';
import { deliveryEndpoints } from './deliveries.ts';
import { eventEndpoints } from './events.ts';
import { grantEndpoints } from './grants.ts';
import { keyEndpoints } from './keys.ts';
import { policyEndpoints } from './policy.ts';
import { provisioningEndpoints } from './provisioning.ts';
import { serverEndpoints } from './servers.ts';
import { statisticsEndpoints } from './statistics.ts';
import { streamEndpoints } from './streams.ts';
import { userEndpoints } from './users.ts';

export const endpoints: readonly Endpoint[] = [
  ...userEndpoints,
  ...provisioningEndpoints,
  ...clientEndpoints,
  ...grantEndpoints,
  ...approvalEndpoints,
  ...serverEndpoints,
  ...policyEndpoints,
  ...keyEndpoints,
  ...streamEndpoints,
  ...eventEndpoints,
  ...statisticsEndpoints,
  ...deliveryEndpoints,
];
