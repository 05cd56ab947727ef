/** Texts that properties are tried on. */
import fc from 'fast-check';

/** Any code units at all: control characters, halves of characters, and often what means something. */
export const anyText: fc.Arbitrary<string> = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    fc.integer({ min: 0, max: 0x7f }).map((unit) => String.fromCharCode(unit)),
    fc.constantFrom(...' ,="\\%&+?#'),
  ),
  maxLength: 40,
});

/** Whole characters of several scripts, and what URLs and forms encode. Never empty. */
export const wholeText: fc.Arbitrary<string> = fc.string({
  unit: fc.constantFrom(...'aZ09-._~ !"#$%&\'()*+,/:;<=>?@[\\]^`{|}\t\r\n\0éßЖ笔مe\u0301😀👩‍💻'),
  minLength: 1,
  maxLength: 20,
});
