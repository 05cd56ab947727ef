/** Pages of a person's own account: whoever is not signed in signs in first, and forms are bound to the session. */
import { type HttpRequest, type HttpResponse, queryOf, readForm } from '@portcullis/http';
import { type Parameters, readParameters } from '@portcullis/protocol';
import type { User } from '../accounts/sessions.ts';
import { loginPath, RECENT } from '../authorize/errands.ts';
import { isForeignForm } from '../authorize/form-tokens.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { signsInHere } from '../authorize/signs-in-here.ts';
import { signsInElsewhere } from '../headless/headless-options.ts';
import { leadOnward } from '../pages/onward.ts';
import { respondRedirect } from '../pages/respond.ts';
import { type HomePage, homePaths } from '../pages/tabs.ts';
import type { Peer, Route } from '../routes.ts';

/** Who asks for what. */
interface Visit {
  readonly request: HttpRequest;
  readonly peer: Peer;
  readonly user: User;
  /** Of the query of a page, of the body of a form. */
  readonly parameters: Parameters;
}

export interface SignedIn {
  page(path: string, handle: (visit: Visit) => Promise<HttpResponse>): Route;
  /** A posted form with a token of this session. Anything else changes nothing. */
  form(path: string, handle: (visit: Visit) => Promise<HttpResponse>): Route;
  /** The token of this person's forms. */
  token(user: User): string;
}

/**
 * The routes of one page and those below it.
 * @param kind `own`: about how one signs in here, so for accounts of this server only; `recent`: changes what matters without
 * asking for what proves the owner, so the sign-in has to be a recent one; `delicate`: both
 */
export function createSignedIn(
  rooms: Rooms,
  home: HomePage,
  kind: 'plain' | 'own' | 'recent' | 'delicate' = 'plain',
): SignedIn {
  const { configuration, edge, formTokens, sessions } = rooms;
  const token = (user: User) => formTokens.mint('home', user.sessionHash);
  const mustBeRecent = kind === 'recent' || kind === 'delicate';
  const isOwn = kind === 'own' || kind === 'delicate';
  const mustSignIn = (user: User | null): user is null =>
    user === null || (mustBeRecent && configuration.clock() - user.signedInAt >= RECENT);
  const signIn = () => respondRedirect(loginPath(home, mustBeRecent));
  const isNotTheirs = async (user: User) => isOwn && !(await signsInHere(rooms, user));
  return {
    token,
    page: (path, handle) =>
      edge.route('GET', path, async (request, peer) => {
        const user = await sessions.find(request);
        if (mustSignIn(user)) return signIn();
        if (await isNotTheirs(user)) return respondRedirect(homePaths[home]);
        const parameters = readParameters(queryOf(request));
        return handle({ request, peer, user, parameters });
      }),
    form: (path, handle) =>
      edge.route('POST', path, async (request, peer) => {
        const parameters = await readForm(request);
        const user = await sessions.find(request);
        if (mustSignIn(user)) {
          return signsInElsewhere(configuration) ? leadOnward(rooms.frame, signIn()) : signIn();
        }
        const isOurs = formTokens.matches(parameters.one('token'), 'home', user.sessionHash);
        if (!isOurs || isForeignForm(request, configuration.issuer)) {
          const action = { label: rooms.frame.text('home.look-again'), href: homePaths[home] };
          return edge.refuse(path, 'stale-form', { action });
        }
        if (await isNotTheirs(user)) return respondRedirect(homePaths[home]);
        return handle({ request, peer, user, parameters });
      }),
  };
}
