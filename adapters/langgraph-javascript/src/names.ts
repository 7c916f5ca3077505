// Namespaces and keys, as the memory takes them. LangGraph allows more characters than the memory does. Those are
// percent-encoded, and read back.

const foreign = /[%/\u0000-\u001f\u007f-\u009f]|^\.{1,2}$/gu;

/** Returns a label or a key for the memory. */
export function encode(name: string): string {
  return name.replace(foreign, (found) => encodeURIComponent(found).replaceAll('.', '%2E'));
}

/** Returns the label or the key of an encoded one. */
export function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // It was put by another way than this store.
  }
}

/** Returns a namespace for the memory. */
export function pathOf(namespace: string[]): string {
  return namespace.map(encode).join('/');
}

/** Returns the namespace of the memory's. */
export function namespaceOf(path: string): string[] {
  return path.split('/').map(decode);
}
