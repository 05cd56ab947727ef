/** The shapes of how long things live, and of the keys that sign. */
import { defaultLifetimes, type KeyOptions, type Lifetimes } from '@portcullis/authorization-server';
import { oneOf, orNull, type Shape } from '../shapes.ts';
import { object } from '../structured-shapes.ts';
import { inWords } from '../times.ts';
import { seconds } from '../words.ts';

const lifetime = (
  name: keyof Lifetimes,
  what: string,
  least = 1,
): { what: string; shape: Shape<number>; otherwise: string } => ({
  what,
  shape: seconds(least),
  otherwise: inWords(defaultLifetimes[name]),
});

export const lifetimes: Shape<Partial<Lifetimes>> = object<Partial<Lifetimes>>({
  accessToken: lifetime('accessToken', 'an access token'),
  code: lifetime('code', 'an authorization code'),
  transaction: lifetime('transaction', 'an authorization request, while its person decides'),
  session: lifetime('session', 'a browser stays signed in'),
  refreshIdle: lifetime('refreshIdle', 'a refresh token that is not used'),
  grant: lifetime('grant', 'a grant, however often it is refreshed'),
  refreshGrace: lifetime(
    'refreshGrace',
    'after its rotation a refresh token still answers with the same successor',
    0,
  ),
  unusedClient: lifetime('unusedClient', 'a client that registered and never got a token'),
  usedClient: lifetime(
    'usedClient',
    'a client that registered, after its last token, unless it holds a live grant',
  ),
});

export const keys: Shape<KeyOptions> = object<KeyOptions>({
  algorithm: {
    what: 'of keys that are made from now on',
    shape: oneOf('ES256', 'EdDSA', 'RS256'),
    otherwise: '`ES256`',
  },
  rotateEvery: {
    what: 'after so long a key is replaced; `null`: by command only',
    shape: orNull(seconds(1, 100 * 365 * 86_400)),
    otherwise: inWords(90 * 86_400),
  },
  prepublish: {
    what: 'for so long a new key is published before it signs',
    shape: seconds(1, 365 * 86_400),
    otherwise: inWords(3600),
  },
});
