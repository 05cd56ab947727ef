/** Token status lists, an optional feature: resource servers read there which access tokens are revoked, without introspection. */
import { type HttpResponse, pathOf, queryOf, respond, respondJson } from '@portcullis/http';
import { OAuthError, STATUS_LIST_MEDIA_TYPE } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { Route } from '../http/router.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { CheckedKeyOptions } from '../keys/options.ts';
import type { TokenOptions } from '../token/options.ts';
import { STATUS_LISTS_PATH } from './entries.ts';
import { createPublishedStatusLists, type PublishedStatusLists } from './published-lists.ts';
import { createAssignStatus } from './status-index.ts';

export type StatusListFeature = ReturnType<typeof createStatusListFeature>;

/** What the server hooks into its endpoints if status lists are enabled. @see draft-ietf-oauth-status-list */
export function createStatusListFeature(
  context: ServerContext<CheckedKeyOptions & TokenOptions>,
  keys: KeyRing,
) {
  const lists = createPublishedStatusLists(context, keys);
  return {
    routes: createRoutes(lists),
    /** Allocates an entry to each issued access token. */
    assignStatus: createAssignStatus(context, lists),
    /** Records that an access token was revoked by itself. */
    recordRevokedToken: lists.recordRevokedToken,
  };
}

/** Seconds for which a cache may keep a list. */
const MAX_AGE = 1;

const LIST_NUMBER = /^(?:0|[1-9]\d{0,9})$/;

/** Public: a list discloses how many tokens were revoked lately, and to the holder of a token its status. */
function createRoutes(lists: PublishedStatusLists): readonly Route[] {
  return [
    {
      method: 'GET',
      path: `${STATUS_LISTS_PATH}/*`,
      crossOrigin: true,
      async handle(request) {
        // A relying party must not take the current list for that of another time. draft-ietf-oauth-status-list §8.4
        if (new URLSearchParams(queryOf(request)).has('time'))
          throw new OAuthError(
            'invalid_request',
            'Only current status lists are published: leave out time.',
            {
              status: 501,
            },
          );
        const name = pathOf(request).slice(STATUS_LISTS_PATH.length + 1);
        const list = LIST_NUMBER.test(name) ? await lists.read(Number(name)) : null;
        if (list !== null) return respondList(list);
        throw new OAuthError('invalid_request', 'There is no such status list.', { status: 404 });
      },
    },
    {
      method: 'GET',
      path: STATUS_LISTS_PATH,
      crossOrigin: true,
      handle: async () => respondJson({ status_lists: await lists.listUris() }, { maxAge: MAX_AGE }),
    },
  ];
}

function respondList(list: string): HttpResponse {
  const headers = {
    'content-type': STATUS_LIST_MEDIA_TYPE,
    'cache-control': `public, max-age=${MAX_AGE}`,
  };
  return respond(200, headers, list);
}
