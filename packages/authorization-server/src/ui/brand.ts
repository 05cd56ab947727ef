/** The operator's hand on the pages: a logo, a colour, texts, links. Judged once, so that no page becomes unreadable. */
import { type Language, languages, languageTags } from './texts/languages.ts';
import { placeholdersOf, type TextName, type Texts } from './texts/texts.ts';

/** What an operator says of the pages. */
export interface BrandOptions {
  /** PNG, WebP, JPEG or SVG, at most 64 KiB; it is shown 20 px high, before the name of the server. */
  readonly logo?: Uint8Array;
  /** The colour of buttons, links and marks, as `#rrggbb`, on light and on dark pages. Either may be left out. */
  readonly accent?: { readonly light?: string; readonly dark?: string };
  /** Other texts than ours, by language and name, with the same places in braces. */
  readonly texts?: Partial<Readonly<Record<Language, Partial<Readonly<Record<TextName, string>>>>>>;
  /** Stand below every page: an imprint, a privacy notice, help. https only. */
  readonly links?: readonly Link[];
}

export interface Link {
  readonly label: string;
  readonly href: string;
}

interface Logo {
  readonly type: string;
  readonly ending: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface Brand {
  readonly logo: Logo | null;
  /** Style that comes after ours. */
  readonly style: string;
  readonly texts: Readonly<Record<Language, Texts>>;
  readonly links: readonly Link[];
}

const MAX_LOGO_BYTES = 65_536;
const MAX_LINKS = 5;

export function validateBrand(options: BrandOptions, issues: string[]): Brand {
  return Object.freeze<Brand>({
    logo: options.logo === undefined ? null : validateLogo(options.logo, issues),
    style: validateAccent(options.accent ?? {}, issues),
    texts: validateTexts(options.texts ?? {}, issues),
    links: validateLinks(options.links ?? [], issues),
  });
}

/** What a file is, is read from its first bytes and from nowhere else. */
const TYPES: readonly { readonly type: string; readonly ending: string; readonly begins: RegExp }[] = [
  { type: 'image/png', ending: 'png', begins: /^\u{89}PNG\r\n/u },
  { type: 'image/jpeg', ending: 'jpg', begins: /^\xff\xd8\xff/ },
  { type: 'image/webp', ending: 'webp', begins: /^RIFF[\s\S]{4}WEBP/ },
  { type: 'image/svg+xml', ending: 'svg', begins: /^(?:\xef\xbb\xbf)?(?:<\?xml[^>]*>)?\s*<svg[\s>]/ },
];

function validateLogo(bytes: Uint8Array, issues: string[]): Logo | null {
  const beginning = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const found = TYPES.find(({ begins }) => begins.test(beginning));
  if (found === undefined) issues.push('brand.logo must be a PNG, JPEG, WebP or SVG file');
  if (bytes.length > MAX_LOGO_BYTES) issues.push(`brand.logo must be at most ${MAX_LOGO_BYTES} bytes large`);
  return found === undefined
    ? null
    : { type: found.type, ending: found.ending, bytes: new Uint8Array(bytes) };
}

/** What the accent stands on, and what is written on it. The same as in the stylesheet. */
const SURFACES = {
  light: { surfaces: ['#ffffff', '#f3f4f7'], inks: ['#ffffff', '#0a1838'], pressed: '#000000' },
  dark: { surfaces: ['#16191f', '#0c0e12'], inks: ['#0a1838', '#ffffff'], pressed: '#ffffff' },
} as const;

/** @see WCAG 2.2 §1.4.3 */
const MIN_CONTRAST = 4.5;

function validateAccent(accent: NonNullable<BrandOptions['accent']>, issues: string[]): string {
  const rules = { light: '', dark: '' };
  for (const scheme of ['light', 'dark'] as const) {
    const colour = accent[scheme];
    if (colour === undefined) continue;
    const { surfaces, inks, pressed } = SURFACES[scheme];
    if (!/^#[0-9a-f]{6}$/i.test(colour)) {
      issues.push(`brand.accent.${scheme} must be a colour such as #1c4fc4`);
      continue;
    }
    const worst = Math.min(...surfaces.map((surface) => contrast(colour, surface)));
    const ink = inks.find((candidate) => contrast(colour, candidate) >= MIN_CONTRAST);
    if (worst < MIN_CONTRAST || ink === undefined) {
      const found = Math.floor(worst * 10) / 10;
      issues.push(
        `brand.accent.${scheme} has a contrast of ${found} on ${scheme} pages; people need ${MIN_CONTRAST} to read it`,
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

function validateTexts(chosen: NonNullable<BrandOptions['texts']>, issues: string[]): Brand['texts'] {
  const texts: Record<Language, Texts> = { ...languages };
  for (const tag of Object.keys(chosen)) {
    if (!languageTags.some((known) => known === tag))
      issues.push(`brand.texts: ${tag} is no language of the pages`);
  }
  for (const language of languageTags) {
    const ours: Texts = languages[language];
    const theirs = Object.entries(chosen[language] ?? {});
    for (const [name, text] of theirs) {
      const at = `brand.texts.${language}: ${name}`;
      if (!Object.hasOwn(ours, name)) issues.push(`${at} is no text of the pages`);
      else if (typeof text !== 'string' || text.trim() === '') issues.push(`${at} must be a text`);
      else {
        const places = placeholdersOf(ours[name as TextName]);
        if (placeholdersOf(text).join() !== places.join()) {
          issues.push(
            `${at} must have the places ${places.map((place) => `{${place}}`).join(', ') || 'none'}`,
          );
        }
      }
    }
    texts[language] = { ...ours, ...Object.fromEntries(theirs) };
  }
  return texts;
}

function validateLinks(links: readonly Link[], issues: string[]): readonly Link[] {
  if (links.length > MAX_LINKS) issues.push(`brand.links must be at most ${MAX_LINKS}`);
  for (const [index, { label, href }] of links.entries()) {
    if (label.trim() === '') issues.push(`brand.links.${index}.label must be a text`);
    if (URL.parse(href)?.protocol !== 'https:')
      issues.push(`brand.links.${index}.href must be an https address`);
  }
  return links;
}
