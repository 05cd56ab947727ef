/** Where the status lists are published: each at an address of its own, and the list of them all. */
import { type HttpResponse, pathOf, respond, respondJson } from '@portcullis/http';
import { OAuthError, STATUS_LIST_MEDIA_TYPE } from '@portcullis/protocol';
import type { Route } from '../routes.ts';
import { LISTS } from './indexes.ts';
import type { PublishedStatusLists } from './published-lists.ts';

/** Seconds for which caches on the way may keep a list: with the second of this server the age that nobody need ever add. */
const MAX_AGE = 1;

const NUMBER = /^(?:0|[1-9]\d{0,9})$/;

/** For anybody: it says how many tokens were revoked lately, and to whoever holds one whether that one was. */
export function createStatusRoutes(lists: PublishedStatusLists): readonly Route[] {
  return [
    {
      method: 'GET',
      path: `${LISTS}/*`,
      crossOrigin: true,
      async handle(request) {
        const name = pathOf(request).slice(LISTS.length + 1);
        const list = NUMBER.test(name) ? await lists.read(Number(name)) : null;
        if (list !== null) return respondList(list);
        throw new OAuthError('invalid_request', 'There is no such status list.', { status: 404 });
      },
    },
    {
      method: 'GET',
      path: LISTS,
      crossOrigin: true,
      handle: async () => respondJson({ status_lists: await lists.names() }, { maxAge: MAX_AGE }),
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
