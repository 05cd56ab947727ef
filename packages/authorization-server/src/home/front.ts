/** Pages for the host of the server: the servers that tokens are issued for, and that nothing stands at a path. */

import { showMissing } from '../authorize/page-edge.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { frontPage } from '../pages/front.ts';
import { respondPage } from '../pages/respond.ts';
import { inLanguage } from '../pages/translations.ts';
import type { Route } from '../routes.ts';

/** It is mounted by the host of the server, which may have something better at its root. */
export function createFront({
  configuration,
  edge,
  frame,
}: Pick<Rooms, 'configuration' | 'edge' | 'frame'>): Route {
  const servers = [...configuration.resources.values()].map((resource) => ({
    name: inLanguage(resource, frame.language).name,
    url: resource.resource,
  }));
  return edge.route('GET', '/', async () => respondPage(frontPage(frame, { servers })));
}

export function createMissing({ edge, frame }: Pick<Rooms, 'edge' | 'frame'>): Route {
  return edge.route('GET', '/*', () => showMissing(frame, 404));
}
