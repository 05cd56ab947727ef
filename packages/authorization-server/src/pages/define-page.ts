/** Pages as functions: what they show goes in, a document comes out. An operator may put another in the place of any. */
import type { Frame } from './layout.ts';
import type { Markup } from './markup.ts';

export type Page<Content> = (frame: Frame, content: Content) => Markup | Promise<string>;

/** A page of ours, which gives way to the operator's. */
export function definePage<Content>(
  name: string,
  render: (frame: Frame, content: Content) => Markup,
): Page<Content> {
  return (frame, content) => {
    const replaced = frame.replaced.get(name);
    return replaced === undefined ? render(frame, content) : Promise.resolve(replaced(content, frame));
  };
}
