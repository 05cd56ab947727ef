/** Every page and form of the console. The first route that matches a path serves it. */
import { activityRoutes } from './activity/activity.ts';
import { eventRoutes } from './activity/event.ts';
import { sequenceRoutes } from './activity/sequence.ts';
import { approvalRoutes } from './approvals/approvals.ts';
import { appActions } from './apps/actions.ts';
import { appPage } from './apps/app.ts';
import { appListPage } from './apps/list.ts';
import { connectionRoutes } from './connections/connection.ts';
import { findPage } from './find/find.ts';
import { overviewRoutes } from './overview/overview.ts';
import type { ConsoleRoute } from './page.ts';
import { policyPage } from './policy/policy.ts';
import { serverListPage } from './servers/list.ts';
import { reviewRoutes } from './servers/review.ts';
import { serverPage } from './servers/server.ts';
import { settingsActions } from './settings/actions.ts';
import { providerPage } from './settings/provider.ts';
import { scimTokenRoutes } from './settings/scim-tokens.ts';
import { settingsPage } from './settings/settings.ts';
import { providerSetupRoutes } from './setup/provider.ts';
import { serverSetupRoutes } from './setup/server.ts';
import { userActions } from './users/actions.ts';
import { groupRoutes } from './users/groups.ts';
import { inviteRoutes } from './users/invite.ts';
import { userRoutes } from './users/list.ts';
import { userPage } from './users/user.ts';

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  findPage,
  ...activityRoutes,
  ...eventRoutes,
  ...sequenceRoutes,
  ...userRoutes,
  ...inviteRoutes,
  userPage,
  ...userActions,
  ...groupRoutes,
  appListPage,
  appPage,
  ...appActions,
  ...connectionRoutes,
  serverListPage,
  serverPage,
  ...reviewRoutes,
  ...approvalRoutes,
  policyPage,
  settingsPage,
  providerPage,
  ...settingsActions,
  ...scimTokenRoutes,
  ...serverSetupRoutes,
  ...providerSetupRoutes,
];
