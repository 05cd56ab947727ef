/** Token exchange: the authorization server reads what a resource server writes, and nothing else. */
import {
  readParameters,
  readTokenExchangeRequest,
  TOKEN_EXCHANGE,
  tokenExchangeForm,
  tokenExchangeResponse,
} from '@portcullis/protocol';
import { readTokenExchangeResponse } from '@portcullis/protocol/documents';
import { describe, expect, it } from 'vitest';
import { answerOf } from './refusal.ts';

const type = 'urn:ietf:params:oauth:token-type:access_token';
const usual = `subject_token=t&subject_token_type=${type}`;

describe('readTokenExchangeRequest', () => {
  const read = (body: string) => answerOf(() => readTokenExchangeRequest(readParameters(body)));

  it.each([
    {
      description: 'readTokenExchangeRequest accepts a request with only the required parameters',
      given: usual,
      expect: { subjectToken: 't', targets: [], scopes: null },
    },
    {
      description: 'readTokenExchangeRequest accepts a request with every parameter',
      given: `${usual}&requested_token_type=${type}&audience=github&resource=https%3A%2F%2Fa.example&scope=a+b`,
      expect: { subjectToken: 't', targets: ['github', 'https://a.example'], scopes: ['a', 'b'] },
    },
    {
      description: 'readTokenExchangeRequest accepts several audiences, for the server to check',
      given: `${usual}&audience=a&audience=b`,
      expect: { subjectToken: 't', targets: ['a', 'b'], scopes: null },
    },
    {
      description: 'readTokenExchangeRequest rejects a missing subject token',
      given: `subject_token_type=${type}`,
      expect: 'invalid_request',
    },
    {
      description: 'readTokenExchangeRequest rejects two subject tokens',
      given: `${usual}&subject_token=u`,
      expect: 'invalid_request',
    },
    {
      description: 'readTokenExchangeRequest rejects a missing subject token type',
      given: 'subject_token=t',
      expect: 'invalid_request',
    },
    {
      description: 'readTokenExchangeRequest rejects a refresh token as the subject token',
      given: 'subject_token=t&subject_token_type=urn:ietf:params:oauth:token-type:refresh_token',
      expect: 'invalid_request',
    },
    {
      description: 'readTokenExchangeRequest rejects a request for an ID token',
      given: `${usual}&requested_token_type=urn:ietf:params:oauth:token-type:id_token`,
      expect: 'invalid_request',
    },
    {
      description: 'readTokenExchangeRequest rejects an actor token',
      given: `${usual}&actor_token=a`,
      expect: 'invalid_request',
    },
    {
      description: 'readTokenExchangeRequest rejects an actor token type',
      given: `${usual}&actor_token_type=${type}`,
      expect: 'invalid_request',
    },
    {
      description: 'readTokenExchangeRequest rejects a malformed scope',
      given: `${usual}&scope=%22`,
      expect: 'invalid_scope',
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(read(given)).toEqual(expected);
  });
});

describe('tokenExchangeForm', () => {
  it.each([
    [
      { subjectToken: 't', audience: null },
      { subjectToken: 't', targets: [], scopes: null },
    ],
    [
      { subjectToken: 't', audience: 'github', scopes: ['repo', 'user:email'] },
      { subjectToken: 't', targets: ['github'], scopes: ['repo', 'user:email'] },
    ],
  ])('tokenExchangeForm writes %j so that the server reads it back', (given, expected) => {
    const form = tokenExchangeForm(given);
    expect(form.get('grant_type')).toBe(TOKEN_EXCHANGE);
    expect(readTokenExchangeRequest(readParameters(form))).toEqual(expected);
  });
});

describe('readTokenExchangeResponse', () => {
  const answer = tokenExchangeResponse({
    access_token: 'a',
    token_type: 'Bearer',
    expires_in: 60,
    scope: 'repo',
  });

  it('readTokenExchangeResponse reads the response that the server builds', () => {
    expect(readTokenExchangeResponse({ ...answer, more: 1 })).toEqual({ document: answer });
  });

  it.each([
    ['no type', { ...answer, issued_token_type: undefined }],
    ['another type', { ...answer, issued_token_type: 'urn:ietf:params:oauth:token-type:id_token' }],
    ['a token that cannot stand in a header', { ...answer, access_token: 'a b' }],
    ['no token', { ...answer, access_token: null }],
    ['something else', 'text'],
  ])('readTokenExchangeResponse rejects %s', (_name, json) => {
    expect(readTokenExchangeResponse(json)).toHaveProperty('issues');
  });
});
