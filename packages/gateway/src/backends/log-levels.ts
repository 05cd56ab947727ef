/** The levels of log messages that sessions want, of a backend that has one level for all of them. */
import { isMembers, type Message, parameter, type RequestMessage } from '@portcullis/http';
import type { View } from './pending.ts';

export interface LogLevels {
  /** Records what a session wants. @returns the request for the backend: the most detailed level that any of them wants */
  set(view: View, message: RequestMessage): RequestMessage;
  /** Whether a session wants a message. */
  wants(view: View, message: Message): boolean;
}

/** @see RFC 5424 §6.2.1 */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** Of sessions that have not said what they want, while others have. */
const DEFAULT = LEVELS.indexOf('info');

export function createLogLevels(views: ReadonlySet<View>): LogLevels {
  const wanted = new Map<View, number>();
  const levelOf = (view: View): number => wanted.get(view) ?? DEFAULT;
  return {
    set(view, message) {
      const level = LEVELS.indexOf(String(parameter(message, 'level')));
      // The backend says what is wrong with it.
      if (level === -1 || !isMembers(message.params)) return message;
      for (const one of wanted.keys()) if (!views.has(one)) wanted.delete(one);
      wanted.set(view, level);
      const most = Math.min(...Array.from(views, levelOf));
      return { ...message, params: { ...message.params, level: LEVELS[most] } };
    },
    wants(view, message) {
      if (wanted.size === 0 || message.method !== 'notifications/message') return true;
      const level = LEVELS.indexOf(String(parameter(message, 'level')));
      return level === -1 || level >= levelOf(view);
    },
  };
}
