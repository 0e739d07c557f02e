// Where documents live in the browser: IndexedDB, written by the page, with a ring of earlier revisions of each.
import type { Json } from './document';

export interface StoredDocument {
  id: string;
  title: string;
  notebook: Json;
  example: string | null;
  updated: number;
}

export interface Revision { key: [string, number]; id: string; time: number; title: string; notebook: Json }

const KEPT = 20;
const GAP = 60_000;
const LEFT = 'left:'; // of settings: documents that a page wrote as it was left

const wait = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser gave no reason'));
  });

export class Store {
  private seen = new Map<string, number>(); // of each document, the version that this page read or wrote last

  private constructor(private db: IDBDatabase) {
    db.onversionchange = () => db.close(); // another tab erases everything: it must not wait for this one
  }

  /** Opens the store; null where the browser has none (a private window, or storage that is switched off). */
  static async open(): Promise<Store | null> {
    try {
      const request = indexedDB.open('tapescope', 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore('documents', { keyPath: 'id' });
        request.result.createObjectStore('revisions', { keyPath: 'key' });
        request.result.createObjectStore('settings');
      };
      return new Store(await wait(request));
    } catch {
      return null;
    }
  }

  private table(name: string, mode: IDBTransactionMode): IDBObjectStore {
    return this.db.transaction(name, mode).objectStore(name);
  }

  async list(): Promise<StoredDocument[]> {
    const found = (await wait(this.table('documents', 'readonly').getAll())) as StoredDocument[];
    return found.sort((a, b) => b.updated - a.updated);
  }

  async get(id: string): Promise<StoredDocument | undefined> {
    const found = (await wait(this.table('documents', 'readonly').get(id))) as StoredDocument | undefined;
    if (found) this.seen.set(id, found.updated);
    return found;
  }

  /** Save a document; what it replaces joins the ring of revisions unless the newest there is under a minute old and the work of this very page: what another tab
   * wrote is always kept. */
  async put(document: StoredDocument): Promise<void> {
    const ours = this.seen.get(document.id), before = await this.get(document.id);
    this.seen.set(document.id, document.updated);
    await wait(this.table('documents', 'readwrite').put(document));
    if (!before) return;
    const ring = await this.revisions(document.id);
    if (ring[0] && before.updated - ring[0].time < GAP && before.updated === ours) return;
    const table = this.table('revisions', 'readwrite');
    await wait(table.put({ key: [document.id, before.updated], id: document.id, time: before.updated, title: before.title, notebook: before.notebook }));
    for (const old of ring.slice(KEPT - 1)) await wait(this.table('revisions', 'readwrite').delete(old.key));
  }

  /** Keep a document of a page that is being left: nothing that waits for an answer happens any more, so it is written beside the documents by one transaction that
   * is committed at once. `takeLeft` brings it where it belongs with the next visit. */
  leave(document: StoredDocument): void {
    try {
      const written = this.db.transaction('settings', 'readwrite'), settings = written.objectStore('settings');
      settings.put({ document, ours: this.seen.get(document.id) }, `${LEFT}${document.id}:${document.updated}`);
      settings.put(document.id, 'last');
      written.commit();
    } catch { /* another tab has erased everything */ }
  }

  /** Bring in what pages wrote as they were left; where another page has written the document since, it becomes a revision. */
  async takeLeft(): Promise<void> {
    const range = IDBKeyRange.bound(LEFT, `${LEFT}\uffff`);
    const found = (await wait(this.table('settings', 'readonly').getAll(range))) as { document: StoredDocument; ours?: number }[];
    for (const { document, ours } of found.sort((a, b) => a.document.updated - b.document.updated)) {
      const { id, updated, title, notebook } = document, now = await this.get(id);
      if (!now || now.updated < updated) {
        if (ours === undefined) this.seen.delete(id); else this.seen.set(id, ours);
        await this.put(document);
      } else if (now.updated > updated) await wait(this.table('revisions', 'readwrite').put({ key: [id, updated], id, time: updated, title, notebook }));
      await wait(this.table('settings', 'readwrite').delete(`${LEFT}${id}:${updated}`));
    }
  }

  /** Earlier revisions of a document, the newest first. */
  async revisions(id: string): Promise<Revision[]> {
    const range = IDBKeyRange.bound([id, 0], [id, Infinity]);
    const found = (await wait(this.table('revisions', 'readonly').getAll(range))) as Revision[];
    return found.reverse();
  }

  async remove(id: string): Promise<void> {
    await wait(this.table('documents', 'readwrite').delete(id));
    await wait(this.table('revisions', 'readwrite').delete(IDBKeyRange.bound([id, 0], [id, Infinity])));
  }

  async setting<T>(name: string): Promise<T | undefined> {
    return (await wait(this.table('settings', 'readonly').get(name))) as T | undefined;
  }

  async setSetting(name: string, value: unknown): Promise<void> {
    await wait(this.table('settings', 'readwrite').put(value, name));
  }

  /** Erase everything this page has kept in the browser. */
  async erase(): Promise<void> {
    this.db.close();
    await wait(indexedDB.deleteDatabase('tapescope') as unknown as IDBRequest<unknown>);
    if ('caches' in self) for (const key of await caches.keys()) await caches.delete(key);
    try {
      const key = localStorage.getItem('kernel-key'); // of a native kernel: without it this page could not come back
      localStorage.clear();
      if (key) localStorage.setItem('kernel-key', key);
    } catch { /* it keeps nothing */ }
  }
}
