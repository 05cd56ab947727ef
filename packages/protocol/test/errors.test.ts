/** OAuthError: what each audience learns from it. */
import { errorDocument, OAuthError, type OAuthErrorCode, temporarilyUnavailable } from '@portcullis/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sanitizeErrorText } from '../src/errors.ts';
import { anyText } from './texts.ts';

describe('OAuthError', () => {
  const statuses: readonly { given: OAuthErrorCode; expect: number }[] = [
    { given: 'invalid_request', expect: 400 },
    { given: 'invalid_client', expect: 401 },
    { given: 'invalid_grant', expect: 400 },
    { given: 'unauthorized_client', expect: 400 },
    { given: 'unsupported_grant_type', expect: 400 },
    { given: 'invalid_scope', expect: 400 },
    { given: 'invalid_target', expect: 400 },
    { given: 'invalid_token', expect: 401 },
    { given: 'insufficient_scope', expect: 403 },
    { given: 'invalid_redirect_uri', expect: 400 },
    { given: 'invalid_client_metadata', expect: 400 },
    { given: 'server_error', expect: 500 },
    { given: 'temporarily_unavailable', expect: 503 },
  ];
  it.each(statuses)(
    '[AS-TOK-67] an OAuthError with the code $given has the status $expect',
    ({ given, expect: expected }) => {
      expect(new OAuthError(given, 'Text.').status).toBe(expected);
    },
  );

  it('an OAuthError accepts a status from its thrower', () => {
    expect(new OAuthError('invalid_request', 'Too much.', { status: 413 }).status).toBe(413);
  });

  it('an OAuthError keeps its private reason out of the response', () => {
    const error = new OAuthError('invalid_grant', 'The code is not valid.', {
      reason: 'spent at 12:00',
      cause: new Error('x'),
    });
    expect(errorDocument(error)).toEqual({
      error: 'invalid_grant',
      error_description: 'The code is not valid.',
    });
    expect(error.message).toBe('invalid_grant: The code is not valid.');
    expect(error.reason).toBe('spent at 12:00');
    expect(error.cause).toBeInstanceOf(Error);
  });

  it('an OAuthError omits an empty error_description', () => {
    expect(errorDocument(new OAuthError('invalid_token', ''))).toEqual({ error: 'invalid_token' });
  });

  it('an OAuthError carries the parameters of a challenge', () => {
    expect(new OAuthError('insufficient_scope', 'Text.', { scopes: ['a'] }).scopes).toEqual(['a']);
  });

  it('an OAuthError for an outage carries Retry-After', () => {
    expect(temporarilyUnavailable('database gone', 7)).toMatchObject({
      code: 'temporarily_unavailable',
      status: 503,
      retryAfter: 7,
      reason: 'database gone',
    });
  });
});

describe('errorText', () => {
  it.each([
    { description: 'plain text', given: "It's here: 100 %, {a}~", expect: "It's here: 100 %, {a}~" },
    { description: 'a double quote', given: 'say "x"', expect: "say 'x'" },
    { description: 'a backslash', given: 'a\\b', expect: 'a/b' },
    { description: 'a line break', given: 'a\r\nb', expect: 'a??b' },
    { description: 'NUL, escape, DEL', given: '\0\u001b\u007f', expect: '???' },
    { description: 'letters outside of ASCII', given: 'Größe', expect: 'Gr??e' },
    { description: 'a character of two code units', given: 'a😀b', expect: 'a?b' },
    { description: 'a lone surrogate', given: '\ud83d', expect: '?' },
  ])(
    '[AS-AUTHZ-83 AS-TOK-77] errorText makes $description safe for error_description',
    ({ given, expect: expected }) => {
      expect(sanitizeErrorText(given)).toBe(expected);
    },
  );

  it('[AS-AUTHZ-83 AS-TOK-77] errorText keeps the characters %x20-21 / %x23-5B / %x5D-7E of any text, and no others', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const written = sanitizeErrorText(text);
        expect(written).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/);
        expect(sanitizeErrorText(written)).toBe(written);
        expect(errorDocument(new OAuthError('invalid_request', text)).error_description ?? '').toBe(written);
      }),
    );
  });
});
