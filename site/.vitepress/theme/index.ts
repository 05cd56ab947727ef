/** VitePress's default theme with our colours, and on the first page the commands and the consent page. */
import type { Theme } from 'vitepress';
import { withBase } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { defineComponent, h, ref, type VNode } from 'vue';
import './style.css';

/** What a newcomer types, and what comes back: each line is a command if it begins with a dollar sign. */
const TERMINALS: Readonly<Record<string, string>> = {
  npm: `$ npx @portcullis/cli protect http://127.0.0.1:3000/mcp

First account
  None yet. Create it with this one-time link:
  http://localhost:8484/setup?token=…

$ npx @portcullis/cli call http://localhost:8484/mcp echo message=hi
Echo: hi`,
  Container: `$ npm ci && npm run build
$ docker build --file deploy/Containerfile --tag portcullis .
$ docker run --network host --volume portcullis:/data \\
    --env PORTCULLIS_PUBLIC_URL=http://localhost:8484 \\
    --env PORTCULLIS_TRUSTED_PROXIES=127.0.0.1 \\
    portcullis protect http://127.0.0.1:3000/mcp

First account
  None yet. Create it with this one-time link:
  http://localhost:8484/setup?token=…`,
};

const drawLines = (text: string): readonly VNode[] =>
  text
    .split('\n')
    .map((line) =>
      line.startsWith('$ ')
        ? h('b', [h('span', { 'aria-hidden': 'true' }, '$ '), `${line.slice(2)}\n`])
        : h('span', { class: 'output' }, `${line}\n`),
    );

/** Tabs by the pattern of WAI-ARIA: arrows move, and only the chosen one is in the order of the keyboard. */
const Terminal = defineComponent({
  setup() {
    const names = Object.keys(TERMINALS);
    const chosen = ref(names[0] ?? '');
    const move = (event: KeyboardEvent) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      chosen.value = names.at((names.indexOf(chosen.value) + step) % names.length) ?? chosen.value;
      document.getElementById(`tab-${chosen.value}`)?.focus();
    };
    const tab = (name: string) =>
      h(
        'button',
        {
          id: `tab-${name}`,
          role: 'tab',
          type: 'button',
          'aria-selected': name === chosen.value,
          'aria-controls': 'terminal',
          tabindex: name === chosen.value ? 0 : -1,
          onClick: () => {
            chosen.value = name;
          },
          onKeydown: move,
        },
        name,
      );
    return () =>
      h('div', { class: 'start' }, [
        h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'How to start' }, names.map(tab)),
        h(
          'pre',
          {
            id: 'terminal',
            class: 'terminal',
            role: 'tabpanel',
            tabindex: 0,
            'aria-labelledby': `tab-${chosen.value}`,
          },
          drawLines(TERMINALS[chosen.value] ?? ''),
        ),
      ]);
  },
});

/** The picture in both modes; the style sheet shows one of them. */
const consent = () =>
  h(
    'div',
    { class: 'consent' },
    ['light', 'dark'].map((mode) =>
      h('img', {
        class: mode,
        src: withBase(`/images/docs/images/consent-${mode}.png`),
        width: 420,
        height: 394,
        alt: 'The consent page: what the app Week Planner wants to do, with a switch for each permission, Cancel and Allow access',
      }),
    ),
  );

const theme: Theme = {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, { 'home-hero-image': consent, 'home-hero-after': () => h(Terminal) }),
};

export default theme;
