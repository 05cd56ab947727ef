/** The successful response of the token endpoint, as the client reads it. */
import { readTokenResponse } from '@portcullis/protocol/documents';
import { describe, expect, it } from 'vitest';

const sound = { access_token: 'a', token_type: 'Bearer' };

describe('readTokenResponse', () => {
  it.each([
    {
      description: 'readTokenResponse reads a response with only the required members',
      given: sound,
      expect: sound,
    },
    {
      description: 'readTokenResponse reads a response with every member',
      given: { ...sound, expires_in: 600, refresh_token: 'r', scope: 'a b' },
      expect: { ...sound, expires_in: 600, refresh_token: 'r', scope: 'a b' },
    },
    {
      description: '[C-TOK-60] readTokenResponse omits unknown members',
      given: { ...sound, id_token: 'x', foo: {} },
      expect: sound,
    },
    {
      description: 'readTokenResponse reads expires_in from text',
      given: { ...sound, expires_in: '3600' },
      expect: { ...sound, expires_in: 3600 },
    },
    {
      description: 'readTokenResponse reads null members as absent',
      given: { ...sound, refresh_token: null, scope: null, expires_in: null },
      expect: sound,
    },
    {
      description: 'readTokenResponse reads a negative lifetime as zero, and an empty refresh token',
      given: { ...sound, expires_in: -1, refresh_token: '' },
      expect: { ...sound, expires_in: 0, refresh_token: '' },
    },
    {
      description: 'readTokenResponse reads a token that is not a JWT',
      given: { ...sound, access_token: '2YotnFZFEjr1zCsicMWpAA~.+/=' },
      expect: { ...sound, access_token: '2YotnFZFEjr1zCsicMWpAA~.+/=' },
    },
  ])('$description', ({ given, expect: expected }) => {
    expect(readTokenResponse(given)).toEqual({ document: expected });
  });

  it.each([
    { description: 'no access token', given: { token_type: 'Bearer' }, expect: 'access_token' },
    { description: 'no token type', given: { access_token: 'a' }, expect: 'token_type' },
    { description: 'an empty access token', given: { ...sound, access_token: '' }, expect: 'access_token' },
    {
      description: 'an access token that would end the header',
      given: { ...sound, access_token: 'a\r\nX: y' },
      expect: 'access_token',
    },
    {
      description: 'an access token with a space',
      given: { ...sound, access_token: 'a b' },
      expect: 'access_token',
    },
    {
      description: 'an access token that is a number',
      given: { ...sound, access_token: 1 },
      expect: 'access_token',
    },
    {
      description: 'a refresh token with a control character',
      given: { ...sound, refresh_token: 'a\0' },
      expect: 'refresh_token',
    },
    {
      description: 'a lifetime that is no number',
      given: { ...sound, expires_in: 'soon' },
      expect: 'expires_in',
    },
    {
      description: 'an endless lifetime',
      given: JSON.parse('{"access_token":"a","token_type":"Bearer","expires_in":1e999}'),
      expect: 'expires_in',
    },
    { description: 'an array', given: [sound], expect: 'JSON object' },
    { description: 'text', given: 'access_token=a&token_type=Bearer', expect: 'JSON object' },
    { description: 'null', given: null, expect: 'JSON object' },
  ])(
    'readTokenResponse explains what is wrong with $description without repeating a token',
    ({ given, expect: expected }) => {
      const reading = readTokenResponse(given);
      expect(reading).toEqual({ issues: [expect.stringContaining(expected)] });
      expect(JSON.stringify(reading)).not.toMatch(/X: y|a b/);
    },
  );
});
