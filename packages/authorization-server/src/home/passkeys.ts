/** Passkeys of a person: added by their browser, removed by a button. */
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import { browserName } from '../accounts/browser-name.ts';
import { MOST_PASSKEYS, type Passkeys } from '../accounts/passkeys.ts';
import type { User } from '../accounts/sessions.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { browserInWords } from '../pages/account.ts';
import type { Frame } from '../pages/layout.ts';
import { addPasskeyPage } from '../pages/passkeys.ts';
import { respondPage, respondRedirect } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { newsPath } from './news.ts';
import { createSignedIn } from './signed-in.ts';

/** What a passkey is called unless its owner says otherwise: the browser that made it, in words of theirs. */
export function suggestedName(frame: Frame, { headers }: HttpRequest): string {
  const browser = browserName(headers.get('user-agent'));
  return browser === null ? 'Passkey' : browserInWords(frame, browser);
}

export function createPasskeyPages(rooms: Rooms, passkeys: Passkeys): readonly Route[] {
  const { configuration, frame } = rooms;
  const { store, events } = configuration;
  const signedIn = createSignedIn(rooms, 'account', 'delicate');

  const show = async (request: HttpRequest, user: User, wrong: string | null): Promise<HttpResponse> => {
    const known = await store.listPasskeys(user.account.id);
    const page = addPasskeyPage(frame, {
      options: passkeys.creationOptions(user.account, known, [user.sessionHash]),
      token: signedIn.token(user),
      suggestion: suggestedName(frame, request),
      wrong,
    });
    return respondPage(page, { script: true, status: wrong === null ? 200 : 400 });
  };

  return [
    signedIn.page('/account/passkeys/add', ({ request, user }) => show(request, user, null)),

    signedIn.form('/account/passkeys/add', async ({ request, user, parameters }) => {
      const { account, sessionHash } = user;
      if ((await store.listPasskeys(account.id)).length >= MOST_PASSKEYS) {
        return show(request, user, frame.text('passkey.too-many'));
      }
      const answer = parameters.one('credential') ?? '';
      const passkey = await passkeys.judgeNew(account, answer, parameters.one('name') ?? '', [sessionHash]);
      if (passkey === null || !(await store.addPasskey(passkey))) {
        return show(request, user, frame.text('passkey.not-added'));
      }
      events({ type: 'passkey.added', accountId: account.id });
      return respondRedirect(newsPath('passkey-added'));
    }),

    signedIn.form('/account/passkeys/remove', async ({ user, parameters }) => {
      const { id: accountId } = user.account;
      const removed = await store.removePasskey(accountId, parameters.required('passkey'));
      if (removed) events({ type: 'passkey.removed', accountId });
      return respondRedirect(newsPath('passkey-removed'));
    }),
  ];
}
