/** Every page and form of the console. */
import { overviewRoutes } from './overview/overview.ts';
import type { ConsoleRoute } from './page.ts';
import { userActions } from './users/actions.ts';
import { userRoutes } from './users/list.ts';
import { userPage } from './users/user.ts';

export const consoleRoutes: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...userRoutes,
  userPage,
  ...userActions,
];
