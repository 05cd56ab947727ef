/** Branding of the pages: logo, accent colour, texts and links, checked so that no page becomes unreadable. */
import { suggestName } from '@portcullis/protocol';
import * as z from 'zod';
import {
  checkedText,
  type InputOf,
  lazy,
  list,
  members,
  option,
  optional,
  optionMeta,
  record,
  text,
} from '../option-schema/fields.ts';
import type { OptionReport } from '../option-schema/reader.ts';
import { type Language, languages, languageTags } from './texts/languages.ts';
import { placeholdersOf, type TextName, type Texts } from './texts/texts.ts';

export interface Logo {
  readonly type: string;
  readonly ending: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface Brand {
  readonly logo: Logo | null;
  /** Additional style, after ours. */
  readonly style: string;
  readonly texts: Readonly<Record<Language, Texts>>;
  readonly links: readonly Link[];
}

const LOGO = ['brand', 'logo'];
const MAX_LOGO_BYTES = 65_536;
const MAX_LINKS = 5;

const brandSchema = lazy(() => {
  const colour = () =>
    optional(
      checkedText('a colour such as `#1c4fc4`', (value) =>
        /^#[0-9a-f]{6}$/i.test(value) ? null : 'must be a colour such as #1c4fc4',
      ),
      'on light or dark pages',
    );
  const logo = z
    .custom<Uint8Array>((value) => value instanceof Uint8Array)
    .register(optionMeta, { kind: 'a PNG, JPEG, WebP or SVG file of at most 64 KiB', isFile: true });
  const texts = () => record(text(), 'an object of texts').optional();
  return z.strictObject({
    logo: optional(logo, 'shown before the name of the server', 'a gate'),
    accent: optional(
      z.strictObject({ light: colour(), dark: colour() }),
      'colour of buttons, links and marks',
    ),
    texts: optional(
      z
        .strictObject(members(languageTags, texts))
        .register(optionMeta, { kind: `an object with texts by language: ${languageTags.join(', ')}` }),
      'replaces texts, by language and name, with the same placeholders in braces',
    ),
    links: optional(
      list(
        z.strictObject({
          label: text().describe('text of the link'),
          href: checkedText('an https URL', (value) =>
            URL.parse(value)?.protocol === 'https:' ? null : 'must be an https URL',
          ).describe('target'),
        }),
        0,
        MAX_LINKS,
      ),
      'links below every page, such as an imprint or a privacy notice',
    ),
  });
});

/** Logo, colours, texts and links of the pages. */
export type BrandOptions = InputOf<typeof brandSchema>;
export type Link = NonNullable<BrandOptions['links']>[number];

export const brandOptions = {
  brand: option(brandSchema, {
    default: {},
    section: 'Pages',
    description: 'branding and texts of the pages',
    defaultText: 'as below',
  }),
};

export function createBrand(options: BrandOptions, report: OptionReport): Brand {
  return Object.freeze<Brand>({
    logo: options.logo === undefined ? null : validateLogo(options.logo, report),
    style: createAccentStyle(options.accent ?? {}, report),
    texts: createTexts(options.texts ?? {}, report),
    links: options.links ?? [],
  });
}

/** What a file is, is read from its first bytes and from nowhere else. */
const TYPES: readonly { readonly type: string; readonly ending: string; readonly begins: RegExp }[] = [
  { type: 'image/png', ending: 'png', begins: /^\u{89}PNG\r\n/u },
  { type: 'image/jpeg', ending: 'jpg', begins: /^\xff\xd8\xff/ },
  { type: 'image/webp', ending: 'webp', begins: /^RIFF[\s\S]{4}WEBP/ },
  { type: 'image/svg+xml', ending: 'svg', begins: /^(?:\xef\xbb\xbf)?(?:<\?xml[^>]*>)?\s*<svg[\s>]/ },
];

/** `null`: it is of no type that pages show. */
export function readLogo(bytes: Uint8Array<ArrayBuffer>): Logo | null {
  const beginning = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const found = TYPES.find(({ begins }) => begins.test(beginning));
  return found === undefined ? null : { type: found.type, ending: found.ending, bytes };
}

function validateLogo(bytes: Uint8Array, report: OptionReport): Logo | null {
  const logo = readLogo(new Uint8Array(bytes));
  if (logo === null) report.add(LOGO, 'must be a PNG, JPEG, WebP or SVG file');
  if (bytes.length > MAX_LOGO_BYTES) report.add(LOGO, `must be at most ${MAX_LOGO_BYTES} bytes`);
  return logo;
}

/** Background behind the accent colour, and text colour on it. The same as in the stylesheet. */
const SURFACES = {
  light: { surfaces: ['#ffffff', '#f3f4f7'], inks: ['#ffffff', '#0a1838'], pressed: '#000000' },
  dark: { surfaces: ['#16191f', '#0c0e12'], inks: ['#0a1838', '#ffffff'], pressed: '#ffffff' },
} as const;

/** @see WCAG 2.2 §1.4.3 */
const MIN_CONTRAST = 4.5;

function createAccentStyle(accent: NonNullable<BrandOptions['accent']>, report: OptionReport): string {
  const rules = { light: '', dark: '' };
  for (const scheme of ['light', 'dark'] as const) {
    const colour = accent[scheme];
    if (colour === undefined) continue;
    const { surfaces, inks, pressed } = SURFACES[scheme];
    const worst = Math.min(...surfaces.map((surface) => contrast(colour, surface)));
    const ink = inks.find((candidate) => contrast(colour, candidate) >= MIN_CONTRAST);
    if (worst < MIN_CONTRAST || ink === undefined) {
      const found = Math.floor(worst * 10) / 10;
      report.add(
        ['brand', 'accent', scheme],
        `has a contrast of ${found} on ${scheme} pages; readable text needs ${MIN_CONTRAST}`,
      );
      continue;
    }
    rules[scheme] =
      `:root{--accent:${colour};--accent-pressed:${mix(colour, pressed, 0.2)};--accent-ink:${ink}}`;
  }
  const light = rules.light === '' ? '' : `@media not (prefers-color-scheme:dark){${rules.light}}\n`;
  return light + (rules.dark === '' ? '' : `@media (prefers-color-scheme:dark){${rules.dark}}\n`);
}

/** @see WCAG 2.2, definition of contrast ratio */
function contrast(first: string, second: string): number {
  const [lighter = 0, darker = 0] = [luminance(first), luminance(second)].toSorted((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function channels(colour: string): readonly number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

function mix(colour: string, other: string, share: number): string {
  const others = channels(other);
  const mixed = channels(colour).map((value, index) =>
    Math.round(value * (1 - share) + (others[index] ?? 0) * share),
  );
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

function createTexts(chosen: NonNullable<BrandOptions['texts']>, report: OptionReport): Brand['texts'] {
  const texts: Record<Language, Texts> = { ...languages };
  for (const language of languageTags) {
    const ours: Texts = languages[language];
    const theirs = Object.entries(chosen[language] ?? {});
    for (const [name, replacement] of theirs) {
      const path = ['brand', 'texts', language, name];
      if (!Object.hasOwn(ours, name)) {
        report.add(path, `unknown text; ${suggestName(name, Object.keys(ours), 'see ui/texts/en.json')}`);
        continue;
      }
      const expected = placeholdersOf(ours[name as TextName]);
      if (placeholdersOf(replacement).join() !== expected.join()) {
        const names = expected.map((placeholder) => `{${placeholder}}`).join(', ');
        report.add(path, `must have the placeholders ${names || 'none'}`);
      }
    }
    if (theirs.length > 0) texts[language] = { ...ours, ...Object.fromEntries(theirs) };
  }
  return texts;
}
