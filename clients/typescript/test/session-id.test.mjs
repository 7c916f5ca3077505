// The ids of vectors/session_ids.json, which all clients return.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { decodeSessionId, encodeSessionId } from '@throughline/client';

test('session ids of any text', () => {
  const vectors = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../vectors/session_ids.json'), 'utf8'));
  assert.ok(vectors.length >= 10);
  for (const { text, id, reversible } of vectors) {
    assert.equal(encodeSessionId(text), id);
    assert.equal(decodeSessionId(id), reversible ? text : undefined);
  }
  for (const wrong of ['', 'a b', 'b64:a', 'b64:YQ', 'b64:YQ==', 'sha256:x']) {
    assert.equal(decodeSessionId(wrong), undefined, wrong);
  }
});
