// Menus, dialogs, notices: small pieces that ask or tell. All of them work by keyboard and give the focus back.
import { append, h, iconButton } from './dom';

export interface MenuItem { label: string; keys?: string; act: () => void; danger?: boolean; checked?: boolean; disabled?: boolean }

let open: HTMLElement | null = null;

/** A menu below (or above) an element; `null` is a line between items. `returnTo` gets the focus when one is chosen. */
export function menu(anchor: HTMLElement, items: (MenuItem | null)[], label: string, returnTo: HTMLElement | null = null): void {
  open?.remove();
  const before = document.activeElement as HTMLElement | null, back = returnTo ?? before;
  const close = () => { element.remove(); open = null; window.removeEventListener('pointerdown', outside, true); anchor.setAttribute('aria-expanded', 'false'); };
  const outside = (event: Event) => { if (!element.contains(event.target as Node)) close(); };
  const element = h('div', { class: 'menu', role: 'menu', 'aria-label': label });
  for (const item of items) {
    if (!item) { element.append(h('div', { class: 'menu-line', role: 'separator' })); continue; }
    element.append(h('button', {
      type: 'button', role: item.checked === undefined ? 'menuitem' : 'menuitemcheckbox', 'aria-checked': item.checked === undefined ? null : String(item.checked), class: item.danger ? 'danger' : null, disabled: item.disabled,
      onclick: () => { close(); back?.focus(); item.act(); },
    }, h('span', null, item.label), item.checked ? h('span', { class: 'keys', 'aria-hidden': 'true' }, '✓') : item.keys ? h('kbd', { class: 'keys' }, item.keys) : null));
  }
  element.addEventListener('keydown', (event) => {
    event.stopPropagation();
    const all = [...element.querySelectorAll<HTMLButtonElement>('button:not(:disabled)')], at = all.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === 'Escape' || event.key === 'Tab') { event.preventDefault(); close(); before?.focus(); }
    else if (event.key === 'ArrowDown') { event.preventDefault(); all[(at + 1) % all.length]?.focus(); }
    else if (event.key === 'ArrowUp') { event.preventDefault(); all[(at - 1 + all.length) % all.length]?.focus(); }
    else if (event.key === 'Home') all[0]?.focus();
    else if (event.key === 'End') all.at(-1)?.focus();
  });
  document.body.append(element);
  open = element;
  anchor.setAttribute('aria-expanded', 'true');
  const box = anchor.getBoundingClientRect(), { offsetWidth: w, offsetHeight: hgt } = element;
  element.style.left = `${Math.max(8, Math.min(box.left, innerWidth - w - 8))}px`;
  element.style.top = `${box.bottom + hgt + 8 > innerHeight && box.top > hgt ? box.top - hgt - 4 : Math.min(box.bottom + 4, innerHeight - hgt - 8)}px`;
  element.querySelector<HTMLButtonElement>('button:not(:disabled)')?.focus();
  setTimeout(() => window.addEventListener('pointerdown', outside, true));
}

/** A dialog over the page. `make` fills it and gets the function that closes it. */
export function dialog(title: string, make: (close: () => void) => (Node | string | null)[], wide = false): HTMLDialogElement {
  const back = document.activeElement as HTMLElement | null;
  const element = h('dialog', { class: wide ? 'dialog wide' : 'dialog', 'aria-label': title });
  const finish = () => { if (element.isConnected) { element.remove(); back?.focus(); } };
  // At once, not with the event: what is done next may move the focus on.
  const close = () => { element.close(); finish(); };
  element.addEventListener('close', finish);
  element.addEventListener('cancel', (event) => { event.preventDefault(); close(); });
  element.addEventListener('click', (event) => { if (event.target === element) close(); });
  element.addEventListener('keydown', (event) => event.stopPropagation());
  append(element, [h('header', null, h('h2', null, title), iconButton('close', 'Close', close)), h('div', { class: 'dialog-body' }, ...make(close))]);
  document.body.append(element);
  element.showModal();
  return element;
}

/** Ask before something that cannot be undone. */
export function confirm(title: string, words: string, yes: string): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = false;
    const element = dialog(title, (close) => [
      h('p', null, words),
      h('div', { class: 'buttons' }, h('button', { type: 'button', onclick: close }, 'Cancel'), h('button', { type: 'button', class: 'primary', onclick: () => { answer = true; close(); } }, yes)),
    ]);
    element.addEventListener('close', () => resolve(answer));
  });
}

const notices = h('div', { class: 'notices', role: 'status', 'aria-live': 'polite' });

/** A sentence at the foot of the page, for a while. */
export function say(words: string, action?: { label: string; act: () => void }): void {
  if (!notices.isConnected) document.body.append(notices);
  const note = h('div', { class: 'notice' }, h('span', null, words));
  if (action) note.append(h('button', { type: 'button', onclick: () => { note.remove(); action.act(); } }, action.label));
  note.append(iconButton('close', 'Dismiss', () => note.remove()));
  notices.append(note);
  while (notices.children.length > 3) notices.firstElementChild!.remove();
  setTimeout(() => note.remove(), action ? 12_000 : 6_000);
}

/** A sentence that stays until it is answered, above the cells. */
export function banner(words: string, actions: { label: string; act: () => void; primary?: boolean }[], onClose?: () => void): HTMLElement {
  const element = h('div', { class: 'banner', role: 'note' }, h('p', null, words));
  for (const { label, act, primary } of actions) element.append(h('button', { type: 'button', class: primary ? 'primary' : null, onclick: act }, label));
  if (onClose) element.append(iconButton('close', 'Dismiss', () => { element.remove(); onClose(); }));
  return element;
}

export interface PaletteItem { label: string; detail: string; keys: string; act: () => void }

/** The list of commands, narrowed by typing. */
export function palette(items: PaletteItem[]): void {
  const element = dialog('Commands', (close) => {
    const input = h('input', { type: 'text', placeholder: 'Type to find a command', 'aria-label': 'Find a command', role: 'combobox', autofocus: true, 'aria-expanded': 'true', 'aria-controls': 'palette-list', autocomplete: 'off' });
    const list = h('div', { class: 'palette-list', id: 'palette-list', role: 'listbox', 'aria-label': 'Commands' });
    let shown: PaletteItem[] = [], at = 0;
    const draw = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = items.filter((i) => words.every((w) => `${i.label} ${i.detail}`.toLowerCase().includes(w)));
      at = Math.min(at, Math.max(0, shown.length - 1));
      list.replaceChildren(...shown.map((item, i) => h('div', { role: 'option', id: `palette-${i}`, class: 'palette-row', 'aria-selected': String(i === at), onclick: () => { close(); item.act(); } },
        h('span', { class: 'palette-label' }, item.label), h('span', { class: 'quiet' }, item.detail), item.keys ? h('kbd', { class: 'keys' }, item.keys) : null)));
      input.setAttribute('aria-activedescendant', shown.length ? `palette-${at}` : '');
      list.children[at]?.scrollIntoView({ block: 'nearest' });
    };
    input.addEventListener('input', () => { at = 0; draw(); });
    input.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowDown') at = Math.min(shown.length - 1, at + 1);
      else if (event.key === 'ArrowUp') at = Math.max(0, at - 1);
      else if (event.key === 'Enter') { event.preventDefault(); const item = shown[at]; close(); item?.act(); return; }
      else return;
      event.preventDefault();
      draw();
    });
    draw();
    return [input, list];
  });
  element.classList.add('palette');
}
