/** Every page and form of the console. The first route that matches a path serves it. */
import { appActions } from './apps/actions.ts';
import { appPage } from './apps/app.ts';
import { appListPage } from './apps/list.ts';
import { connectionRoutes } from './connections/connection.ts';
import { overviewRoutes } from './overview/overview.ts';
import type { ConsoleRoute } from './page.ts';
import { userActions } from './users/actions.ts';
import { inviteRoutes } from './users/invite.ts';
import { userRoutes } from './users/list.ts';
import { userPage } from './users/user.ts';

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...userRoutes,
  ...inviteRoutes,
  userPage,
  ...userActions,
  appListPage,
  appPage,
  ...appActions,
  ...connectionRoutes,
];
