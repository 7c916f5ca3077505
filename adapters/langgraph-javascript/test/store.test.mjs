// The store. npm has no tests of LangGraph's stores, and names its InMemoryStore as the reference.
import assert from 'node:assert/strict';
import test from 'node:test';
import { HumanMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { InMemoryStore } from '@langchain/langgraph-checkpoint';
import { ThroughlineStore } from '@throughline/langgraph';
import { newUser, server, settle } from './stack.mjs';

const newStore = (options = {}) => {
  const client = server.as(newUser());
  return { client, store: new ThroughlineStore({ client, ...options }) };
};
const keys = (items) => items.map(({ key }) => key);
const contents = (items) => items.map(({ value }) => value.content);

/** Returns numbers that look random, and are the same for a seed. */
function numbers(seed) {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/** Returns an operation of a batch. */
function operation(next) {
  const labels = ['a', 'b', 'c'];
  const namespace = Array.from({ length: 1 + next(3) }, () => labels[next(3)]);
  const item = { namespace, key: `key ${next(3)}` };
  const filters = [undefined, { n: 1 }, { n: { $gt: 0, $lte: 2 } }, { n: { $ne: 1 }, kind: 'x' }, { kind: { $eq: 'y' } }];
  switch (next(6)) {
    case 0: case 1: case 2: return { ...item, value: { n: next(4), kind: ['x', 'y'][next(2)] } };
    case 3: return { ...item, value: null };
    case 4: return item;
    default: return { namespacePrefix: namespace.slice(0, next(3)), filter: filters[next(5)], limit: 100, offset: 0 };
  }
}

/** Returns a result without times, and a list in one order. */
function plain(result) {
  if (result === null || result === undefined) return null;
  if (Array.isArray(result)) return result.map(plain).sort((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  return { namespace: result.namespace, key: result.key, value: result.value };
}

for (const seed of [1, 2, 3, 4]) {
  test(`it answers as LangGraph's own store: ${seed}`, async () => {
    const { store } = newStore();
    const reference = new InMemoryStore();
    const next = numbers(seed);
    for (let n = 0; n < 12; n++) {
      const batch = Array.from({ length: 1 + next(6) }, () => operation(next));
      const [got, wanted] = [await store.batch(batch), await reference.batch(batch)];
      assert.deepEqual(got.map(plain), wanted.map(plain), JSON.stringify(batch));
    }
    const all = { limit: 100, offset: 0 };
    const items = await reference.search([], all);
    const namespaces = [...new Set(items.map(({ namespace }) => namespace.join('/')))].sort();
    assert.deepEqual((await store.listNamespaces(all)).map((labels) => labels.join('/')).sort(), namespaces);
  });
}

test('reads of a batch come before its writes, and the last put of an item counts', async () => {
  const { store } = newStore();
  const item = { namespace: ['v'], key: 'k' };
  for (let n = 0; n < 20; n += 2) {
    const [before] = await store.batch([item, { ...item, value: { n } }, { ...item, value: { n: n + 1 } }]);
    assert.equal(before?.value.n, n === 0 ? undefined : n - 1);
    assert.deepEqual((await store.get(['v'], 'k')).value, { n: n + 1 });
  }
});

test('lists of namespaces', async () => {
  const { store } = newStore();
  for (const path of ['a/b/c', 'a/b/d/e', 'a/b/d/i', 'a/b/f', 'a/c/f', 'b/a/f', 'users/1', 'users/2/settings']) {
    await store.put(path.split('/'), 'key', { n: 1 });
  }
  const list = async (options) => (await store.listNamespaces(options)).map((labels) => labels.join('/'));
  assert.deepEqual(await list({ prefix: ['a', 'b'] }), ['a/b/c', 'a/b/d/e', 'a/b/d/i', 'a/b/f']);
  assert.deepEqual(await list({ prefix: ['a', 'b'], limit: 2, offset: 1 }), ['a/b/d/e', 'a/b/d/i']);
  assert.deepEqual(await list({ prefix: ['a', 'b'], maxDepth: 3 }), ['a/b/c', 'a/b/d', 'a/b/f']);
  assert.deepEqual(await list({ suffix: ['f'] }), ['a/b/f', 'a/c/f', 'b/a/f']);
  assert.deepEqual(await list({ prefix: ['a'], suffix: ['*', 'f'] }), ['a/b/f', 'a/c/f']);
  assert.deepEqual(await list({ prefix: ['users', '*', 'settings'] }), ['users/2/settings']);
  assert.equal((await list({})).length, 8);
  const both = [{ matchType: 'prefix', path: ['a'] }, { matchType: 'prefix', path: ['b'] }];
  await assert.rejects(store.batch([{ matchConditions: both, limit: 1, offset: 0 }]), /one prefix/);
});

for (const name of ['*', '..', '.', 'a/b', '100%', '%2F', 'é 🙂', '\n', '\u0085', 'a.b?c#d', ' ']) {
  test(`any key and label: ${JSON.stringify(name)}`, async () => {
    const { store } = newStore();
    const label = name.includes('.') ? 'label' : name;
    await store.put(['notes', label], name, { n: 1 });
    await store.put(['notes', 'other'], name, { n: 2 });
    const { namespace, key, value } = await store.get(['notes', label], name);
    assert.deepEqual([namespace, key, value], [['notes', label], name, { n: 1 }]);
    assert.deepEqual(keys(await store.search(['notes', label])), [name]);
    assert.ok((await store.listNamespaces()).some((labels) => labels[1] === label));
    await store.delete(['notes', label], name);
    assert.equal(await store.get(['notes', label], name), null);
    assert.ok(await store.get(['notes', 'other'], name));
    await store.delete(['notes', label], name);
  });
}

test('values and times come back', async () => {
  const { store } = newStore();
  for (const value of [{}, { deep: { list: [1, 2.5, null, true, { x: [] }] } }, { 'é': '🙂\u0000' }, { b: 1, a: 2 }]) {
    await store.put(['v'], 'k', value);
    assert.equal(JSON.stringify((await store.get(['v'], 'k')).value), JSON.stringify(value));
  }
  const first = await store.get(['v'], 'k');
  await store.put(['v'], 'k', { n: 2 });
  const second = await store.get(['v'], 'k');
  assert.deepEqual(second.createdAt, first.createdAt);
  assert.ok(second.createdAt instanceof Date && second.updatedAt > first.updatedAt);
  assert.equal(await store.get([], 'k'), null);
});

test('what is not indexed is found last, and a page has no item twice', async () => {
  const { store } = newStore();
  await store.put(['v'], 'cat', { text: 'a cat on the mat', kind: 'pet' });
  await store.put(['v'], 'car', { text: 'a fast red car', kind: 'thing' }, false);
  const [cat, car, ...more] = await store.search(['v'], { query: 'cat' });
  assert.deepEqual([cat.key, car.key, more.length], ['cat', 'car', 0]);
  assert.ok(cat.score > 0 && car.score === undefined);
  assert.deepEqual(keys(await store.search(['v'], { query: 'cat', offset: 1 })), ['car']);
  assert.deepEqual(keys(await store.search(['v'], { query: 'cat', filter: { kind: { $ne: 'pet' } } })), ['car']);
});

test('paths of the index', async () => {
  const { client, store } = newStore({ fields: ['text'] });
  await store.put(['v'], 'by default', { text: 'a', n: 1 });
  await store.put(['v'], 'whole', { text: 'b' }, ['$']);
  await store.put(['v'], 'own', { meta: { title: 'c' } }, ['meta.title']);
  await store.put(['v'], 'none', { text: 'd' }, false);
  const documents = await client.listDocuments({ namespace: 'v' }).all();
  assert.deepEqual(Object.fromEntries(documents.map(({ key, index }) => [key, index])), {
    'by default': ['text'], whole: undefined, own: ['meta.title'], none: [] });
});

test('each user has their own items', async () => {
  const [one, other] = [newUser(), newUser()];
  const store = new ThroughlineStore({ client: server, userAt: 0 });
  await store.batch([one, other].map((user) => ({ namespace: [user, 'notes'], key: 'k', value: { of: user } })));
  assert.deepEqual((await store.search([one])).map(({ value }) => value), [{ of: one }]);
  assert.deepEqual(await store.listNamespaces({ prefix: [one] }), [[one, 'notes']]);
  assert.deepEqual((await store.get([other, 'notes'], 'k')).value, { of: other });
  assert.equal((await server.as(one).listDocuments().all()).length, 1);
  for (const prefix of [[], ['*']]) await assert.rejects(store.listNamespaces({ prefix }), /name the user/);
  await assert.rejects(store.search([]), /name the user/);
});

test('facts are found as items', async () => {
  const { client, store } = newStore({ facts: ['facts'] });
  const latex = await client.createMemory({ content: 'Is allergic to latex.', type: 'PROFILE' });
  await client.createMemory({ content: 'Sister is called Mia.', type: 'PEOPLE' });
  await client.createMemory({ content: 'Lives in Bern.', type: 'PROFILE', validUntil: '2020-01-01T00:00:00.000Z' });
  await settle();
  const found = await store.search(['facts'], { query: 'latex allergy' });
  assert.deepEqual([found[0].namespace, found[0].key], [['facts', 'PROFILE'], latex.id]);
  assert.ok(found[0].score > 0);
  assert.deepEqual(contents(found).sort(), ['Is allergic to latex.', 'Sister is called Mia.']);
  assert.deepEqual(contents(await store.search(['facts', 'PEOPLE'])), ['Sister is called Mia.']);
  assert.deepEqual(contents(await store.search(['facts', 'PEOPLE'], { query: 'allergy' })), ['Sister is called Mia.']);
  assert.deepEqual(contents(await store.search(['facts'], { filter: { type: 'PROFILE' } })), ['Is allergic to latex.']);
  assert.equal((await store.search(['facts'], { limit: 1, offset: 1 })).length, 1);
  assert.deepEqual(await store.search(['facts', 'PROFILE', 'more']), []);
  await assert.rejects(store.search(['facts'], { filter: { type: { $ne: 'PEOPLE' } } }), /equality/);
});

test('facts are changed and deleted as items', async () => {
  const { client, store } = newStore({ facts: ['facts'] });
  const place = ['facts', 'PROFILE'];
  const { id } = await client.createMemory({ content: 'Is allergic to latex.', type: 'PROFILE' });
  const { value } = await store.get(place, id);
  assert.equal(await store.get(['facts', 'PEOPLE'], id), null);
  await store.put(place, id, { ...value, content: 'Is allergic to latex and nuts.', pinned: true });
  const changed = await client.getMemory(id);
  assert.deepEqual([changed.content, changed.pinned], ['Is allergic to latex and nuts.', true]);
  await assert.rejects(store.put(place, 'mine', { content: 'x' }), /tool remember/);
  await assert.rejects(store.put(['facts', 'PEOPLE'], id, { content: 'x' }), /tool remember/);
  await assert.rejects(store.put(place, id, { type: 'PEOPLE' }), /not type/);
  await store.delete(['facts', 'PEOPLE'], id);
  await store.delete(place, 'mine');
  assert.equal((await client.getMemory(id)).content, changed.content);
  await store.delete(place, id);
  assert.equal(await store.get(place, id), null);
});

test('facts of a user that the namespace names', async () => {
  const [one, other] = [newUser(), newUser()];
  const store = new ThroughlineStore({ client: server, userAt: 0, facts: ['facts'] });
  await server.as(one).createMemory({ content: 'Has a dog.', type: 'PROFILE' });
  assert.deepEqual((await store.search([one, 'facts'])).map(({ namespace }) => namespace), [[one, 'facts', 'PROFILE']]);
  assert.deepEqual(await store.search([other, 'facts']), []);
});

test('a failure leaves the other puts', async () => {
  const { store } = newStore();
  const puts = ['a', '', 'c'].map((key) => ({ namespace: ['v'], key, value: { n: 1 } }));
  await assert.rejects(store.batch(puts), { name: 'ProblemError' });
  assert.deepEqual(keys(await store.search(['v'])), ['a', 'c']);
});

test('nodes of a graph have the store', async () => {
  const { store } = newStore();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('note', async ({ messages }, config) => {
      await config.store.put(['notes'], 'last', { text: messages.at(-1).text });
      return {};
    })
    .addEdge(START, 'note').addEdge('note', END).compile({ store });
  await graph.invoke({ messages: [new HumanMessage('Lighter squats.')] });
  assert.deepEqual((await store.search(['notes'])).map(({ value }) => value), [{ text: 'Lighter squats.' }]);
});
