/** Calls that go along with the next commit, whoever causes it, and do not wait for one longer than they may. */

export interface Companions {
  /** Makes the call at the next `depart`, or after so many milliseconds. */
  join(call: () => void, within: number): void;
  depart(): void;
}

interface Companion {
  readonly call: () => void;
  readonly timer: NodeJS.Timeout;
}

export function createCompanions(): Companions {
  let waiting: readonly Companion[] = [];

  function goAlone(call: () => void): void {
    waiting = waiting.filter((one) => one.call !== call);
    call();
  }

  return {
    join(call, within) {
      waiting = [...waiting, { call, timer: setTimeout(goAlone, within, call).unref() }];
    },
    depart() {
      const departing = waiting;
      waiting = [];
      for (const { call, timer } of departing) {
        clearTimeout(timer);
        call();
      }
    },
  };
}
