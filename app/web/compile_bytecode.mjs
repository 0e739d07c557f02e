// Compiles the Python files below a folder with Pyodide's own Python, run by Node:
//   node compile_bytecode.mjs PYODIDE_FOLDER TREE PATTERN
// What matches PATTERN stays source only. The result stands in __pycache__, valid whatever the time of the file.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, tree, pattern] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(path.join(path.resolve(folder), 'pyodide.mjs')).href);
const pyodide = await loadPyodide({ indexURL: path.resolve(folder) + path.sep });
pyodide.FS.mkdirTree('/tree');
pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: path.resolve(tree) }, '/tree');
pyodide.globals.set('pattern', pattern);
pyodide.runPython(`
import compileall, py_compile, re
compileall.compile_dir(
    "/tree", quiet=2, stripdir="/tree", prependdir="/lib/python3.14/site-packages", rx=re.compile(pattern),
    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
)
`);
