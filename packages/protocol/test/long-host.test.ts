/** Hosts that the URL parser would convert in quadratic time are not parsed. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hasLongHost } from '../src/index.ts';
import { readUrl } from '../src/parsing/web-url.ts';

describe('hasLongHost', () => {
  it.each([
    { description: 'a long host outside ASCII', given: `https://${'文'.repeat(256)}/`, expect: true },
    { description: 'one of a file', given: `file://${'文'.repeat(256)}/`, expect: true },
    { description: 'one of a reference', given: `//${'文'.repeat(256)}`, expect: true },
    { description: 'one in escapes', given: `https://${'%E6%96%87'.repeat(86)}`, expect: true },
    {
      description: 'one behind what the parser ignores',
      given: `\0ht\ntp:\\${'文'.repeat(256)}`,
      expect: true,
    },
    { description: 'a host of 255 characters', given: `https://${'文'.repeat(255)}/`, expect: false },
    { description: 'a long host in ASCII', given: `https://${'xn--4ca.'.repeat(90)}/`, expect: false },
    { description: 'a long path of a file', given: `file:///${'文'.repeat(256)}`, expect: false },
    {
      description: 'a long path behind empty segments',
      given: `file:////${'文'.repeat(256)}/`,
      expect: false,
    },
    {
      description: 'a long path of a file without slashes',
      given: `file:${'文'.repeat(256)}`,
      expect: false,
    },
    { description: 'a long absolute path', given: `/${'文'.repeat(256)}`, expect: false },
    { description: 'a long path', given: `https://a.example/${'文'.repeat(256)}`, expect: false },
    { description: 'another scheme', given: `wiki://${'文'.repeat(256)}/`, expect: false },
  ])('says whether a text has $description', ({ given, expect: expected }) => {
    expect(hasLongHost(given)).toBe(expected);
  });
});

it('a strictly read URL with a long host in escapes is not parsed', () => {
  const parse = vi.spyOn(URL, 'parse');
  onTestFinished(() => parse.mockRestore());
  expect(readUrl(`https://${'%E6%96%87'.repeat(86)}/`)).toBeNull();
  expect(parse).not.toHaveBeenCalled();
  expect(readUrl(`https://a.example/${'%E6%96%87'.repeat(86)}`)?.host).toBe('a.example');
});
