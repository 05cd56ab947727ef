/** The shape of protected servers elsewhere, member by member: what each decides, and what is taken when it is left out. */
import type { ResourceDefinition } from '@portcullis/authorization-server';
import { oneOf, type Shape, text, textIn } from '../shapes.ts';
import { listOf, MUST, mapOf, object } from '../structured-shapes.ts';
import { scopes, seconds } from '../words.ts';

/** A protected server elsewhere. */
export type ResourceSetting = { readonly url: string } & Omit<ResourceDefinition, 'resource'>;

type Translation = NonNullable<NonNullable<ResourceDefinition['translations']>['de']>;

const translation: Shape<Translation> = object<Translation>({
  name: { what: 'what people call it', shape: text, otherwise: 'the name' },
  scopes: {
    what: 'scopes with their sentences',
    shape: mapOf(text, 'an object, a sentence for each scope'),
    otherwise: 'the sentences',
  },
});

export const resource: Shape<ResourceSetting> = object<ResourceSetting>({
  url: {
    what: 'its address, as clients and its own guard name it: the audience of its tokens',
    shape: textIn('a canonical URI such as `https://mcp.example.com/mcp`'),
    otherwise: MUST,
  },
  name: { what: 'what people call it', shape: text, otherwise: MUST },
  scopes: {
    what: 'each scope with the sentence that people read before they allow it',
    shape: mapOf(text, 'an object, a sentence for each scope'),
    otherwise: MUST,
  },
  defaultScopes: { what: 'what a client gets that asks for none', shape: scopes, otherwise: 'all' },
  requiredScopes: {
    what: 'scopes that a person may not leave out',
    shape: scopes,
    otherwise: 'none, but one scope has to remain',
  },
  hierarchy: {
    what: 'for broad scopes, which narrow ones each includes',
    shape: mapOf(scopes, 'an object, a list of scopes for each broad one'),
    otherwise: 'none',
  },
  translations: {
    what: 'its name and those sentences in other languages: `{ "de": { "name": …, "scopes": { … } } }`',
    shape: mapOf(translation),
    otherwise: 'none',
  },
  accessTokens: {
    what: 'what its access tokens are: JWTs that its guard verifies by itself, or `opaque` ones, about which one of `introspectionClients` asks',
    shape: oneOf('jwt', 'opaque'),
    otherwise: '`jwt`',
  },
  introspectionClients: {
    what: 'identifiers of the confidential clients that may introspect its tokens',
    shape: listOf(textIn('a `client_id`')),
    otherwise: 'none',
  },
  tokenExchangeClients: {
    what: "identifiers of the confidential clients that get a third party's token for one of its tokens",
    shape: listOf(textIn('a `client_id`')),
    otherwise: 'none',
  },
  revocationDelay: {
    what: 'in so many seconds its guard notices that access has ended, as people are told: 0 when it asks at each request, 10 when it polls status lists or remembers answers for ten seconds',
    shape: seconds(0),
    otherwise: 'the life of an access token',
  },
});
