/** Mutations of inputs: what an attacker would try, what parsers trip over, and chance. */
import type { Random } from '../resilience/random.ts';

const LONGEST = 4096;

/** Pieces that mean something to one parser or another. */
const PIECES = [
  '&', '=', '%', '%00', '%ff', '%2e', '%5B%5D', '+', ' ', '\t', '\n', '\r\n', '\0', '"', '\\', '\\"', "'", ',', ';', ':', '/', '//', '\\\\', '.', '..', '/../', '@', '#', '?', '*',
  '[', ']', '{', '}', '[]', '{}', 'null', 'true', '-1', '1e999', '0x7f', '99999999999999999999', '\u00e9', '\u202e', '\ud800', '\uff0e', '\u0430', '\ufffd', '\u212a', '\u017f',
  'https://', 'http://', 'javascript:', 'data:', 'localhost', '127.0.0.1', '[::1]', ':443', ':80', ':99999', 'evil.example', '__proto__', 'constructor', 'client_id', 'redirect_uri', 'redirect_uris',
  'code_challenge', 'S256', 'plain', 'scope', 'resource', 'state', 'Bearer ', 'Basic ', 'DPoP ', 'none', 'private_key_jwt', 'max-age=', 'for=', 'proto=', 'jwks', 'kty',
]; // biome-ignore format: a list

type Change = (input: string, random: Random, corpus: readonly string[]) => string;

const at = (random: Random, length: number) => Math.floor(random.next() * (length + 1));
const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;

function replace(input: string, from: number, to: number, by: string): string {
  return input.slice(0, from) + by + input.slice(to);
}

const CHANGES: readonly Change[] = [
  (input, random) => {
    const place = at(random, input.length);
    return replace(input, place, place + 1, String.fromCharCode(Math.floor(random.next() * 256)));
  },
  (input, random) => {
    const place = at(random, input.length - 1);
    return replace(
      input,
      place,
      place + 1,
      String.fromCharCode(input.charCodeAt(place) ^ (1 << (random.next() * 8))),
    );
  },
  (input, random) => {
    const place = at(random, input.length);
    return replace(input, place, place, pick(random, PIECES));
  },
  (input, random) => {
    const place = at(random, input.length);
    return replace(input, place, place + at(random, 12), pick(random, PIECES));
  },
  (input, random) => {
    const from = at(random, input.length);
    return replace(input, from, from + at(random, 24), '');
  },
  (input, random) => {
    const [from, place] = [at(random, input.length), at(random, input.length)];
    return replace(input, place, place, input.slice(from, from + at(random, 64)));
  },
  (input, random) => {
    const from = at(random, input.length);
    return input + input.slice(from, from + 8).repeat(at(random, 200));
  },
  (input, random, corpus) => {
    const other = pick(random, corpus);
    return input.slice(0, at(random, input.length)) + other.slice(at(random, other.length));
  },
  (input, random) => {
    const letters = [...input];
    const place = at(random, letters.length - 1);
    const letter = letters[place] ?? '';
    letters[place] = letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase();
    return letters.join('');
  },
];

/** A few changes, one after the other. */
export function mutate(corpus: readonly string[], random: Random): string {
  let input = pick(random, corpus);
  const times = 1 + Math.floor(random.next() ** 3 * 8);
  for (let time = 0; time < times; time += 1) input = pick(random, CHANGES)(input, random, corpus);
  return input.slice(0, LONGEST);
}
