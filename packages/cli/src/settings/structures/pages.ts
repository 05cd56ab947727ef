/** The shapes of what pages look like and say, and of an application that shows them itself. */
import type { BrandOptions, HeadlessOptions } from '@portcullis/authorization-server';
import { Issue } from '../../faults.ts';
import { readBytes, secret } from '../secret-shape.ts';
import { type Shape, text, textIn, yesOrNo } from '../shapes.ts';
import { document, listOf, listOfObjects, MUST, object } from '../structured-shapes.ts';
import { address } from '../words.ts';

type Accent = NonNullable<BrandOptions['accent']>;
type Link = NonNullable<BrandOptions['links']>[number];

const colour = textIn('a colour such as `#1c4fc4`');

const logo: Shape<Uint8Array> = {
  words: 'a PNG, JPEG, WebP or SVG file of at most 64 KiB',
  blank: new Uint8Array(),
  read(value, origin) {
    if (value instanceof Uint8Array) return value;
    if (typeof value !== 'string')
      throw new Issue('must name a file: a PNG, JPEG, WebP or SVG of at most 64 KiB');
    return readBytes(value, origin);
  },
};

export const brand: Shape<BrandOptions> = object<BrandOptions>({
  logo: { what: 'shown before the name of the server', shape: logo, otherwise: 'a gate' },
  accent: {
    what: 'the colour of buttons, links and marks',
    shape: object<Accent>({
      light: { what: 'on light pages', shape: colour, otherwise: 'ours' },
      dark: { what: 'on dark pages', shape: colour, otherwise: 'ours' },
    }),
    otherwise: 'ours',
  },
  texts: {
    what: 'other texts than ours, by language (`en`, `de`) and name, with the same places in braces',
    shape: document,
    otherwise: 'ours',
  },
  links: {
    what: 'stand below every page: an imprint, a privacy notice, help',
    shape: listOfObjects(
      object<Link>({
        label: { what: 'what it says', shape: text, otherwise: MUST },
        href: { what: 'where it leads', shape: textIn('an https address'), otherwise: MUST },
      }),
    ),
    otherwise: 'none',
  },
});

/** Characters of a secret that signs for people. */
const SHORTEST_SIGNING_SECRET = 32;

export const headless: Shape<HeadlessOptions> = object<HeadlessOptions>({
  loginUrl: { what: 'where it lets people sign in', shape: address, otherwise: 'our own pages' },
  consentUrl: { what: 'where it asks for consent', shape: address, otherwise: 'our own page' },
  secrets: {
    what: 'what it signs its requests with; any of them is taken, so that one can be replaced',
    shape: listOf(secret(SHORTEST_SIGNING_SECRET), 1),
    otherwise: MUST,
  },
  createAccounts: {
    what: 'whether an address without an account gets one when it says that its owner signed in',
    shape: yesOrNo,
    otherwise: 'false',
  },
});
