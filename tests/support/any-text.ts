/**
 * Texts and URLs of all characters, for properties. `unit: 'binary'` and `webUrl` of fast-check generate the same, but first build a
 * table of all 1.1 million characters: a second of processor time and 130 MB in each process that runs tests.
 */
import fc from 'fast-check';

/** The first surrogate, and how many there are: surrogates are not characters. */
const [FIRST_SURROGATE, SURROGATES] = [0xd800, 0x800];

const character = fc.nat(0x10ffff - SURROGATES).map(
  (index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES),
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== text) throw new Error('not one character');
    return code < FIRST_SURROGATE ? code : code - SURROGATES;
  },
);

/** Any characters, and often names that mean something to JavaScript. */
export const anyCharacters = (maxLength?: number): fc.Arbitrary<string> =>
  fc.string({ unit: character, ...(maxLength !== undefined && { maxLength }) });

/** Characters of a URL that is valid, some of them percent-encoded. */
const urlText = (others: string, size: fc.Size = 'small') =>
  fc.string({
    size,
    unit: fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom(...LETTERS, ...others) },
      { weight: 1, arbitrary: character.map(percentEncode) },
    ),
  });

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

function percentEncode(text: string): string {
  const encoded = encodeURIComponent(text);
  return encoded === text ? `%${text.charCodeAt(0).toString(16)}` : encoded;
}

const segments = (count: fc.Size, size: fc.Size) =>
  fc
    .array(urlText("-._~!$&'()*+,;=:@", size), { size: count })
    .map((texts) => texts.map((text) => `/${text}`).join(''));

/** Few long segments, or more short ones. */
export const webPath: fc.Arbitrary<string> = fc.oneof(
  segments('xsmall', 'small'),
  segments('small', 'xsmall'),
);

const queryOrFragment = (mark: string, isWanted: boolean) =>
  isWanted
    ? fc.option(
        urlText("-._~!$&'()*+,;=:@/?").map((text) => mark + text),
        { nil: '' },
      )
    : fc.constant('');

/** An http or https URL. */
export const webUrl = ({ withQuery = false, withFragment = false } = {}): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom('http://', 'https://'),
      fc.webAuthority(),
      webPath,
      queryOrFragment('?', withQuery),
      queryOrFragment('#', withFragment),
    )
    .map((parts) => parts.join(''));
